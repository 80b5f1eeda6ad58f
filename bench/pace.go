package bench

import (
	"cmp"
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// A pace holds a reader to a number of bytes per second, from its first bytes on. The zero pace
// holds nothing up. It belongs to one goroutine.
type pace struct {
	PerSecond int64 // bytes
	Next      int64 // when the reader is done with what it took; 0 before the first Take
}

// catchUp is how far a reader may fall behind its pace and still catch up. So it makes up for
// sleeps that end late, but not for time in which the pipe was empty.
const catchUp = time.Millisecond

// Take counts n bytes that were taken at a moment, in nanoseconds of any clock, and returns Next.
func (p *pace) Take(n int, now int64) int64 {
	if p.PerSecond <= 0 {
		return now
	}
	p.Next = max(cmp.Or(p.Next, now), now-int64(catchUp)) + int64(n)*1e9/p.PerSecond
	return p.Next
}

// wait waits until a reader of that pace would be done with n more bytes.
func (p *pace) wait(n int) {
	if p.PerSecond > 0 { // sleep is a function of its own so that this check is inlined
		p.sleep(n)
	}
}

func (p *pace) sleep(n int) {
	now := int64(syspipe.Now())
	time.Sleep(time.Duration(p.Take(n, now) - now))
}
