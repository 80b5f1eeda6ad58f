package tap

import "sync/atomic"

// A ring is a bounded queue of bytes from one goroutine to another: neither waits for the other, and what does not fit is refused whole.
type ring struct {
	buf  []byte // its length is a power of two
	head atomic.Uint64
	tail atomic.Uint64
}

func newRing(bytes int) *ring { return &ring{buf: make([]byte, bytes)} }

// put takes all of p, or nothing. It belongs to the writing goroutine.
func (r *ring) put(p []byte) bool {
	head, tail := r.head.Load(), r.tail.Load()
	if uint64(len(p)) > uint64(len(r.buf))-(head-tail) {
		return false
	}
	at := int(head & uint64(len(r.buf)-1))
	copy(r.buf, p[copy(r.buf[at:], p):])
	r.head.Store(head + uint64(len(p)))
	return true
}

// peek returns what is there, in one or two pieces, until done says that it was taken. It belongs to the reading goroutine.
func (r *ring) peek() (a, b []byte) {
	head, tail := r.head.Load(), r.tail.Load()
	from, n := int(tail&uint64(len(r.buf)-1)), int(head-tail)
	first := min(n, len(r.buf)-from)
	return r.buf[from : from+first], r.buf[:n-first]
}

func (r *ring) done(n int) { r.tail.Add(uint64(n)) }

// crowded reports whether a quarter of the ring is in use.
func (r *ring) crowded() bool { return r.head.Load()-r.tail.Load() > uint64(len(r.buf)/4) }
