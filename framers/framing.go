// Package framers turns messages into bytes and back: the framings that programs use on stdin and
// stdout, exact in what they accept and bounded in what they hold.
//
//	f, err := framers.Parse("chunked:60KiB")
//	w := f.NewWriter(os.Stdout)
//	err = w.WriteMessage(msg)
//	...
//	r := f.NewReader(os.Stdin, framers.WithMaxMessage(1<<20))
//	msg, err := r.ReadMessage() // valid until the next call
//
// A Framing may be shared. A Writer, a Reader and a Coalescer belong to one goroutine each;
// a [Mux] is for many. What a Writer accepts, a Reader with the same options gives back unchanged,
// however the bytes are cut on the way.
//
// # Behaviours
//
// What a Reader makes of oddities, and a Writer of messages:
//
//	                    ndjson                  content-length          chunked                  adaptive                  length-prefix
//	blank line          skipped                 ErrNoLength             skipped                  skipped                   a length
//	CR LF               as LF                   and LF                  CR is data               as LF, in a frame data    data
//	space around        dropped                 kept                    kept                     dropped, in a frame kept  kept
//	cut at the end      a message               ErrUnexpectedEOF        ErrUnexpectedEOF         a line a message          ErrUnexpectedEOF
//	garbage before      a message               HeaderError, next read  ErrMalformed, next read  a message                 a length
//	beyond the limit    TooLargeError, the end  TooLargeError, the end  TooLargeError, the end   TooLargeError, the end    TooLargeError, the end
//	same, Resync        next read               next read               next read                next read                 next read
//	chunks interleaved  -                       -                       reassembled              reassembled               -
//	chunk twice         -                       -                       ErrDuplicate, goes on    ErrDuplicate, goes on     -
//	chunk missing       -                       -                       ErrMissing, ErrExpired   ErrMissing, ErrExpired    -
//	sending empty       ErrEmpty                sent                    sent                     sent as a frame           sent
//	sending a newline   ErrNewline              sent                    ErrNewline               ErrNewline                sent
//
// "The end" is of the stream, by the policy [Close]; [Resync] reads on. ndjson-bytewise and
// ndjson-rescan do as ndjson, but hold a line whole before they look at its length. A byte stream
// that ends between messages ends with io.EOF. An error of the underlying reader, such as a
// deadline, loses nothing.
//
// # Memory
//
// A Reader reads 256 KiB at a time (WithReadBuffer) into a buffer of that size, and messages are
// slices of it. A message that does not fit has the buffer grow with what arrives, never with what
// is declared, to 1.5 × the limit and one read at most while it grows. After 32 messages in a row
// that would have fitted a quarter of it, a grown buffer is given back. Beside its buffer, a chunk
// reader holds the messages that frames of others have interrupted, as WithMaxInFlight allows; a
// message whose chunks come out of order is held twice while it is put together. By the same rule
// as its own it keeps the buffer of one large message for the next, and instead of its own where
// both would be large.
//
// # Speed
//
// After warm-up nothing is allocated for a message, on either side. A Writer copies a frame of less
// than 16 KiB together and sends it in one call. A larger one goes to a [Vectored] as a gather list,
// without a copy; to an *os.File in two or three writes, of which the first has the header and up to
// 64 KiB; to any other writer in one Write, copied. WithWriteSize bounds each call. The chunk reader
// puts most data where it belongs in the message as it is read.
//
// Where buffers lie in memory decides more than the framing, on processors that copy slowly to an
// address 1 to 31 bytes behind the source modulo 4096 (measured: AMD Zen 3, 4 to 5 times as slowly).
// Read buffers therefore begin at offset 128 of a page (WithReadOffset). And a Vectored gets a header
// in a call of its own if the payload has 16 KiB or more and would be copied to such an address
// otherwise: a message at the start of a page, as Go allocates large ones, behind the 4 bytes of
// length-prefix or the 25 of content-length. That call costs some 0.3 µs where the processor has no
// such zone.
//
// "go test ./framers -run TestFigures -figures 15" measures all of it beside other packages,
// through a pipe on one core, as ratios to bytes that are read into one buffer whatever comes. On a
// virtual machine of 2 CPUs with 2 MiB of second-level cache each (Linux 6.18, Go 1.26.8; medians
// of 15 interleaved rounds):
//
//	                 256 B  4 KiB  64 KiB  1 MiB  16 MiB
//	ndjson             .91    .66     .73    .80     .62
//	content-length     .85    .70     .82    .80     .73
//	chunked:61440      .71    .60     .68    .65     .59
//	length-prefix      .93    .70     .84    .80     .66
//	received whole     .58    .83    1.00    .82     .73
//
// and on one with an AMD EPYC, 1 MiB of second-level cache a CPU, which moves 4 KiB at 8.9 GB/s
// where the other did 5:
//
//	                 256 B  4 KiB  64 KiB  1 MiB  16 MiB
//	ndjson             .87    .62     .72    .73     .55
//	content-length     .84    .66     .77    .86     .61
//	chunked:61440      .69    .59     .66    .68     .50
//	length-prefix      .89    .67     .78    .88     .61
//	received whole     .59    .79    1.00    .93     .66
//
// The last line is no framing, but the same bytes read whole into a buffer of the message's size,
// once for each message. It bounds what delivers messages whole: at 16 MiB they come from memory
// and not from the cache. On the first machine that varied from .57 to .81 between five runs of the
// program, and the framings with it (length-prefix .65 to .72, content-length .64 to .75, ndjson
// .51 to .66); a byte costs 1.7 times that of 1 MiB to receive whole, 1.9 times as ndjson, whose
// Writer looks at all of a message, at 29 GB/s, before it sends a byte. At 4 KiB three quarters of
// the time are system calls, and the byte of a newline begins a page of the pipe.
//
// # What is not promised
//
// Nothing here looks into a message: whether it is JSON is the caller's question. No framing
// detects bytes that were altered on the way. The text of errors may change; their types, fields
// and causes are what to read.
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

// A framing is one of this package: a form, and the size in its spec.
type framing struct {
	*form
	size int // of a raw message, or what bounds a frame; 0 where the spec has none
}

// A form is a way to put messages on the wire and to take them off.
type form struct {
	name string
	arg  string // what the size in the spec is, "" if it has none

	bare bool // adaptive: sends messages that fit as lines without a header
	pack bool // what is split is the compressed message

	// make returns the framing of a size in the spec, 0 for the default; it is nil if there is none.
	make func(f *form, size int) (Framing, error)
	// carries returns the PayloadError with which a Writer refuses msg, or nil.
	carries func(f framing, msg []byte, s *settings) error
	// header appends what stands before a message of size bytes; nil if nothing does.
	header func(b []byte, size int) []byte
	// tail is what stands behind a message.
	tail []byte
	// writer returns the Writer of a form whose messages are not one frame each, else it is nil.
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

// A writer sends each message as one frame. Few calls lie between WriteMessage and the stream: after
// a system call each return costs as much as it does where the processor has mispredicted it.
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
	return w.out.frame(w.head, msg, w.tail)
}

// Carries reports whether a Writer of f with opts takes msg: nil, or the [*PayloadError] or
// [*TooLargeError] it would return. What a Writer takes, a Reader with the same options gives back
// unchanged. For a framing that is not of this package only its Writer knows: Carries returns nil.
func Carries(f Framing, msg []byte, opts ...Option) error {
	s := newSettings(opts)
	return check(f, msg, &s)
}

// check returns the error with which a Writer of these settings refuses msg, or nil, also where only
// the Writer knows.
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

// forms are those of the package, in the order of All, which leaves the last out.
var forms = []*form{
	raw, ndjson, bytewise, rescan, contentLength, plainChunks, adaptiveChunks, lengthPrefix, zstdChunks,
}

// of returns the framing of a size; 0 is the default.
func (f *form) of(size int) (Framing, error) {
	if f.make == nil {
		return framing{f, 0}, nil
	}
	return f.make(f, size)
}

// Parse returns the framing of a spec: a name of [All], or chunked+zstd, and where the framing
// takes one, a colon and a size, such as "chunked:60KiB", "chunked:4k" or "raw:61440". Without a
// size, a chunk is [DefaultChunk] and raw does not know its messages. The suffixes k, M and G, also
// as kb or KiB, count in powers of 1024, in either case.
func Parse(text string) (Framing, error) {
	name, arg, sized := strings.Cut(text, ":")
	i := slices.IndexFunc(forms, func(f *form) bool { return f.name == name })
	if i < 0 {
		var known []string
		for _, f := range forms {
			known = append(known, strings.TrimSuffix(f.name+"[:"+f.arg+"]", "[:]"))
		}
		return nil, fmt.Errorf("unknown framing %q: known are %s", text, strings.Join(known, ", "))
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
		f, err = forms[i].of(size)
	}
	if err != nil {
		return nil, fmt.Errorf("framing %q: %w", text, err)
	}
	return f, nil
}

// All returns the framings of the package once each, with their default sizes. [Compressed] is not
// among them: it is measured only where it is asked for.
func All() []Framing {
	usual := forms[:len(forms)-1]
	all := make([]Framing, len(usual))
	for i, f := range usual {
		all[i], _ = f.of(0) // the default size is one
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
