package bench

import "time"

// A sharedClock reads the operating system's monotonic clock, which all
// processes share, so that one end's time means something to the other.
//
// It is Go's own clock, shifted: that costs no system call to read. The shift
// is found once, between two readings that lie closest together.
type sharedClock struct {
	base  time.Time
	shift int64
}

// calibrations is how often the clocks are read beside each other. The closest
// pair of some dozens is as close as it gets.
const calibrations = 64

func newSharedClock() (*sharedClock, error) {
	c := &sharedClock{base: time.Now()}
	best := time.Duration(1 << 62)
	for range calibrations {
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

// now is in nanoseconds since a moment that is the same for all processes.
func (c *sharedClock) now() int64 { return c.shift + int64(time.Since(c.base)) }
