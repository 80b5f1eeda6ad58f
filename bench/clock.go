package bench

import (
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// A clock tells the time of the operating system's monotonic clock. All processes share that clock,
// so a time taken at one end of a pipe can be compared with a time taken at the other end. A clock
// may be used concurrently.
//
// To avoid a system call for each reading, a clock adds a shift in nanoseconds to [syspipe.Now].
// newClock measures this shift.
type clock struct{ shift int64 }

// clockReadings is how many times newClock reads both clocks. newClock uses the fastest reading:
// among some dozens of readings there is one that nothing interrupted.
const clockReadings = 64

func newClock() (*clock, error) {
	c := &clock{}
	best := time.Duration(1 << 62) // the shortest gap so far
	for range clockReadings {
		before := syspipe.Now()
		there, err := readSharedClock()
		if err != nil {
			return nil, err
		}
		after := syspipe.Now()
		if gap := after - before; gap < best {
			best = gap
			c.shift = there - int64(before+gap/2)
		}
	}
	return c, nil
}

// now returns nanoseconds since a moment that is the same for all processes.
func (c *clock) now() int64 { return c.shift + int64(syspipe.Now()) }

// spinTime is how long await spins before the awaited moment. Waking up takes about as long.
const spinTime = 50 * time.Microsecond

// await returns when the clock has reached the moment. It sleeps until an absolute time, so delays
// do not add up if a caller awaits one moment after another. If spin is true, await spins for the
// last microseconds. Only a caller that has its CPU for itself should ask for this.
//
// The calling thread should have called [minimiseTimerSlack] before.
func (c *clock) await(moment int64, spin bool) {
	wake := moment
	if spin {
		wake -= int64(spinTime)
	}
	if c.now() < wake {
		c.sleepUntil(wake)
	}
	for c.now() < moment {
		if !spin {
			c.sleepUntil(moment) // again, because a signal cut the sleep short
		}
	}
}
