package bench

import "time"

// A Clock reads the operating system's monotonic clock, which all processes share, so that one
// end's time means something to the other. It may be used concurrently.
//
// It is Go's own clock, shifted: that costs no system call to read. The shift is found once,
// between two readings that lie closest together.
type Clock struct {
	base  time.Time
	shift int64
}

// clockReadings is how often the clocks are read beside each other. The closest pair of some dozens
// is as close as it gets.
const clockReadings = 64

// NewClock makes a view of the clock.
func NewClock() (*Clock, error) {
	c := &Clock{base: time.Now()}
	best := time.Duration(1 << 62)
	for range clockReadings {
		before := time.Since(c.base)
		there, err := readSharedClock()
		if err != nil {
			return nil, err
		}
		after := time.Since(c.base)
		if gap := after - before; gap < best {
			best = gap
			c.shift = there - int64(before+gap/2)
		}
	}
	return c, nil
}

// Now returns nanoseconds since a moment that is the same for all processes.
func (c *Clock) Now() int64 { return c.shift + int64(time.Since(c.base)) }

// spinTime is how long before a moment an end stops sleeping, where it has its CPU for itself:
// about what waking up from a sleep costs.
const spinTime = 50 * time.Microsecond

// Await returns when Now is moment or more. A sleep is absolute, so that its lateness does not add
// up; with spin the last microseconds are spun, which is for an end that takes the CPU from nobody.
// It sharpens the timers of the calling thread.
func (c *Clock) Await(moment int64, spin bool) {
	minimiseTimerSlack() // of the thread, which may be another each time
	c.await(moment, spin)
}

// await is Await on a thread whose timers are sharp.
func (c *Clock) await(moment int64, spin bool) {
	wake := moment
	if spin {
		wake -= int64(spinTime)
	}
	if c.Now() < wake {
		c.sleepUntil(wake)
	}
	for c.Now() < moment {
		if !spin {
			c.sleepUntil(moment) // a signal cut the sleep short
		}
	}
}
