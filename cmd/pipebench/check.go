package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/check"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
	"github.com/pipebench/pipebench/syspipe/script"
)

// checkFlags are what check was asked for, as it was typed.
type checkFlags struct {
	options        check.Options
	server, client bool
	stdin          string
	assertFlags
	sharedFlags
}

func (f *checkFlags) register(cmd *cobra.Command) {
	flags, o := cmd.Flags(), &f.options
	flags.BoolVar(&f.server, "server", false, "it is a server that speaks over its stdin and stdout")
	flags.BoolVar(&f.client, "client", false, `it is a client: "{}" in its arguments becomes the command of a server`)
	flags.StringSliceVar(&o.Only, "only", nil, "try these situations alone. Of a program:\n"+situations(catalogue.Program)+
		"\nof a server:\n"+situations(catalogue.Server)+"\nof a client, what its server does:\n"+situations(catalogue.Client)+"\n")
	flags.StringVar(&f.stdin, "stdin", "", "a file, the input of a filter (default none)")
	flags.BoolVar(&o.Deterministic, "deterministic", false, "it fails where two runs do not write the same")
	flags.DurationVar(&o.Timeout, "timeout", 5*time.Second, "of one start; a client has to notice in it what is wrong")
	flags.StringVar(&o.Config, "config", "", `of a client, a file that "{config}" in its arguments becomes a copy of, with "{}" replaced`)
	flags.StringVar(&o.Expect, "expect", "", "a text that a client prints when all is well")
	flags.BoolVar(&f.detail, "detail", false, "print what is right, too")
	f.registerAsserts(cmd, "exit 3 unless this holds, such as 'fails<1' or 'slow<1', and 4 where it cannot be told")
	f.sharedFlags.register(cmd, 0, stopAfter, view.FormatJUnit)
	cmd.MarkFlagsMutuallyExclusive("server", "client")
}

// situations lists the names for the help of a flag.
func situations(side catalogue.Side) string {
	lines := []string{" "}
	for _, m := range catalogue.Situations(side) {
		if last := &lines[len(lines)-1]; len(*last)+len(m.Name) < 72 {
			*last += " " + m.Name
		} else {
			lines = append(lines, "  "+m.Name)
		}
	}
	return strings.Join(lines, "\n")
}

func (f *checkFlags) run(cmd *cobra.Command, command []string) {
	o := &f.options
	o.Command = command
	if f.stdin != "" {
		o.Stdin = script.Must(interruptibly(cmd.Context(), f.stdin, os.ReadFile))
	}
	side, do := catalogue.Program, check.Program
	if f.server {
		side, do = catalogue.Server, check.Server
	} else if f.client {
		side, do = catalogue.Client, check.Client
	}
	script.Check(usage(o.Validate(side)))
	f.measure(cmd, task{
		maxTime: f.maxTime,
		work: func(ctx context.Context, s *session) error {
			o.Run, o.Observe = s.run, s.progress.step
			return unfit(do(ctx, *o, func(l results.Line) error {
				if c, ok := l.(results.Check); ok {
					s.progress.note(view.Escape(fmt.Sprintf("%s: %s, %s", c.Name, view.VerdictText(c.Verdict), view.CheckText(c))))
				}
				return s.Write(l)
			}))
		},
		show: func(_, own *results.Set) error {
			return view.WriteChecks(cmd.OutOrStdout(), f.format, own, viewOptions(cmd, f.detail))
		},
		gate: func(_ error, own *results.Set) error {
			gate := f.judge(cmd, f.format, own)
			if failed := view.FailedChecks(own.Checks); len(failed) > 0 {
				return allGates(gate, &statusError{exitGate, fmt.Errorf("%s failed", results.FormatCount(len(failed), "check"))})
			}
			if view.NothingTold(own.Checks) {
				return allGates(gate, errors.New("no situation could be told; see what was found of each"))
			}
			return gate
		},
	})
}
