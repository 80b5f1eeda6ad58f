package check

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/pipebench/pipebench/scenarios/internal/target"
)

const (
	largestAnswer = 64 << 20 // bytes
	fairLimit     = 1 << 20  // a lower limit is a fault
	searchTime    = 6        // the search's limit, in timeouts of one visit
)

// findLimit looks for the largest answer that the client takes. A size counts as too large if it
// failed twice: on a busy machine an answer may be late once.
func (c *clientCheck) findLimit(ctx context.Context, f *finding) error {
	if !c.good.ended || c.good.asked == 0 {
		f.cannotTell("calls no tool and ends: its limit is found by whether it does")
		return nil
	}
	var failed *visit
	s := target.Search{First: fairLimit / 16, Factor: 4, Most: largestAnswer}
	until := time.Now().Add(searchTime * f.o.Timeout)
	err := s.Run(until, func(n int) (bool, error) {
		v, err := f.refusesAnswer(ctx, int64(n))
		if v != nil {
			failed = v
		}
		return v == nil, err
	})
	switch {
	case err != nil:
		return err
	case s.IsLate():
		f.cannotTell("takes answers of %s; larger ones took too long to be tried",
			size(int64(s.Low)))
	case failed == nil:
		f.ok("takes answers of %s", size(int64(s.Low)))
	default:
		judgeLimit(f, failed, int64(s.Low), int64(s.High))
	}
	return nil
}

// refusesAnswer visits a server whose answers have n bytes, and returns the visit if it failed
// twice.
func (f *finding) refusesAnswer(ctx context.Context, n int64) (*visit, error) {
	var failed *visit
	for range 2 {
		v, err := f.visit(ctx, "--fault", "large-answer="+strconv.FormatInt(n, 10))
		if err != nil {
			return nil, err
		}
		if v.ended && v.code == 0 {
			return nil, nil
		}
		failed = v
	}
	return failed, nil
}

// judgeLimit judges a client that takes answers of low bytes, but not of high bytes.
func judgeLimit(f *finding, failed *visit, low, high int64) {
	limit := "takes answers of " + size(low)
	if high-low > 1 {
		limit += ", and none of " + size(high)
	}
	switch {
	case !failed.ended:
		f.fails("%s; of a larger one it waits for more than %v", limit, failed.took)
	case strings.TrimSpace(failed.said+failed.out) == "":
		f.fails("%s; of a larger one it ends with code %d and says nothing", limit, failed.code)
	case high <= fairLimit:
		f.fails("%s; a larger one ends it with code %d: %s", limit, failed.code, failed.last())
	default:
		f.ok("%s; a larger one ends it with code %d: %s", limit, failed.code, failed.last())
	}
}
