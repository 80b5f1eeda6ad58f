package framers

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"time"
)

const (
	// DefaultMaxMessage is the largest message that a Reader accepts by default, in bytes: 16 MiB.
	// See WithMaxMessage.
	DefaultMaxMessage = 16 << 20
	// DefaultReadBuffer is how many bytes a Reader asks for in one read by default. Through pipes,
	// reads of 4 KiB lost up to half of the throughput, and reads of 1 MiB gained nothing.
	DefaultReadBuffer = 256 << 10
	// DefaultReadOffset is where in a page of memory a read buffer begins by default, in bytes from
	// the start of the page. Some processors copy slowly to offsets up to 31.
	DefaultReadOffset = 128
)

// noLimit stands for no limit. Other sizes can be added to it without an overflow.
const noLimit = math.MaxInt - math.MaxInt>>5

// A Policy says what a Reader does after a message that is larger than the limit.
type Policy int

const (
	// Close, the default, makes the Reader give up the stream: every later call returns the same
	// error.
	Close Policy = iota
	// Resync makes the Reader skip the message without holding it, and deliver the next one.
	Resync
)

// refuse returns err, which is about a message that is too large. With the policy Close it also
// stores err in *broken. That ends the stream.
func (s *settings) refuse(err error, broken *error) error {
	if s.policy == Close {
		*broken = err
		s.skipped = nil // no message is skipped any more
	}
	return err
}

// An Option changes what a Writer, a Reader or a Mux does. Each of these ignores the options that
// are not for it, so both ends can be given the same list.
type Option func(*settings)

type settings struct {
	maxMessage     int
	writerLimit    bool // maxMessage is also the limit of a Writer
	readBuffer     int
	readOffset     int
	writeSize      int
	policy         Policy
	verbatim       bool
	lenient        bool
	ids            func() [16]byte // nil: random ids
	random         idSource
	flightMessages int
	flightBytes    int
	expiry         time.Duration
	now            func() time.Time
	progress       func(Chunk)
	skipped        func(*TooLargeError)
	queue          int
	wait           time.Duration
}

func newSettings(opts []Option) settings {
	s := settings{
		maxMessage:     DefaultMaxMessage,
		readBuffer:     DefaultReadBuffer,
		readOffset:     DefaultReadOffset,
		random:         idSource{rand.Uint64(), rand.Uint64()},
		flightMessages: 64,
		flightBytes:    4 * DefaultMaxMessage,
		expiry:         time.Minute,
		now:            time.Now,
		queue:          defaultQueue,
	}
	for _, o := range opts {
		o(&s)
	}
	return s
}

// WithMaxMessage sets the size of the largest message in bytes. Zero means DefaultMaxMessage, and a
// negative n means no limit. Without this option, only Readers have a limit: DefaultMaxMessage.
func WithMaxMessage(n int) Option {
	return func(s *settings) {
		s.writerLimit = true
		switch {
		case n == 0:
			s.maxMessage = DefaultMaxMessage
		case n < 0:
			s.maxMessage = noLimit
		default:
			s.maxMessage = min(n, noLimit)
		}
	}
}

// WithReadBuffer sets how many bytes a Reader asks for in each read, at least 16. Zero or less
// means DefaultReadBuffer.
func WithReadBuffer(bytes int) Option {
	return func(s *settings) { s.readBuffer = max(positive(bytes, DefaultReadBuffer), 16) }
}

// WithReadOffset sets where in a page of memory (4096 bytes) the buffers of a Reader begin. The
// default is DefaultReadOffset. Some processors read a pipe at half the speed at offsets 0 to 31.
func WithReadOffset(n int) Option {
	return func(s *settings) { s.readOffset = n & (pageSize - 1) }
}

// WithWriteSize sets the most bytes that a Writer or a Mux passes to one Write or Writev. By
// default, or if n is zero or less, there is no such bound. A frame of up to 4096 bytes is never
// split.
//
// With smaller writes, a reader on another CPU can begin sooner. But if several processes write to
// the stream without a common lock, their pieces can mix.
func WithWriteSize(n int) Option { return func(s *settings) { s.writeSize = max(n, 0) } }

// WithPolicy sets what a Reader does after a message that is larger than the limit.
func WithPolicy(p Policy) Option { return func(s *settings) { s.policy = p } }

// WithVerbatim keeps what a line framing otherwise drops: white space around a message, and blank
// lines, which then are empty messages. A Content-Length Reader returns a HeaderError for each line
// of a header that is neither Content-Length nor Content-Type, and keeps the rest of the header.
func WithVerbatim() Option { return func(s *settings) { s.verbatim = true } }

// WithLenient makes a Content-Length Reader accept what some servers send. Header lines without a
// colon, and blank lines before a header, are ignored. A line of white space ends a header.
func WithLenient() Option { return func(s *settings) { s.lenient = true } }

// WithIDs makes a Writer call source for the id of each chunked message, so that its output can be
// the same each time. If source is nil, the ids are UUIDs from a generator that is fast but not
// secure: outsiders can guess them.
func WithIDs(source func() [16]byte) Option {
	return func(s *settings) { s.ids = source }
}

// WithMaxInFlight bounds how many incomplete messages a Reader of chunks holds, and how many bytes
// they have together. A bound of zero or less means the default: 64 messages, or 64 MiB.
func WithMaxInFlight(messages, bytes int) Option {
	return func(s *settings) {
		s.flightMessages = positive(messages, s.flightMessages)
		s.flightBytes = positive(bytes, s.flightBytes)
	}
}

// WithExpiry sets how long a Reader of chunks keeps an incomplete message after its latest chunk.
// The default is one minute. Zero or less means for ever. Old messages are dropped only when a
// frame arrives.
func WithExpiry(d time.Duration) Option { return func(s *settings) { s.expiry = d } }

// WithProgress makes ReadMessage call f with each accepted chunk, before ReadMessage returns the
// message. The slices in a Chunk are valid only during the call.
func WithProgress(f func(Chunk)) Option { return func(s *settings) { s.progress = f } }

// WithSkipped makes ReadMessage call f when it has skipped a message that is larger than the limit.
// f gets the error that ReadMessage returned for the message, now with the real Size. This happens
// only with the policy Resync, in framings that state no sizes.
func WithSkipped(f func(*TooLargeError)) Option { return func(s *settings) { s.skipped = f } }

// WithQueue sets how many calls of Send of one Mux may wait or write at once. Further calls wait
// until one of these returns. Zero or less means 1024.
func WithQueue(messages int) Option {
	return func(s *settings) { s.queue = positive(messages, defaultQueue) }
}

// positive returns n if it is above zero, else fallback.
func positive(n, fallback int) int {
	if n > 0 {
		return n
	}
	return fallback
}

// id returns the id of the next chunked message.
func (s *settings) id() [16]byte {
	if s.ids != nil {
		return s.ids()
	}
	return s.random.next()
}

// An idSource makes version 4 UUIDs from two SplitMix64 generators (Steele, Lea, Flood 2014). With
// math/rand/v2, the id of a small message would cost twice as much.
type idSource struct{ high, low uint64 }

func (s *idSource) next() (id [16]byte) {
	const step = 0x9e3779b97f4a7c15
	s.high += step
	s.low += step
	binary.LittleEndian.PutUint64(id[:8], mix(s.high))
	binary.LittleEndian.PutUint64(id[8:], mix(s.low))
	id[6] = id[6]&0x0f | 0x40 // version 4
	id[8] = id[8]&0x3f | 0x80 // the usual variant
	return id
}

// mix is the output function of SplitMix64.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
