package framers

import "time"

// A ChunkReader tells tests what the Reader of a chunking framing holds.
type ChunkReader interface {
	Reader
	// InFlight returns how many incomplete messages are held, and the bytes that count against
	// WithMaxInFlight for them.
	InFlight() (messages, bytes int)
	// Held returns the memory of the interrupted ones, in bytes.
	Held() int
}

func (r *chunkReader) Held() (bytes int) {
	for _, p := range r.partials.list {
		bytes += cap(p.data) + p.waiting
	}
	return bytes
}

func (r *chunkReader) InFlight() (messages, bytes int) {
	for _, p := range r.partials.list {
		if !p.dropped {
			messages++
		}
	}
	return messages, r.partials.bytes
}

// WithClock sets the clock of WithExpiry and WithWait.
func WithClock(now func() time.Time) Option { return func(s *settings) { s.now = now } }
