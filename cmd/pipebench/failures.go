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

// probeNames are what --only can name.
func probeNames() []string {
	var names []string
	for _, v := range append(failureValues(), claimValues()...) {
		names = append(names, v.name+"\t"+v.what)
	}
	return names
}

// runFailures reproduces the ways in which stdio fails, or shows what was found.
func (f *probeFlags) runFailures(cmd *cobra.Command, files []string) error {
	var chosen []failures.Failure
	for _, name := range f.only {
		failure, err := failures.Find(name)
		if err != nil {
			return usage(err)
		}
		chosen = append(chosen, failure)
	}
	if len(chosen) == 0 {
		chosen = failures.All()
	}
	show := func(set *results.Set) error {
		return f.showArea(cmd, set, set.FindingsOf(results.AreaFailure))
	}
	if len(files) > 0 {
		set, err := readFiles(cmd, files...)
		if err != nil {
			return err
		}
		return show(set)
	}
	s, err := openSession(cmd, &f.sharedFlags)
	if err != nil {
		return err
	}
	measured := s.measure(f.maxTime, func(ctx context.Context) error {
		return s.reproduce(ctx, chosen)
	})
	return s.finish(measured, ending{
		show: func(_, own *results.Set) error { return show(own) },
		gate: func(own *results.Set) error {
			if view.AllUndecided(own.FindingsOf(results.AreaFailure)) {
				return errors.New("this system can do nothing of that")
			}
			return nil
		},
	})
}

// reproduce makes the failures happen. One that cannot be made does not keep the next from its
// turn.
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
			return s.keepFinding(f)
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

// keepLine writes a line of this run. What experiments conclude is written as findings.
func (s *session) keepLine(l results.Line) error {
	if f, ok := l.(results.Finding); ok {
		return s.keepFinding(f)
	}
	return s.Write(l)
}

// showArea prints the findings of one area.
func (f *probeFlags) showArea(cmd *cobra.Command, set *results.Set, own []results.Finding) error {
	only := &results.Set{Environments: set.Environments, Findings: own, Problems: set.Problems}
	o := viewOptions(cmd, f.detail)
	return view.WriteFindings(cmd.OutOrStdout(), f.format, only, o)
}

// machineLook is how long probe --machine watches what others do on this machine.
const machineLook = 2 * time.Second

// runMachine looks for what disturbs measurements on this machine, or shows what was found.
func (f *probeFlags) runMachine(cmd *cobra.Command, files []string) error {
	if len(files) > 0 {
		set, err := readFiles(cmd, files...)
		if err != nil {
			return err
		}
		return f.showArea(cmd, set, set.FindingsOf(results.AreaMachine))
	}
	s, err := openSession(cmd, &f.sharedFlags)
	if err != nil {
		return err
	}
	looked := 0
	measured := s.measure(f.maxTime, func(ctx context.Context) error {
		before := machine.ReadUsage()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(machineLook):
		}
		meanwhile := machine.ReadUsage().Since(before)
		looked = len(machine.Checks()) + 1 // and what others do
		for _, fault := range append(meanwhile.Faults(), machine.Faults(s.env)...) {
			if err := s.keepFinding(fault.Finding()); err != nil {
				return err
			}
		}
		return nil
	})
	return s.finish(measured, ending{
		show: func(_, own *results.Set) error {
			found := own.FindingsOf(results.AreaMachine)
			f.say(cmd, "checked %s: %s", results.FormatCount(looked, "thing"),
				results.FormatCount(len(found), "problem"))
			if len(found) == 0 {
				if f.format == view.FormatTable {
					_, err := fmt.Fprintln(cmd.OutOrStdout(), "nothing here disturbs measurements")
					return err
				}
				return view.Write(cmd.OutOrStdout(), own, f.format, viewOptions(cmd, f.detail))
			}
			return f.showArea(cmd, own, found)
		},
	})
}
