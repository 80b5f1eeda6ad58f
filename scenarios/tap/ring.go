package tap

import "sync"

// A ring is a bounded queue of bytes from one goroutine to another: neither waits for the other, and what does not fit is refused whole. Once it is
// empty it begins anew, so that it takes as much memory as it once had to hold, and not as much as it could.
type ring struct {
	mu         sync.Mutex // for as long as a copy takes
	buf        []byte
	head, tail int // bytes put and taken since it was empty
}

func newRing(bytes int) *ring { return &ring{buf: make([]byte, bytes)} }

// put takes all of p, or nothing. It belongs to the writing goroutine.
func (r *ring) put(p []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(p) > len(r.buf)-(r.head-r.tail) {
		return false
	}
	at := r.head % len(r.buf)
	copy(r.buf, p[copy(r.buf[at:], p):])
	r.head += len(p)
	return true
}

// peek returns what is there, in one or two pieces, until done says that it was taken. It belongs to the reading goroutine.
func (r *ring) peek() (a, b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	from, n := r.tail%len(r.buf), r.head-r.tail
	first := min(n, len(r.buf)-from)
	return r.buf[from : from+first], r.buf[:n-first]
}

func (r *ring) done(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tail += n; r.tail == r.head {
		r.head, r.tail = 0, 0
	}
}

// overHighWater reports whether there is too much to leave until the recorder comes by itself.
func (r *ring) overHighWater() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.head-r.tail > highWater
}

// highWater is a hundredth of a second of the densest traffic, in bytes.
const highWater = 1 << 20
