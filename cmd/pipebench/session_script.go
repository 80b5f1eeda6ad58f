package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe/script"
)

// A task is what a command does in a session, and what it makes of the records. Work, show and gate
// are scripts; commands that are written plainly use openSession, measure and finish themselves.
type task struct {
	maxTime time.Duration // for the work; 0 for as long as it takes
	work    func(ctx context.Context, s *session)

	show  func(all, own *results.Set)            // prints what was found, or ends with view.ErrNothing
	bench func(all *results.Set) *results.Set    // what goes into bench.txt; nil for no such file
	gate  func(measured error, own *results.Set) // ends with what gives the exit code
}

// measure is a script. It does a task in a session of its own.
func (f *sharedFlags) measure(cmd *cobra.Command, t task) {
	s, err := openSession(cmd, f)
	script.Check(err)
	measured := s.measure(t.maxTime, func(ctx context.Context) error {
		return script.Run(func() { t.work(ctx, s) })
	})
	e := ending{bench: t.bench}
	e.show = func(all, own *results.Set) error {
		return script.Run(func() { t.show(all, own) })
	}
	if t.gate != nil {
		e.gate = func(own *results.Set) error {
			return script.Run(func() { t.gate(measured, own) })
		}
	}
	script.Check(s.finish(measured, e))
}

// demand ends a script with err unless what it demands is so.
func demand(so bool, err error) {
	if !so {
		script.Check(err)
	}
}
