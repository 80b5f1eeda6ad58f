package bench

import (
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// A clock tells the time of the operating system's monotonic clock. All processes share that clock,
// so a time taken at one end of a pipe can be compared with a time taken at the other end. A clock
// may be used concurrently.
//
// The time is [syspipe.Now], which needs no system call, plus a shift in nanoseconds. newClock
// measures the shift: it reads the shared clock between two calls of syspipe.Now.
type clock struct{ shift int64 }

// clockReadings is how many times newClock reads both clocks. The fastest reading counts. Among
// some dozens of readings there is one that nothing interrupted.
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

// spinTime is how long before the awaited moment await wakes up to spin. It is about as long as
// waking up takes.
const spinTime = 50 * time.Microsecond

// await returns when the clock has reached the moment. The calling thread should have called
// [minimiseTimerSlack] before. await sleeps until an absolute time, so a caller that awaits one
// moment after another does not fall behind more and more. If spin is true, await spins for the
// last microseconds. A caller should ask for this only if it has its CPU for itself.
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
