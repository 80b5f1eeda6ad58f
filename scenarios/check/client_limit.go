package check

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/pipebench/pipebench/scenarios/internal/target"
)

const (
	largestAnswer  = 64 << 20 // bytes
	fairLimit      = 1 << 20  // bytes; a client with a lower limit fails
	searchTimeouts = 6        // how long the search may take, as a multiple of Options.Timeout
)

// findLimit searches for the largest answer with which the client still works.
func (c *clientCheck) findLimit(ctx context.Context, f *finding) error {
	if !c.good.ended || c.good.asked == 0 {
		f.cannotTell("calls no tool and ends: its limit is found by whether it does")
		return nil
	}
	var failed *visit   // the last run of the client that failed; nil if none has
	took := c.good.took // how long the last run without a failure took
	s := target.Search{First: fairLimit / 16, Factor: 4, Most: largestAnswer}
	until := time.Now().Add(searchTimeouts * f.options.Timeout)
	err := s.Run(until, func(n int) (bool, error) {
		flag := "large-answer=" + strconv.Itoa(n) // bytes
		v, err := f.visit(ctx, "--fault", flag)
		if err == nil && !v.worked() { // on a busy machine, an answer may be late once
			v, err = f.visit(ctx, "--fault", flag)
		}
		if err != nil {
			return false, err
		}
		if v.worked() {
			took = v.took
		} else {
			failed = v
		}
		return v.worked(), nil
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
		judgeLimit(f, failed, c.good.took, took, int64(s.Low), int64(s.High))
	}
	return nil
}

// judgeLimit judges a client that works with an answer of low bytes, but not with an answer of high
// bytes. The client takes smallTime for a small answer, and lowTime for one of low bytes.
func judgeLimit(f *finding, failed *visit, smallTime, lowTime time.Duration, low, high int64) {
	limit := "takes answers of " + size(low)
	if high-low > 1 {
		limit += ", but none of " + size(high)
	}
	needed := lowTime // the time for an answer of high bytes
	if low > 0 {
		// The part of the time that grows with the size of the answer; the rest is the client's
		// start.
		grows := max(lowTime-smallTime, 0)
		needed = smallTime + time.Duration(float64(grows)*float64(high)/float64(low))
	}
	switch {
	case failed.mayBeSlow(needed):
		f.cannotTell("takes answers of %s; larger ones may take longer than %v: "+
			"give it more time by --timeout", size(low), failed.took)
	case !failed.ended:
		f.fails("%s; with a larger one it waits for more than %v", limit, failed.took)
	case strings.TrimSpace(failed.said+failed.out) == "":
		f.fails("%s; after a larger one it ends with code %d and says nothing", limit, failed.code)
	case high <= fairLimit:
		f.fails("%s; a larger one ends it with code %d: %s", limit, failed.code, failed.last())
	default:
		f.ok("%s; a larger one ends it with code %d: %s", limit, failed.code, failed.last())
	}
}
