package framers

import (
	"io"
	"time"
)

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
	return messages, r.partials.charged
}

// WithClock sets the clock of WithExpiry and WithWait.
func WithClock(now func() time.Time) Option { return func(s *settings) { s.now = now } }

// FormNames lists the framings that Parse knows, without their sizes.
func FormNames() []string {
	var names []string
	for _, f := range forms {
		names = append(names, f.name)
	}
	return names
}

// NewDeclaredReader returns a Reader of messages that all declare a length.
func NewDeclaredReader(r io.Reader, length int64) Reader {
	b := newBodyReader(r, newSettings(nil))
	b.receive = func() error { return b.declare(length, 0) }
	return &b
}
