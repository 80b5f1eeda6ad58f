package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// DefaultLimit is about ten times as long as the slowest experiment takes on an idle machine.
const DefaultLimit = 5 * time.Second

// longestLimit is about six times as long as the slowest experiment took in any emulator.
const longestLimit = 2 * time.Minute

// limitAfter returns the time limit of an experiment whose process took this long to begin. Where
// processes start slowly, as in an emulator, all else is slow, too.
func limitAfter(start time.Duration) time.Duration {
	return min(max(DefaultLimit, 200*start), longestLimit)
}

// Run runs an experiment in a process of its own, as the job named work (see [Jobs]). It calls
// report with each finding, and ends if report returns an error. That the experiment fails, or is
// stopped at the deadline, is a finding, too.
func Run(ctx context.Context, work string, e Experiment, report func(results.Finding) error) error {
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	limit := e.Limit
	if limit == 0 {
		limit = longestLimit // for the start of the process; then limitAfter sets the limit
	}
	timer := time.AfterFunc(limit, cancel)
	defer timer.Stop()

	p, err := proc.Self(work, e.ID)
	if err != nil {
		return err
	}
	defer p.Close()
	began := time.Now()
	failed := p.Start(limited) // nil if the experiment did not fail
	if failed == nil {
		if e.Limit == 0 && p.Begun() == nil {
			limit = limitAfter(time.Since(began))
			timer.Reset(limit)
		}
		err := forward(p, report)
		if err != nil && limited.Err() == nil { // else the kill at the deadline is the cause
			return err
		}
		failed = p.Wait()
	}
	f := results.Finding{ID: e.ID, Title: e.Title, Verdict: results.CannotTell}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		f.Class = NoResult // it may hang, or the machine is too busy
		f.Found = fmt.Sprintf("no result: stopped after %.1f s", limit.Seconds())
	case failed != nil:
		why, _, _ := strings.Cut(failed.Error(), "\n")
		f.Class = Fails
		f.Found = "fails: " + why
	default:
		return nil
	}
	return report(f)
}

// forward calls report with each finding that the process reports.
func forward(p *proc.Process, report func(results.Finding) error) error {
	for {
		var f results.Finding
		err := p.Report(&f)
		if errors.Is(err, io.EOF) && !errors.Is(err, proc.ErrNotBegun) {
			return nil // the process has reported all
		}
		if err != nil {
			return err
		}
		if n, ok := f.Value.(float64); ok && n == math.Trunc(n) {
			f.Value = int64(n) // JSON decodes every number as a float
		}
		if err := report(f); err != nil {
			return err
		}
	}
}
