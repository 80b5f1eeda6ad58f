package framers

import (
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Framing is a way to tell messages apart on a byte stream. It holds no state of any stream, so
// one value may be shared and used concurrently.
//
// Only the framings of this package read an Option. A framing of another package has fields for
// what it lets its users choose.
type Framing interface {
	// String returns the framing's spec in canonical form, such as "ndjson" or "chunked:61440".
	// Parse takes back those of this package.
	String() string
	// NewWriter returns a Writer of this framing over w.
	NewWriter(w io.Writer, opts ...Option) Writer
	// NewReader returns a Reader of this framing over r. It may read ahead of the message it
	// delivers.
	NewReader(r io.Reader, opts ...Option) Reader
}

// A Writer sends messages. It belongs to one goroutine.
type Writer interface {
	// WriteMessage sends msg, which it neither changes nor retains. A message that the framing
	// cannot carry is refused with a [PayloadError] before a byte is written. A write that fails
	// part-way leaves half a frame on the stream, so every later call returns that failure.
	WriteMessage(msg []byte) error
}

// A Reader receives messages. It belongs to one goroutine.
type Reader interface {
	// ReadMessage returns the next message, valid until the next call. It returns as soon as the
	// last byte of the message has arrived. It returns io.EOF only between messages, and
	// io.ErrUnexpectedEOF inside one.
	//
	// An error of the underlying reader other than io.EOF, such as a deadline, loses nothing: the
	// next call goes on.
	ReadMessage() ([]byte, error)
}

// A Chunker is a framing that splits messages.
type Chunker interface {
	Framing
	// Frames yields each frame of msg as a gather list, valid until the next one.
	Frames(msg []byte) iter.Seq[[][]byte]
}

// A Vectored takes a gather list in one call. Writev writes all of bufs in order, neither retains
// nor changes them, and returns the bytes written; n < total implies an error.
type Vectored interface {
	Writev(bufs [][]byte) (int64, error)
}

// A framing is a Framing of this package: a form, and the size in its spec.
type framing struct {
	*form
	size int // of a raw message, or the bound of a frame; 0 if the spec has none
}

// A form is a way to put messages on the wire and to take them off.
type form struct {
	name string
	arg  string // what the size in the spec is called, "" if there is none

	bare     bool // adaptive: sends messages that fit as lines without a header
	pack     bool // messages are compressed before they are split
	unlisted bool // not among All

	// make returns the framing of a size in the spec, 0 for the default; it is nil if the spec has
	// no size.
	make func(f *form, size int) (Framing, error)
	// carries returns the PayloadError with which a Writer refuses msg, or nil.
	carries func(f framing, msg []byte, s *settings) error
	// header appends what stands before a message of size bytes; nil if nothing does.
	header func(b []byte, size int) []byte
	// tail is what stands behind a message.
	tail []byte
	// writer returns the Writer; it is nil if each message is one frame.
	writer func(f framing, w io.Writer, s settings) Writer
	reader func(f framing, r io.Reader, s settings) Reader
}

func (f framing) String() string {
	if f.size == 0 {
		return f.name
	}
	return fmt.Sprintf("%s:%d", f.name, f.size)
}

func (f framing) NewWriter(w io.Writer, opts ...Option) Writer {
	s := newSettings(opts)
	if f.writer != nil {
		return f.writer(f, w, s)
	}
	return &writer{framing: f, set: s, out: newFrameWriter(w, s.writeSize)}
}

func (f framing) NewReader(r io.Reader, opts ...Option) Reader {
	return f.reader(f, r, newSettings(opts))
}

// A writer sends each message as one frame. Few calls lie between WriteMessage and the stream:
// after a system call the processor mispredicts the return from each of them.
type writer struct {
	framing
	set  settings
	out  frameWriter
	head []byte
}

func (w *writer) WriteMessage(msg []byte) error {
	if err := w.set.checkLimit(msg); err != nil {
		return err
	}
	if err := w.carries(w.framing, msg, &w.set); err != nil {
		return err
	}
	if w.header != nil {
		w.head = w.header(w.head[:0], len(msg))
	}
	frame := w.out.compose(w.head, msg, w.tail)
	if frame == nil {
		return w.out.send(w.head, msg, w.tail)
	}
	n, err := w.out.w.Write(frame)
	if err == nil && n == len(frame) {
		return nil
	}
	return w.out.writeError(n, len(frame), err)
}

// Carries reports whether a Writer of f with opts takes msg: nil, or the [*PayloadError] or
// [*TooLargeError] it would return. What a Writer takes, a Reader with the same options gives back
// unchanged. For a framing of another package Carries returns nil, since only its Writer knows.
func Carries(f Framing, msg []byte, opts ...Option) error {
	s := newSettings(opts)
	return check(f, msg, &s)
}

// check returns the error with which a Writer of these settings refuses msg, or nil. It also
// returns nil for a framing of another package.
func check(f Framing, msg []byte, s *settings) error {
	if c, ok := f.(chunked); ok {
		f = c.framing
	}
	own, ok := f.(framing)
	if !ok {
		return nil
	}
	if err := s.checkLimit(msg); err != nil {
		return err
	}
	return own.carries(own, msg, s)
}

// checkLimit returns an error for a message beyond a Writer's limit.
func (s *settings) checkLimit(msg []byte) error {
	if s.writerLimit && len(msg) > s.maxMessage {
		return s.tooLarge(msg)
	}
	return nil
}

func (s *settings) tooLarge(msg []byte) error {
	return &TooLargeError{
		Size:     int64(len(msg)),
		Declared: true,
		Limit:    int64(s.maxMessage),
		Offset:   -1,
		Head:     head(msg, len(msg)),
	}
}

// forms are those of the package, in the order of All.
var forms = []*form{
	raw, ndjson, bytewise, rescan, contentLength, plainChunks, adaptiveChunks, lengthPrefix,
	zstdChunks,
}

// withSize returns the framing with a size; 0 is the default.
func (f *form) withSize(size int) (Framing, error) {
	if f.make == nil {
		return framing{f, 0}, nil
	}
	return f.make(f, size)
}

// Parse returns the framing of a spec: a name of [All], or chunked+zstd, and, if the framing takes
// a size, a colon and the size, such as "chunked:60KiB", "chunked:4k" or "raw:61440". Without a
// size, a chunk is [DefaultChunk] and raw does not know where messages end. The suffixes k, M and
// G, also as kb or KiB, count in powers of 1024, in either case.
func Parse(text string) (Framing, error) {
	name, arg, sized := strings.Cut(text, ":")
	i := slices.IndexFunc(forms, func(f *form) bool { return f.name == name })
	if i < 0 {
		var known []string
		for _, f := range forms {
			known = append(known, strings.TrimSuffix(f.name+"[:"+f.arg+"]", "[:]"))
		}
		hint := ""
		if name == "lsp" || name == "mcp" {
			hint = "; LSP speaks content-length, MCP ndjson"
		}
		return nil, fmt.Errorf("unknown framing %q: known are %s%s", text,
			strings.Join(known, ", "), hint)
	}
	size, err := 0, error(nil) // the default
	switch {
	case sized && forms[i].arg == "":
		err = fmt.Errorf("%s takes no argument", name)
	case sized:
		size, err = parseSize(arg)
	}
	var f Framing
	if err == nil {
		f, err = forms[i].withSize(size)
	}
	if err != nil {
		return nil, fmt.Errorf("framing %q: %w", text, err)
	}
	return f, nil
}

// All returns the framings of the package once each, with their default sizes. [Compressed] is not
// among them: it is measured only if it is asked for.
func All() []Framing {
	usual := forms[:len(forms)-1]
	all := make([]Framing, len(usual))
	for i, f := range usual {
		all[i], _ = f.withSize(0) // the default size is valid
	}
	return all
}

// parseSize reads a positive number of bytes with an optional suffix.
func parseSize(s string) (int, error) {
	digits := strings.TrimRight(s, "bBgGiIkKmM")
	n, err := strconv.ParseUint(digits, 10, 63)
	shift, ok := sizeShift(s[len(digits):])
	if err != nil || !ok || n == 0 {
		return 0, fmt.Errorf("size %q is not a positive number of bytes such as 61440 or 60KiB", s)
	}
	if n > uint64(math.MaxInt)>>shift {
		return 0, fmt.Errorf("size %q is beyond what this machine can address", s)
	}
	return int(n) << shift, nil
}

// sizeShift returns the power of two that a suffix stands for.
func sizeShift(suffix string) (shift int, ok bool) {
	switch strings.ToLower(suffix) {
	case "", "b":
		return 0, true
	case "k", "kb", "kib":
		return 10, true
	case "m", "mb", "mib":
		return 20, true
	case "g", "gb", "gib":
		return 30, true
	}
	return 0, false
}
