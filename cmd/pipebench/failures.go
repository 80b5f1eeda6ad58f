package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/failures"
)

// runFailures reproduces ways in which stdio fails. If files are named, it shows the findings in
// them instead.
func (f *probeFlags) runFailures(cmd *cobra.Command, files []string) error {
	var chosen []failures.Failure
	for _, name := range f.only {
		failure, err := failures.Find(name)
		if err != nil {
			return usageError(err)
		}
		chosen = append(chosen, failure)
	}
	if len(chosen) == 0 {
		chosen = failures.All()
	}
	return f.do(cmd, files, task{
		limit: f.maxTime,
		measure: func(ctx context.Context, s *session) error {
			return s.reproduce(ctx, chosen)
		},
		show: func(found *results.Set) error {
			return f.showFindings(cmd, found, found.FindingsOf(results.AreaFailure))
		},
		gate: func(found *results.Set) error {
			return someDecided(found.FindingsOf(results.AreaFailure))
		},
	})
}

// reproduce makes the chosen failures happen. If one cannot be reproduced, it goes on with the
// next.
func (s *session) reproduce(ctx context.Context, chosen []failures.Failure) error {
	var errs []error
	for _, failure := range chosen {
		kept := 0
		o := failures.Options{
			Observe: func(step string) { s.progress.step(failure.Name + ": " + step) },
		}
		err := failure.Show(ctx, o, func(f results.Finding) error {
			kept++
			return s.keep(f)
		})
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
		what := failure.Name + ": " + results.FormatCount(kept, "finding")
		s.progress.finish(len(chosen), what)
	}
	return errors.Join(errs...)
}
