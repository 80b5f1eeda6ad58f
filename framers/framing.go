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

// A Framing is a way to tell messages apart on a byte stream. Goroutines may share it. Only the
// framings of this package heed an [Option]. Package framerstest tests one of your own.
type Framing interface {
	// String returns the framing's spec in canonical form, such as "ndjson" or "chunked:61440".
	// [Parse] accepts the spec of every framing of this package.
	String() string
	// NewWriter returns a Writer of this framing over w.
	NewWriter(w io.Writer, opts ...Option) Writer
	// NewReader returns a Reader of this framing over r. The Reader may read ahead.
	NewReader(r io.Reader, opts ...Option) Reader
}

// A Writer sends messages. It belongs to one goroutine.
type Writer interface {
	// WriteMessage sends msg, and neither changes nor keeps it. A [PayloadError] means that nothing
	// was written. If a write fails inside a frame, every later call fails, too.
	WriteMessage(msg []byte) error
}

// A Reader receives messages. It belongs to one goroutine.
type Reader interface {
	// ReadMessage returns the next message as soon as its last byte has come. The message is valid
	// until the next call. The stream ends with io.EOF, or with io.ErrUnexpectedEOF inside a
	// message. After any other error of the underlying reader, such as a passed deadline, the next
	// call goes on and no bytes are lost.
	ReadMessage() ([]byte, error)
}

// A LengthReader is a Reader of a framing that states the length of each message before it. Pending
// says what has come of the message that ReadMessage waits for, or failed to complete.
type LengthReader interface {
	Reader
	Pending() Pending
}

// A HeaderReader is a LengthReader of a framing whose lengths stand in lines of a header.
// BareHeaders returns how many headers had a line that ended with LF alone.
type HeaderReader interface {
	LengthReader
	BareHeaders() int64
}

// A Pending is what has come of a message. The zero Pending means that nothing has.
type Pending struct {
	Length int64 // the stated length of the message in bytes; -1: its header is not complete
	Came   int   // bytes of the message that have come, or of its header

	// Text is the beginning of what has come in place of a header. It is "" if that may still
	// become a header, or is an object without one.
	Text string
}

// A Chunker is a framing that splits a long message into several frames.
type Chunker interface {
	Framing
	// Frames yields the frames of msg. Each frame is a list of pieces in order, and is valid until
	// the next frame is yielded.
	Frames(msg []byte) iter.Seq[[][]byte]
}

// A Vectored is a writer that takes several slices in one call (a gather list), as writev(2) does.
// Writev writes all of bufs in order, or returns an error. Writev neither keeps nor changes bufs.
type Vectored interface {
	Writev(bufs [][]byte) (int64, error)
}

// A framing implements Framing: a form, such as chunked, with the size that a spec may state.
type framing struct {
	*form
	size int // bytes of a raw message, or the most bytes of a frame; 0: none is stated
}

// A form is how all framings of one name, such as "chunked", encode and decode messages.
type form struct {
	name string
	arg  string // the name of the size, as in "chunked:size"; "" if the spec has no size

	bare     bool // a message that fits is sent as a line without a header, as in adaptive
	pack     bool // messages are compressed before they are split
	unlisted bool // All leaves the form out

	// newSized, if set, makes the framing of a spec that states this size; 0: none is stated.
	newSized func(f *form, size int) (Framing, error)
	// carries, if set, returns a PayloadError if a Writer does not accept msg.
	carries func(f framing, msg []byte, s *settings) error
	// header, if set, appends to b what stands before a message of size bytes.
	header func(b []byte, size int) []byte
	// tail is what stands behind a message.
	tail []byte
	// writer makes the Writer. If the field is nil, the type named writer sends each message as one
	// frame.
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

// A writer sends each message as one frame.
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
	if w.carries != nil {
		if err := w.carries(w.framing, msg, &w.set); err != nil {
			return err
		}
	}
	if w.header != nil {
		w.head = w.header(w.head[:0], len(msg))
	}
	// Do not call writeFrame: with one function less above the system call, messages of 256 and
	// 4000 B take 3 to 5 % less time.
	frame := w.out.compose(w.head, msg, w.tail)
	if frame == nil { // the pieces are not to be copied together
		return w.out.send(w.head, msg, w.tail)
	}
	n, err := w.out.w.Write(frame)
	return w.out.wrote(n, len(frame), err)
}

// Carries returns nil if a Writer of f with opts accepts msg, else the Writer's [*PayloadError] or
// [*TooLargeError]. For a framing of another package, it always returns nil.
func Carries(f Framing, msg []byte, opts ...Option) error {
	s := newSettings(opts)
	return check(f, msg, &s)
}

// check does the work of Carries.
func check(f Framing, msg []byte, s *settings) error {
	if c, ok := f.(chunked); ok {
		f = c.framing
	}
	own, ok := f.(framing)
	if !ok {
		return nil
	}
	err := s.checkLimit(msg)
	if err == nil && own.carries != nil {
		err = own.carries(own, msg, s)
	}
	return err
}

// checkLimit returns an error if msg is larger than the limit of a Writer.
func (s *settings) checkLimit(msg []byte) error {
	if !s.writerLimit || len(msg) <= s.maxMessage {
		return nil
	}
	return &TooLargeError{
		Size:     int64(len(msg)),
		Declared: true,
		Limit:    int64(s.maxMessage),
		Offset:   -1,
		Head:     head(msg, len(msg)),
	}
}

// forms are all forms of the package, in the order in which All lists them.
var forms = []*form{
	raw, ndjson, bytewise, rescan, contentLength, plainChunks, adaptiveChunks, lengthPrefix,
	zstdChunks,
}

// framing returns the framing of the form f whose spec states this size; 0: none is stated.
func (f *form) framing(size int) (Framing, error) {
	if f.newSized == nil {
		return framing{f, 0}, nil
	}
	return f.newSized(f, size)
}

// Parse returns the framing that a spec names: one of the names of [All] or "chunked+zstd". A size
// may follow if the framing takes one: "chunked:60KiB", "raw:61440". The default size is
// [DefaultChunk], or 0 for raw.
//
// A size is in bytes. The suffixes k, M and G, in upper or lower case and with or without iB,
// multiply it by 1024, 1024² and 1024³; kB, MB and GB multiply it by powers of 1000.
func Parse(text string) (Framing, error) {
	name, arg, sized := strings.Cut(text, ":")
	i := slices.IndexFunc(forms, func(f *form) bool { return f.name == name })
	if i < 0 {
		return nil, unknownFraming(text, name)
	}
	if sized && forms[i].arg == "" {
		return nil, fmt.Errorf("framing %q: %s takes no argument", text, name)
	}
	size := 0
	if sized {
		var err error
		if size, err = parseSize(arg); err != nil {
			return nil, fmt.Errorf("framing %q: %w", text, err)
		}
	}
	f, err := forms[i].framing(size)
	if err != nil {
		return nil, fmt.Errorf("framing %q: %w", text, err)
	}
	return f, nil
}

func unknownFraming(text, name string) error {
	var known []string
	for _, f := range forms {
		if f.arg == "" {
			known = append(known, f.name)
		} else {
			known = append(known, f.name+"[:"+f.arg+"]")
		}
	}
	hint := ""
	if name == "lsp" || name == "mcp" {
		hint = "; LSP speaks content-length, MCP ndjson"
	}
	return fmt.Errorf("unknown framing %q: known are %s%s", text, strings.Join(known, ", "), hint)
}

// All returns each framing with its default size, except [Compressed].
func All() []Framing {
	var all []Framing
	for _, form := range forms {
		if !form.unlisted {
			f, _ := form.framing(0) // without a size, no spec is refused
			all = append(all, f)
		}
	}
	return all
}

// sizeUnits are the suffixes of a size.
var sizeUnits = map[string]uint64{
	"": 1, "b": 1,
	"k": 1 << 10, "kb": 1e3, "kib": 1 << 10,
	"m": 1 << 20, "mb": 1e6, "mib": 1 << 20,
	"g": 1 << 30, "gb": 1e9, "gib": 1 << 30,
}

// parseSize reads a positive number of bytes with an optional suffix.
func parseSize(s string) (int, error) {
	digits := strings.TrimRight(s, "bBgGiIkKmM")
	n, err := strconv.ParseUint(digits, 10, 63)
	unit, ok := sizeUnits[strings.ToLower(s[len(digits):])]
	if err != nil || !ok || n == 0 {
		return 0, fmt.Errorf("size %q is not a positive number of bytes such as 61440 or 60KiB", s)
	}
	if n > math.MaxInt/unit {
		return 0, fmt.Errorf("size %q is beyond what this machine can address", s)
	}
	return int(n * unit), nil
}
