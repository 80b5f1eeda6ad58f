package framers

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"time"
)

const (
	// DefaultMaxMessage is the largest message that a Reader accepts, unless WithMaxMessage says
	// otherwise: 16 MiB, in bytes.
	DefaultMaxMessage = 16 << 20
	// DefaultReadBuffer is how much a Reader asks for in one read unless WithReadBuffer says
	// otherwise: 256 KiB, in bytes. Measured through pipes, 4 KiB reads lose up to half of the
	// throughput, and 1 MiB reads gain nothing.
	DefaultReadBuffer = 256 << 10
	// DefaultReadOffset is where in a page of memory a read buffer begins, unless WithReadOffset
	// says otherwise. It is well behind the first 31 bytes, to which some processors copy slowly.
	DefaultReadOffset = 128
)

// noLimit is the limit that stands for no limit. It is below math.MaxInt, so that other sizes can
// be added to it without an overflow.
const noLimit = math.MaxInt - math.MaxInt>>5

// A Policy says what a Reader does after a message that is larger than the limit.
type Policy int

const (
	// Close makes the Reader give up the stream: every later call returns the same error. Close is
	// the default.
	Close Policy = iota
	// Resync makes the Reader skip the message without holding it, and deliver the next one.
	Resync
)

// refuse returns err, the error about a message that is larger than the limit. With the policy
// Close it also ends the stream: it stores err in broken. As nothing is skipped then, it forgets
// the function of WithSkipped.
func (s *settings) refuse(err error, broken *error) error {
	if s.policy == Close {
		*broken = err
		s.skipped = nil
	}
	return err
}

// An Option changes what a Writer, a Reader or a Mux of this package does. Each of them ignores the
// options that do not concern it, so that one list serves both ends.
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

// WithMaxMessage sets the largest message in bytes, without terminator and header: a message of n
// bytes passes, one of n + 1 bytes does not. Zero means DefaultMaxMessage. A negative n means no
// limit. Without this option, a Reader has the limit DefaultMaxMessage, and a Writer has no limit.
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

// WithReadBuffer sets how many bytes a Reader asks for in each read, and so how much memory it
// holds while messages are small. Zero or less means DefaultReadBuffer. 1 to 15 mean 16, the
// smallest buffer.
func WithReadBuffer(bytes int) Option {
	return func(s *settings) { s.readBuffer = max(positive(bytes, DefaultReadBuffer), 16) }
}

// WithReadOffset sets where in a page of memory (4096 bytes) the buffers of a Reader begin, also
// after they grew. Without this option it is DefaultReadOffset. Only n modulo 4096 counts.
//
// Some processors read a pipe at half the speed if the buffer begins at offset 1 to 31. A buffer at
// offset 0 is as slow, because messages are moved within it.
func WithReadOffset(n int) Option {
	return func(s *settings) { s.readOffset = n & (pageSize - 1) }
}

// WithWriteSize sets the most bytes that a Writer or a Mux hands over in one Write or Writev. Zero,
// the default, and a negative n mean that each frame is handed over whole.
//
// The option changes nothing on the wire: the pieces of a frame follow each other at once, and a
// Mux lets nothing come between them. A frame of up to 4096 bytes goes out in one call whatever n
// is, because a pipe does not mix such a write with those of other processes. A larger frame goes
// out in pieces of n bytes, even if n is less than 4096. The first piece of a large frame may be
// shorter, so that the next piece begins at the start of a page of memory.
//
// With smaller writes, a reader on another CPU can begin sooner, but each write costs a system
// call. If other processes or goroutines write to the same stream without a common lock, their
// bytes can come between the pieces.
func WithWriteSize(n int) Option { return func(s *settings) { s.writeSize = max(n, 0) } }

// WithPolicy sets what a Reader does after a message that is larger than the limit.
func WithPolicy(p Policy) Option { return func(s *settings) { s.policy = p } }

// WithVerbatim keeps what a line framing otherwise drops: white space around a message, and blank
// lines. A blank line then is an empty message. With and without this option, a line ends with LF
// or CR LF.
func WithVerbatim() Option { return func(s *settings) { s.verbatim = true } }

// WithLenient makes a Content-Length reader ignore two things that some servers send: header lines
// without a colon, and blank lines before a header. A line of white space then ends a header as a
// blank line does. Without this option all three are errors.
func WithLenient() Option { return func(s *settings) { s.lenient = true } }

// WithIDs makes a Writer take the ids of chunked messages from ids, for output that is the same
// each time. Without this option, or if ids is nil, the ids are random UUIDs (version 4): they are
// unique, but they can be guessed. ids is called by the goroutine that sends.
func WithIDs(ids func() [16]byte) Option {
	return func(s *settings) { s.ids = ids }
}

// WithMaxInFlight bounds the incomplete messages that a chunk reader holds: their number, and their
// bytes together. If a bound is zero or less, it stays at its default: 64 messages, or 64 MiB.
func WithMaxInFlight(messages, bytes int) Option {
	return func(s *settings) {
		s.flightMessages = positive(messages, s.flightMessages)
		s.flightBytes = positive(bytes, s.flightBytes)
	}
}

// WithExpiry sets how long a chunk reader keeps an incomplete message after its latest chunk came.
// Without this option it is one minute. If d is zero or less, the reader keeps the message for
// ever. There is no timer: a Reader drops old messages when a frame arrives.
func WithExpiry(d time.Duration) Option { return func(s *settings) { s.expiry = d } }

// WithProgress makes ReadMessage of a chunk reader call f for each chunk that it accepts, before it
// delivers the message. The slices of the Chunk are valid only during the call.
func WithProgress(f func(Chunk)) Option { return func(s *settings) { s.progress = f } }

// WithSkipped makes ReadMessage call f when it has skipped the whole of a message that is larger
// than the limit. Only a Reader of a framing that states no sizes calls f, and only with the policy
// Resync.
//
// f receives the error that an earlier ReadMessage returned, with Size set to the number of bytes
// of the message. A carriage return before the newline counts, too.
func WithSkipped(f func(*TooLargeError)) Option { return func(s *settings) { s.skipped = f } }

// WithQueue sets how many Sends of a Mux may wait or write at once. A further Send first waits
// until one of them has returned. Zero or less means 1024.
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

// An idSource makes version 4 UUIDs from two SplitMix64 generators (Steele, Lea, Flood: Fast
// splittable pseudorandom number generators, 2014). Each generator begins with a random number, and
// repeats none of its numbers. The generators of math/rand/v2 are not inlined: with them, the id of
// a small message would cost twice as much.
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
