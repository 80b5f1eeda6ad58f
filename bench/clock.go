package bench

import (
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// A clock tells a time that is the same in all processes, so that times noted at both ends of a
// pipe can be compared. It may be used concurrently.
type clock struct{ shift int64 } // nanoseconds to add to syspipe.Now

// clockReadings is how often newClock reads two clocks one right after the other: Go's clock and
// the system's monotonic clock. newClock keeps the pair of readings that took the shortest time.
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

// spinTime is how long await keeps the CPU busy, instead of sleeping, just before the awaited
// moment. To wake up from a sleep takes about as long.
const spinTime = 50 * time.Microsecond

// await returns when the clock has reached the moment. Set spin only if the caller has its CPU for
// itself. The calling thread should have called [minimiseTimerSlack] before.
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
