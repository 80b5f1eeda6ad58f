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
type Framing interface {
	// String returns the framing's spec in canonical form, such as "ndjson" or "chunked:61440".
	// Parse takes it back.
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

// builtin is what the framings of this package know beyond the contract.
type builtin interface {
	Framing
	// carries returns the PayloadError with which a Writer of these settings refuses msg, or nil.
	carries(msg []byte, s *settings) error
}

// Carries reports whether a Writer of f with opts takes msg: nil, or the [*PayloadError] or
// [*TooLargeError] it would return. What a Writer takes, a Reader with the same options gives back
// unchanged. For a framing that is not of this package only its Writer knows: Carries returns nil.
func Carries(f Framing, msg []byte, opts ...Option) error {
	o, ok := f.(builtin)
	if !ok {
		return nil
	}
	s := newSettings(opts)
	return check(o, msg, &s)
}

// check is what a Writer does before it sends.
func check(o builtin, msg []byte, s *settings) error {
	if err := s.admits(msg); err != nil {
		return err
	}
	return o.carries(msg, s)
}

// admits returns an error for a message beyond a Writer's limit.
func (s *settings) admits(msg []byte) error {
	if s.writerLimit && len(msg) > s.maxMessage {
		return &TooLargeError{Size: int64(len(msg)), Declared: true, Limit: int64(s.maxMessage), Offset: -1, Head: head(msg, len(msg))}
	}
	return nil
}

// A spec is a framing by name, with how its argument makes one.
type spec struct {
	name, arg string
	make      func(size int) (Framing, error)
}

// specs are the framings in the order of All; what comes after are those that are to be asked for.
var specs = []spec{
	{"raw", "N", Raw},
	{"ndjson", "", plain(NDJSON)},
	{"ndjson-bytewise", "", plain(Bytewise)},
	{"ndjson-rescan", "", plain(Rescan)},
	{"content-length", "", plain(ContentLength)},
	{"chunked", "size", func(size int) (Framing, error) { return Chunked(size) }},
	{"adaptive", "size", func(size int) (Framing, error) { return Adaptive(size) }},
	{"length-prefix", "", plain(LengthPrefix)},
	{"chunked+zstd", "size", func(size int) (Framing, error) { return Compressed(size) }},
}

// extras counts the last of specs, which All leaves out.
const extras = 1

func plain(f func() Framing) func(int) (Framing, error) {
	return func(int) (Framing, error) { return f(), nil }
}

// Parse returns the framing of a spec: a name of [All], or chunked+zstd, and where the framing
// takes one, a colon and a size, such as "chunked:60KiB", "chunked:4k" or "raw:61440". Without a
// size, a chunk is [DefaultChunk] and raw does not know its messages. The suffixes k, M and G, also
// as kb or KiB, count in powers of 1024, in either case.
func Parse(text string) (Framing, error) {
	name, arg, sized := strings.Cut(text, ":")
	i := slices.IndexFunc(specs, func(s spec) bool { return s.name == name })
	if i < 0 {
		return nil, fmt.Errorf("unknown framing %q: known are %s", text, known())
	}
	size, err := 0, error(nil) // the default
	switch {
	case sized && specs[i].arg == "":
		err = fmt.Errorf("%s takes no argument", name)
	case sized:
		size, err = parseSize(arg)
	}
	var f Framing
	if err == nil {
		f, err = specs[i].make(size)
	}
	if err != nil {
		return nil, fmt.Errorf("framing %q: %w", text, err)
	}
	return f, nil
}

func known() string {
	var names []string
	for _, s := range specs {
		name := s.name
		if s.arg != "" {
			name += "[:" + s.arg + "]"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// All returns the framings of the package once each, with their default sizes. [Compressed] is not
// among them: it is measured only where it is asked for.
func All() []Framing {
	usual := specs[:len(specs)-extras]
	all := make([]Framing, 0, len(usual))
	for _, s := range usual {
		if f, err := s.make(0); err == nil {
			all = append(all, f)
		}
	}
	return all
}

// parseSize reads a positive number of bytes with an optional suffix.
func parseSize(s string) (int, error) {
	digits := strings.TrimRight(s, "bBgGiIkKmM")
	shift, ok := map[string]int{
		"": 0, "b": 0, "k": 10, "kb": 10, "kib": 10, "m": 20, "mb": 20, "mib": 20, "g": 30, "gb": 30, "gib": 30,
	}[strings.ToLower(s[len(digits):])]
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || !ok || n == 0 {
		return 0, fmt.Errorf("size %q is not a positive number of bytes such as 61440 or 60KiB", s)
	}
	if n > uint64(math.MaxInt)>>shift {
		return 0, fmt.Errorf("size %q is beyond what this machine can address", s)
	}
	return int(n) << shift, nil
}
