package framers

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"time"
)

const (
	// DefaultMaxMessage is the limit on a message unless WithMaxMessage sets it: 16 MiB, in bytes.
	DefaultMaxMessage = 16 << 20
	// DefaultReadBuffer is how much a Reader asks for in one read unless WithReadBuffer says
	// otherwise: 256 KiB, in bytes. Measured through pipes, 4 KiB reads lose up to half of the
	// throughput, and 1 MiB reads gain nothing.
	DefaultReadBuffer = 256 << 10
	// DefaultReadOffset is where in a page of memory a read buffer begins unless WithReadOffset
	// says otherwise: well behind the first 31 bytes, to which some processors copy slowly.
	DefaultReadOffset = 128
)

// noLimit is the largest limit. Other sizes can be added to it without an overflow.
const noLimit = math.MaxInt - math.MaxInt>>5

// A Policy says what a Reader does after a message beyond the limit.
type Policy int

const (
	// Close gives the stream up: every later call returns the same error. It is the default.
	Close Policy = iota
	// Resync skips the message without holding it, and delivers the next one.
	Resync
)

// refuse returns err, the error about a message beyond the limit. With the policy Close, which ends
// the stream, it also stores err in broken.
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
	writerLimit    bool // maxMessage holds for a Writer, too
	readBuffer     int
	readOffset     int
	writeSize      int
	policy         Policy
	verbatim       bool
	lenient        bool
	ids            func() [16]byte // nil for random ones
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

// WithMaxMessage sets the largest message in bytes, terminator and header not counted: n bytes
// pass, n + 1 do not. Zero means DefaultMaxMessage, a negative n no limit. A Reader always has a
// limit; a Writer has one only if it is given this option.
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

// WithReadBuffer sets how many bytes a Reader asks for at once, and so the memory it holds while
// messages are small. Zero or less means DefaultReadBuffer; the least is 16.
func WithReadBuffer(bytes int) Option {
	return func(s *settings) { s.readBuffer = max(positive(bytes, DefaultReadBuffer), 16) }
}

// WithReadOffset sets where in a page of memory (4096 bytes) the buffers of a Reader begin, also
// when they grow: DefaultReadOffset unless set. Only n modulo 4096 counts. On some processors a
// pipe is read at half the speed into a buffer that begins at 1 to 31. A buffer that begins at 0 is
// as slow, since messages move within it.
func WithReadOffset(n int) Option {
	return func(s *settings) { s.readOffset = n & (pageSize - 1) }
}

// WithWriteSize bounds what a Writer or a Mux hands over in one Write or Writev: n bytes. Zero, the
// default, and a negative n mean whole frames. It changes nothing on the wire: the pieces of a
// frame follow each other at once, and a Mux lets nothing come between them. A frame of up to 4096
// bytes goes out in one call whatever n is, as pipes promise not to mix it with those of other
// processes. Larger frames go out in pieces of n bytes, also if n is less than 4096. The first
// piece of a large frame may be shorter, so that the others begin at a page of memory.
//
// Smaller writes let a reader on another CPU begin sooner, and cost a system call each. If other
// processes or goroutines write to the same stream without a common lock, they come between the
// pieces.
func WithWriteSize(n int) Option { return func(s *settings) { s.writeSize = max(n, 0) } }

// WithPolicy sets what follows a message beyond the limit.
func WithPolicy(p Policy) Option { return func(s *settings) { s.policy = p } }

// WithVerbatim keeps what a line framing otherwise drops: white space around a message, and blank
// lines, which then are empty messages. The terminator is LF or CR LF either way.
func WithVerbatim() Option { return func(s *settings) { s.verbatim = true } }

// WithLenient makes a Content-Length reader ignore header lines without a colon and blank lines
// before a header, as some servers send them. A line of white space then ends a header as a blank
// line does. Strict is the default: all three are errors.
func WithLenient() Option { return func(s *settings) { s.lenient = true } }

// WithIDs sets where the ids of chunked messages come from, for output that can be repeated. The
// default are random (version 4) UUIDs: unique, but no secret to be relied on. Nil means the
// default. ids is called by the goroutine that sends.
func WithIDs(ids func() [16]byte) Option {
	return func(s *settings) { s.ids = ids }
}

// WithMaxInFlight bounds what a chunk reader holds of incomplete messages: their number, and their
// bytes together. Zero or less leaves a bound at its default, 64 messages or 64 MiB.
func WithMaxInFlight(messages, bytes int) Option {
	return func(s *settings) {
		s.flightMessages = positive(messages, s.flightMessages)
		s.flightBytes = positive(bytes, s.flightBytes)
	}
}

// WithExpiry sets how long a chunk reader keeps a message of which no chunk comes: one minute
// unless set, for ever if zero or less. A Reader drops old messages when a frame arrives.
func WithExpiry(d time.Duration) Option { return func(s *settings) { s.expiry = d } }

// WithProgress makes ReadMessage of a chunk reader call f for each chunk that it accepts, before it
// delivers the message. The chunk's slices are valid during the call.
func WithProgress(f func(Chunk)) Option { return func(s *settings) { s.progress = f } }

// WithSkipped makes ReadMessage call f when it has skipped all of a message beyond the limit, if
// the framing declares no sizes. f receives the error that an earlier ReadMessage returned, with
// Size set to the bytes of the message, including a carriage return before the newline. With the
// policy Close nothing is skipped, and f is not called.
func WithSkipped(f func(*TooLargeError)) Option { return func(s *settings) { s.skipped = f } }

// WithQueue sets how many messages may wait in a Mux; a further Send waits until one has been sent.
// Zero or less means 1024.
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
// splittable pseudorandom number generators, 2014), each of which gives no number twice. Both begin
// with a random number. The generators of math/rand/v2 are not inlined: with them, the id of a
// small message would cost twice as much.
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
