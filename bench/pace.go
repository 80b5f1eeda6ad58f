package bench

import "time"

// A schedule says when messages fall due: one a period, from a moment that both
// ends know.
type schedule struct {
	start  int64   // on the shared clock, in nanoseconds
	period float64 // nanoseconds; a fraction of one adds up over many messages
}

func (p schedule) due(i int64) int64 { return p.start + int64(float64(i)*p.period) }

// leadTime is how long before the first message is due the start is agreed
// on, so that it is not late from the beginning.
const leadTime = time.Millisecond

// spinTime is how long before a message is due an end stops sleeping, where it
// has its CPU for itself: about what waking up from a sleep costs.
const spinTime = 50 * time.Microsecond

// await waits until a moment on the shared clock. A sleep is absolute, so that
// its lateness does not add up; the rest is spun where that takes the CPU from
// nobody.
func (c *sharedClock) await(moment int64, mayspin bool) {
	wake := moment
	if mayspin {
		wake -= int64(spinTime)
	}
	if c.now() < wake {
		c.sleepUntil(wake)
	}
	for c.now() < moment {
		if !mayspin {
			c.sleepUntil(moment) // a signal cut the sleep short
		}
	}
}
