package bench

import (
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// A clock tells the time of the operating system's monotonic clock, which all processes share, so
// that one end's time means something to the other. It may be used concurrently.
//
// Its time is [syspipe.Now], which takes no system call to read, plus a shift. newClock finds the
// shift by reading both clocks, one between two readings of the other.
type clock struct{ shift int64 }

// clockReadings is how often newClock reads both clocks. The best reading counts, and among some
// dozens there is one that nothing interrupted.
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

// spinTime is how long before its moment await begins to spin: about as long as waking up takes.
const spinTime = 50 * time.Microsecond

// await returns when the moment has come. Its thread should have called [minimiseTimerSlack]. Each
// sleep ends at an absolute time, so that lateness does not add up. With spin, await spins for the
// last microseconds; an end should ask for this only if it has its CPU for itself.
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
			c.sleepUntil(moment) // again, since a signal cut the sleep short
		}
	}
}
