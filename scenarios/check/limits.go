package check

import "time"

// usualLimits are those of readers in use, in bytes.
var usualLimits = []int64{64 << 10, 1 << 20, 4 << 20, 8 << 20, 10 << 20, 16 << 20, 32 << 20}

// A limitSearch looks for the largest message that works, in bytes.
type limitSearch struct {
	first  int64 // size that is tried
	factor int64 // by which sizes grow until one fails
	most   int64 // the largest size that is tried

	low  int64 // the largest size so far that worked
	high int64 // the smallest that did not; 0 if there is none
}

// run tries sizes until low and high are a byte apart, the largest works, or the time is up.
// Between the two, sizes about the usual limits come first.
func (s *limitSearch) run(until time.Time, works func(n int64) (bool, error)) error {
	at := s.first
	for time.Now().Before(until) {
		ok, err := works(at)
		if err != nil {
			return err
		}
		if ok {
			s.low = at
		} else {
			s.high = at
		}
		switch {
		case s.high == 0 && s.low >= s.most, s.high > 0 && s.high-s.low <= 1:
			return nil
		case s.high == 0:
			at = min(s.factor*s.low, s.most)
		default:
			at = pivot(s.low, s.high)
		}
	}
	return nil
}

// isLate reports whether the time was up before a size failed, or the largest worked.
func (s *limitSearch) isLate() bool { return s.high == 0 && s.low < s.most }

// pivot returns a size between two: at a usual limit or beside it, else in the middle.
func pivot(low, high int64) int64 {
	for _, usual := range usualLimits {
		for _, n := range []int64{usual, usual + 1, usual - 1} {
			if low < n && n < high {
				return n
			}
		}
	}
	return (low + high) / 2
}
