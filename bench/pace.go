package bench

import (
	"cmp"
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// A pace limits a reader to a number of bytes per second. All times are nanoseconds of one clock,
// which the caller chooses. A pace belongs to one goroutine.
type pace struct {
	PerSecond int64 // bytes; 0: no limit
	Next      int64 // when the reader is done with all bytes read so far; 0: none yet
}

// catchUp is how much lost time a reader may make up by reading faster than its pace, such as after
// a sleep that ended late.
const catchUp = time.Millisecond

// Take counts n bytes that were read at the time now, and returns when the reader is done with
// them.
func (p *pace) Take(n int, now int64) int64 {
	if p.PerSecond <= 0 {
		return now
	}
	// The reader begins with these bytes when it is done with earlier ones, but not before
	// now-catchUp.
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
