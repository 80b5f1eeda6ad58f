package target

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A Search looks for the size of the largest message that works, in bytes.
type Search struct {
	First  int // the size that is tried first
	Factor int // by which sizes grow until one fails
	Most   int // the largest size that is tried
	Least  int // the smallest possible size, tried if First fails; 0 if there is none

	Low  int // the largest size so far that worked; 0 if none did
	High int // the smallest size so far that failed; 0 if none did
}

// roundSizes are sizes at which programmers put limits.
var roundSizes = []int{
	1e3, 1e4, 1e5, 1e6, 5e6, 1e7, 5e7,
	4 << 10, 8 << 10, 10 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10,
	1 << 20, 2 << 20, 4 << 20, 5 << 20, 8 << 20, 10 << 20, 16 << 20, 20 << 20, 32 << 20,
	50 << 20, 64 << 20, 100 << 20,
}

// Run tries sizes until Low and High are a byte apart, the size Most works, the size Least fails,
// or the deadline has passed. A zero deadline means no time limit.
func (s *Search) Run(deadline time.Time, works func(size int) (bool, error)) error {
	size := min(s.First, s.Most)
	for deadline.IsZero() || time.Now().Before(deadline) {
		ok, err := works(size)
		if err != nil {
			return err
		}
		if ok {
			s.Low = size
		} else {
			s.High = size
		}
		allWork := s.High == 0 && s.Low >= s.Most
		found := s.High > 0 && s.High-s.Low <= 1
		switch {
		case allWork || found:
			return nil
		case s.High == 0:
			size = min(s.Factor*s.Low, s.Most)
		case s.Low == 0 && s.Least > 0:
			if size <= s.Least {
				return nil
			}
			size = s.Least
		default:
			size = s.between()
		}
	}
	return nil
}

// IsLate reports whether the time was up before any size had failed, and before the size Most had
// worked.
func (s *Search) IsLate() bool { return s.High == 0 && s.Low < s.Most }

// between returns a size between Low and High. It prefers a round size or a neighbour of one,
// because limits are often there. Otherwise it takes the middle.
func (s *Search) between() int {
	middle := math.Sqrt(float64(max(s.Low, 1)) * float64(s.High))
	distance := func(n int) float64 { return math.Abs(float64(n) - middle) }
	round := slices.Clone(roundSizes)
	slices.SortStableFunc(round, func(a, b int) int {
		return cmp.Compare(distance(a), distance(b))
	})
	for _, r := range round {
		for _, n := range []int{r, r - 1, r + 1, r - 2} {
			if s.Low < n && n < s.High {
				return n
			}
		}
	}
	return s.Low + (s.High-s.Low)/2
}
