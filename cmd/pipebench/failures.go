package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/failures"
)

// runFailures reproduces the ways in which stdio fails, or shows what the files hold.
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

// reproduce makes the failures happen. If it cannot make one happen, it goes on with the next.
func (s *session) reproduce(ctx context.Context, chosen []failures.Failure) error {
	var failed []error
	for _, failure := range chosen {
		kept := 0
		o := failures.Options{
			Run:     s.run,
			Observe: func(step string) { s.progress.step(failure.Name + ": " + step) },
		}
		err := failure.Show(ctx, o, func(f results.Finding) error {
			kept++
			return s.keep(f)
		})
		failed = append(failed, err)
		if ctx.Err() != nil {
			break
		}
		what := failure.Name + ": " + results.FormatCount(kept, "finding")
		s.progress.finish(len(chosen), what)
	}
	return errors.Join(failed...)
}

// keep writes a line of this run. If it is a finding, it gets the id of the run and the time.
func (s *session) keep(l results.Line) error {
	if f, ok := l.(results.Finding); ok {
		f.Run = s.run
		f.Time = time.Now().UTC()
		return s.Write(f)
	}
	return s.Write(l)
}

// showFindings prints some findings of a set.
func (f *probeFlags) showFindings(
	cmd *cobra.Command, set *results.Set, some []results.Finding,
) error {
	only := &results.Set{Environments: set.Environments, Findings: some, Problems: set.Problems}
	o := viewOptions(cmd, f.detail)
	return view.WriteFindings(cmd.OutOrStdout(), f.format, only, o)
}

// machineLook is how long probe --machine watches what others do on this machine.
const machineLook = 2 * time.Second

// machineTask looks for what disturbs measurements on this machine.
func (f *probeFlags) machineTask(cmd *cobra.Command, files []string) task {
	return task{
		limit: f.maxTime,
		measure: func(ctx context.Context, s *session) error {
			before := machine.ReadUsage()
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(machineLook):
			}
			meanwhile := machine.ReadUsage().Since(before)
			for _, fault := range append(meanwhile.Faults(), machine.Faults(s.env)...) {
				if err := s.keep(fault.Finding()); err != nil {
					return err
				}
			}
			return nil
		},
		show: func(found *results.Set) error {
			faults := found.FindingsOf(results.AreaMachine)
			if len(faults) > 0 || len(files) > 0 {
				return f.showFindings(cmd, found, faults)
			}
			if f.format != view.FormatTable {
				return f.print(cmd, found)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "nothing here disturbs measurements")
			return err
		},
	}
}
