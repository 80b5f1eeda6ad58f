package bench

import (
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// A clock reads the operating system's monotonic clock, which all processes share, so that one
// end's time means something to the other. It may be used concurrently.
//
// It is [syspipe.Now] plus a shift, because that takes no system call to read. The shift is found
// once, from the pair of readings that lie closest together.
type clock struct{ shift int64 }

// clockReadings is how often both clocks are read, one right after the other, to find the shift.
// Some dozens are enough that nothing came between the two readings of at least one pair.
const clockReadings = 64

func newClock() (*clock, error) {
	c := &clock{}
	best := time.Duration(1 << 62)
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

// spinTime is how long before a moment an end stops sleeping and spins, if it has its CPU for
// itself: about as long as waking up from a sleep takes.
const spinTime = 50 * time.Microsecond

// await returns when the moment has come. Its thread should have called [minimiseTimerSlack]. Each
// sleep ends at an absolute time, so that lateness does not add up. With spin, await spins for the
// last microseconds; only an end that has its CPU for itself should do so.
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
			c.sleepUntil(moment) // a signal cut the sleep short
		}
	}
}
