package bench

import (
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// A clock reads the operating system's monotonic clock, which all processes share, so that one
// end's time means something to the other. It may be used concurrently.
//
// It is [syspipe.Now], shifted: that costs no system call to read. The shift is found once, between
// two readings that lie closest together.
type clock struct{ shift int64 }

// clockReadings is how often the clocks are read beside each other. The closest pair of some dozens
// is as close as it gets.
const clockReadings = 64

// newClock makes a view of the clock.
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

// spinTime is how long before a moment an end stops sleeping, where it has its CPU for itself:
// about what waking up from a sleep costs.
const spinTime = 50 * time.Microsecond

// await returns when now is moment or more, on a thread whose timers are sharp. A sleep is
// absolute, so that its lateness does not add up. With spin it spins for the last microseconds,
// which suits an end that takes the CPU from nobody.
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
