package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/scenarios/check"
)

type checkFlags struct {
	options        check.Options
	server, client bool
	stdin          string
	expectExit     int
	expected       expectedFailures
	reasons        map[string]string // why nothing could be judged; the first situation by reason
	assertFlags
	sharedFlags
}

func (f *checkFlags) register(cmd *cobra.Command) {
	cmd.Long += "\n\nThe situations that --only takes:" +
		"\n- of a program: " + strings.Join(situations(catalogue.Program), ", ") +
		"\n- of a server: " + strings.Join(situations(catalogue.Server), ", ") +
		"\n- of a client, what its server does: " +
		strings.Join(situations(catalogue.Client), ", ")
	flags := cmd.Flags()
	o := &f.options
	flags.BoolVar(&f.server, "server", false,
		"it is a server that speaks over its stdin and stdout")
	flags.BoolVar(&f.client, "client", false,
		`it is a client: "{}" in its arguments becomes the command of a server`)
	flags.StringSliceVar(&o.Only, "only", nil, "try these situations alone, as listed above")
	names := append(situations(catalogue.Program), situations(catalogue.Server)...)
	complete(cmd, map[string][]string{"only": append(names, situations(catalogue.Client)...)})
	flags.StringVar(&o.Framing, "framing", "",
		"how a server's messages are told apart (default found out)")
	flags.StringVar(&o.Tool, "tool", "",
		"a tool of an MCP server that returns the text that it is given, or makes as much as a "+
			"number says (default echo, if there is one)")
	flags.StringVar(&o.Arg, "arg", "",
		"the argument of that tool which takes the text or the number (default its first)")
	flags.StringVar(&f.stdin, "stdin", "", "a file, the input of a filter (default none)")
	flags.BoolVar(&o.Deterministic, "deterministic", false,
		"it fails where two runs do not write the same")
	addCount(cmd, &f.expectExit, "expect-exit", countFlag{most: 255},
		"the exit status of a program when its output is a file "+
			"(default any, if it writes something)")
	flags.StringVar(&f.expected.file, "expected-failures", "",
		"a file with a situation per line that is known to fail: exit 3 if another fails, "+
			"or if one of these no longer does")
	addDuration(cmd, &o.Timeout, "timeout", 5*time.Second,
		"deadline of one start; a client has to notice what is wrong within it; a server that "+
			"does nothing is waited for as long, but at least 10s; the search for a server's "+
			"limit ends after it, but not before 20s")
	addChoice(cmd, &o.Protocol, "protocol", check.Protocols(),
		"what a client reads: messages of MCP, or lines of JSON of any kind")
	flags.StringVar(&o.Config, "config", "",
		`a configuration file of a client: its arguments name it as "{config}", and "{}" in the `+
			`file becomes the command of a server`)
	flags.StringVar(&o.Expect, "expect", "", "a text that a client prints when all is well")
	flags.BoolVar(&f.detail, "detail", false, "print what is right, too")
	f.registerAsserts(cmd,
		"exit 3 unless this holds, such as 'fails<1' or 'slow<1', and 4 where it cannot be told")
	f.sharedFlags.register(cmd, noMaxTime, stopAfter, view.FormatJUnit)
	cmd.MarkFlagsMutuallyExclusive("server", "client")
	for _, ofServer := range []string{"framing", "tool", "arg"} {
		cmd.MarkFlagsMutuallyExclusive(ofServer, "client")
	}
	cmd.MarkFlagsMutuallyExclusive("expect-exit", "server", "client")
}

// situations returns the names of the situations in which the command "check" tests a program, a
// server or a client.
func situations(side catalogue.Side) []string {
	var names []string
	for _, s := range catalogue.For(side) {
		names = append(names, s.Name)
	}
	return names
}

func (f *checkFlags) run(cmd *cobra.Command, command []string) error {
	f.reasons = map[string]string{}
	o := &f.options
	o.Command = command
	if cmd.Flags().Changed("expect-exit") {
		o.ExpectExit = &f.expectExit
	}
	if f.stdin != "" {
		input, err := interruptibly(cmd.Context(), f.stdin, os.ReadFile)
		if err != nil {
			return err
		}
		o.Stdin = input
	}
	side, checkSide := catalogue.Program, check.Program
	switch {
	case f.server:
		side, checkSide = catalogue.Server, check.Server
	case f.client:
		side, checkSide = catalogue.Client, check.Client
	}
	for _, name := range o.Only {
		like := near(name, situations(side))
		if len(like) > 0 && !slices.Contains(like, name) {
			return usageError(unknownName("situation", name, like))
		}
	}
	if err := o.Validate(side); err != nil {
		return usageError(err)
	}
	if err := f.expected.read(cmd, side); err != nil {
		return err
	}
	if o.Config != "" {
		template, err := interruptibly(cmd.Context(), o.Config, os.ReadFile)
		if err != nil {
			return err
		}
		o.Template = template
	}
	incomplete := false // whether --max-time was over before all situations were tried
	err := f.do(cmd, nil, task{
		limit: f.maxTime,
		measure: func(ctx context.Context, s *session) error {
			o.Run = s.run
			o.Observe = s.progress.step
			check.Adopt()
			keep := func(line results.Line) error { return f.keep(s, line) }
			err := withAdvice(checkSide(ctx, *o, keep), false)
			incomplete = errors.Is(err, errMaxTime)
			if leftBehind, ok := check.EndAdopted(*o, side); ok {
				err = errors.Join(err, keep(leftBehind))
			}
			return err
		},
		show: func(found *results.Set) error {
			if side != catalogue.Client {
				warnOfHiddenFlush(cmd, command)
			}
			shown := viewOptions(cmd, f.detail)
			return view.WriteFindings(cmd.OutOrStdout(), f.format, found, shown)
		},
		gate: func(found *results.Set) error {
			err := checkGate(found.Findings, incomplete)
			return allGates(f.judge(cmd, f.format, found), err)
		},
	})
	if errors.Is(err, errNothingInTime) {
		return &statusError{exitInconclusive, err}
	}
	return err
}

// warnOfHiddenFlush names an environment variable that hides that the command does not flush.
func warnOfHiddenFlush(cmd *cobra.Command, command []string) {
	if text := (check.Options{Command: command}).FlushWarning(); text != "" {
		writeNotice(cmd.ErrOrStderr(), "pipebench: "+text)
	}
}

// keep writes one record. If the record is a finding, the result of one check, keep first compares
// it with the list of --expected-failures, and shows it.
func (f *checkFlags) keep(s *session, line results.Line) error {
	found, isFinding := line.(results.Finding)
	if !isFinding {
		return s.Write(line)
	}
	found = f.expected.judge(found)
	s.progress.note(view.Escape(f.noteOf(found)))
	return s.Write(found)
}

// noteOf returns the line that is shown when a check has come to a finding. It gives a reason for
// which several situations could not be judged once.
func (f *checkFlags) noteOf(found results.Finding) string {
	_, name, _ := strings.Cut(found.Name(), "/")
	text := fmt.Sprintf("%s: %s, ", name, view.VerdictText(string(found.Verdict)))
	first, known := f.reasons[found.Found]
	if known {
		return text + "as " + first
	}
	if found.Verdict == results.CannotTell {
		f.reasons[found.Found] = name
	}
	return text + found.Found
}

// checkGate returns an error if the program failed, if nothing could be judged, or if --max-time
// was over before everything was checked.
func checkGate(found []results.Finding, incomplete bool) error {
	if n := len(view.FailedFindings(found)); n > 0 {
		return &statusError{exitGate, fmt.Errorf("%s failed", results.FormatCount(n, "check"))}
	}
	if len(found) > 0 && view.AllUndecided(found) {
		return &statusError{exitInconclusive, errors.New("nothing could be judged")}
	}
	if incomplete {
		err := errors.New("--max-time was over before all was judged: give it more time")
		return &statusError{exitInconclusive, err}
	}
	return nil
}
