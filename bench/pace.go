package bench

import (
	"cmp"
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// A pace slows a reader down to a number of bytes per second. It belongs to one goroutine.
type pace struct {
	PerSecond int64 // bytes; 0: no limit
	Next      int64 // when the reader is done with the bytes that it took; 0: took none yet
}

// catchUp is how far a reader may fall behind its pace and still catch up. So it makes up for
// sleeps that end late, but not for time in which the pipe was empty.
const catchUp = time.Millisecond

// Take counts n bytes taken at a moment, in nanoseconds, and returns when the reader is done.
func (p *pace) Take(n int, now int64) int64 {
	if p.PerSecond <= 0 {
		return now
	}
	// The reader begins with these bytes when it is done with those before, at most catchUp ago.
	p.Next = max(cmp.Or(p.Next, now), now-int64(catchUp)) + int64(n)*1e9/p.PerSecond
	return p.Next
}

// wait counts n bytes that were read, and waits until the reader is done with them.
func (p *pace) wait(n int) {
	if p.PerSecond > 0 { // sleep is a separate function so that this check is inlined
		p.sleep(n)
	}
}

func (p *pace) sleep(n int) {
	now := int64(syspipe.Now())
	time.Sleep(time.Duration(p.Take(n, now) - now))
}
