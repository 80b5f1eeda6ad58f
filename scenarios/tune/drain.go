package tune

import (
	"io"

	"github.com/pipebench/pipebench/bench"
)

// drainQuantum is how many bytes a reader with a rate takes at once: a page.
// More would let the pipe run in jerks, and a probe wait for one of them.
const drainQuantum = 4 << 10

// catchUp is how far a reader may lag behind its rate and still make up for
// it, in nanoseconds: what a sleep is late, not what the pipe was empty.
const catchUp = 1_000_000

// A drain reads no more bytes a second than it allows itself, as a program
// does that works on each byte. It belongs to one goroutine.
type drain struct {
	r         io.Reader
	clock     *bench.Clock
	perSecond int64
	spin      bool // the CPU is the reader's own: it works there, as such a program would

	next int64 // when the next byte may be read
}

// Read waits until the bytes of the reads before are paid for.
func (d *drain) Read(p []byte) (int, error) {
	d.clock.Await(d.next, d.spin)
	n, err := d.r.Read(p[:min(len(p), drainQuantum)])
	d.next = max(d.next, d.clock.Now()-catchUp) + int64(n)*1e9/d.perSecond
	return n, err
}
