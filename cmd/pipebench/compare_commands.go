package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-shellwords"
	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/turns"
)

// commandWords splits a command into words as a shell does. If text is the path of an existing
// file, it stays one word, even with spaces.
func commandWords(text string) ([]string, error) {
	if _, err := os.Stat(text); err == nil {
		return []string{text}, nil
	}
	p := shellwords.NewParser()
	words, err := p.Parse(text)
	if err != nil || p.Position >= 0 {
		return nil, fmt.Errorf("it is not one command of words alone, without quotes that are "+
			"open, pipes or redirections: have a shell run it, as in \"sh -c '%s'\"", text)
	}
	return words, nil
}

// argvOf splits a command, which namesResults has looked at, into words, and replaces the first
// word by the path of the program. The extra arguments are added at the end.
func argvOf(command string, extra []string) ([]string, error) {
	words, err := commandWords(command)
	if err != nil {
		return nil, err
	}
	words[0], err = turns.Find(words[0])
	if err != nil {
		return nil, err
	}
	return append(words, extra...), nil
}

// compareCommands runs two commands in turns: builds of pipebench, Go tests, or other programs.
func (f *compareFlags) compareCommands(
	cmd *cobra.Command, oldName, newName string, more []string,
) error {
	areBuilds := turns.IsBuild(oldName) && turns.IsBuild(newName)
	areMeantAsPrograms := slices.ContainsFunc(programFlags, cmd.Flags().Changed)
	if areBuilds && !areMeantAsPrograms {
		if err := refuseFlags(cmd, recordFlags, "is for the runs: give it behind --"); err != nil {
			return err
		}
		return f.compareBuilds(cmd, oldName, newName, more)
	}
	isForBuilds := refuseFlags(cmd, buildFlags, "is for two builds of pipebench")
	if err := errors.Join(f.readAsserts(false), isForBuilds); err != nil {
		return err
	}
	old, err := argvOf(oldName, more)
	if err != nil {
		return err
	}
	new, err := argvOf(newName, more)
	if err != nil {
		return err
	}
	areBenchmarks := hasTestFlag(old, "bench") && hasTestFlag(new, "bench")
	if !areBenchmarks && !f.drive {
		err := errors.Join(refuseIdleTest(oldName, old), refuseIdleTest(newName, new))
		if err == nil && f.stdin == "" && f.isGate() {
			err = usageError(fmt.Errorf("a gate needs an input: --stdin FILE, or --stdin %s for "+
				"commands that read none", os.DevNull))
		}
		if err != nil {
			return err
		}
	}
	if sameProgram(old, new) {
		if err := f.noteSame(cmd, oldName, newName); err != nil {
			return err
		}
	}
	if areBenchmarks {
		return f.compareGoTests(cmd, old, new)
	}
	programs := &turns.Programs{
		OldName: oldName, NewName: newName,
		CountOnly: f.counts, MayDiffer: f.different, AreServers: f.drive,
	}
	return f.comparePrograms(cmd, programs, old, new)
}

// sameProgram reports whether two commands run the same program, or two copies of one program, with
// the same arguments.
func sameProgram(old, new []string) bool {
	if !slices.Equal(old[1:], new[1:]) {
		return false
	}
	oldInfo, _ := os.Stat(old[0])
	newInfo, _ := os.Stat(new[0])
	if os.SameFile(oldInfo, newInfo) {
		// One file may be two programs under two names, as with busybox.
		return filepath.Base(old[0]) == filepath.Base(new[0])
	}
	// Two copies of a script may do different things, because each may start a program from its own
	// folder.
	isScript, _ := fileBegins(old[0], "#!")
	return !isScript && sameContent(old[0], new[0])
}

const wasCheckedOut = "was the old version checked out?"

// noteSame notes that both commands are the same program. One name given twice is an error, if the
// comparison is a gate.
func (f *compareFlags) noteSame(cmd *cobra.Command, oldName, newName string) error {
	what := fmt.Sprintf("%s and %s are the same program, byte for byte", oldName, newName)
	if oldName == newName {
		what = oldName + " is given twice"
	}
	switch {
	case !f.isGate():
		f.say(cmd, "%s: whatever is found is noise", what)
	case oldName == newName:
		return usageError(errors.New(what + ": " + wasCheckedOut))
	default:
		f.same = what
	}
	return nil
}

// contend compares two commands, which the function run starts as a plan says. A gate of two equal
// builds passes if they run without an error.
func (f *compareFlags) contend(
	cmd *cobra.Command, run func(context.Context, turns.Plan) (*stat.Comparison, error),
) error {
	plan := f.plan(turns.DefaultMaxTime)
	if f.same == "" {
		return f.do(cmd, nil, f.contestTask(cmd,
			func(ctx context.Context, s *session) (*stat.Comparison, error) {
				return run(ctx, f.observed(s, plan))
			}))
	}
	plan.Pairs = 1
	c, err := run(cmd.Context(), plan)
	if err != nil {
		return f.gateError(err)
	}
	if err := f.checkMetrics(c); err != nil {
		return err
	}
	if c.Doubt != "" {
		return &statusError{exitInconclusive, errors.New(c.Doubt)}
	}
	f.say(cmd, "%s, so nothing got slower (if it was changed: %s)", f.same, wasCheckedOut)
	return nil
}

// hasTestFlag reports whether a command has one of the named flags of a Go test binary. The name
// "bench" stands for -test.bench.
func hasTestFlag(words []string, names ...string) bool {
	for _, word := range words {
		flag, _, _ := strings.Cut(word, "=")
		for _, name := range names {
			if flag == "-test."+name || flag == "--test."+name {
				return true
			}
		}
	}
	return false
}

// refuseIdleTest returns an error for a Go test binary without a flag that says what to run.
func refuseIdleTest(name string, argv []string) error {
	if !turns.IsGoTest(argv[0]) || hasTestFlag(argv, "bench", "run", "list", "fuzz") {
		return nil
	}
	return usageError(fmt.Errorf("%s is a Go test binary, and no benchmark was asked for: "+
		"add  -- -test.bench .  (-bench is for go test; or -test.run . for its tests)", name))
}

// Limits of a comparison of builds, which run in pairs.
const (
	spendOnPairs  = 45 * time.Second // at least, without --pairs
	usualPairs    = 20               // at least, without --pairs
	timeForBuilds = 30 * time.Minute // at most, without --max-time
)

// compareBuilds lets two builds of pipebench measure by the command "run" with runFlags, and
// compares their results.
func (f *compareFlags) compareBuilds(
	cmd *cobra.Command, oldName, newName string, runFlags []string,
) error {
	runFlags = append([]string{"--samples", "12"}, runFlags...) // --samples in runFlags wins
	if err := f.readAsserts(true); err != nil {
		return err
	}
	if err := f.checkMetrics(&stat.Comparison{Names: stat.CellMetrics()}); err != nil {
		return err
	}
	if f.out == "-" {
		return usageError(errors.New("the runs of two builds need a folder: name one by --out"))
	}
	old, err := turns.Find(oldName)
	if err != nil {
		return err
	}
	new, err := turns.Find(newName)
	if err != nil {
		return err
	}
	if sameProgram([]string{old}, []string{new}) {
		f.say(cmd, "pipebench: both binaries are the same program: whatever is found is noise")
	}
	plan := f.plan(timeForBuilds)
	plan.Pairs = f.pairs
	if f.pairs == 0 {
		plan.Pairs = usualPairs
		plan.Spend = spendOnPairs
	}
	f.pace.better = " or fewer cells (in the words behind --)"
	var builds *turns.Builds
	t := f.contestTask(cmd, func(ctx context.Context, s *session) (*stat.Comparison, error) {
		var err error
		builds, err = turns.OpenBuilds(oldName, newName, s.dir)
		if err != nil {
			return nil, err
		}
		builds.Flags = runFlags
		builds.Seed = f.seed
		s.kept = []string{turns.OldFile, turns.NewFile}
		c, err := turns.Run(ctx, builds, f.observed(s, plan))
		failed, ok := errors.AsType[*turns.FailedError](err)
		if ok && failed.Code == exitUsage { // a build refused runFlags
			err = usageError(err)
		}
		return c, errors.Join(err, builds.Close())
	})
	judgeChanges := t.gate
	t.gate = func(found *results.Set) error {
		after := results.Merge(builds.After...)
		return allGates(judgeChanges(found), f.judge(cmd, f.format, after))
	}
	return f.do(cmd, nil, t)
}

// compareGoTests compares two Go test binaries by their benchmarks.
func (f *compareFlags) compareGoTests(cmd *cobra.Command, old, new []string) error {
	if err := refuseFlags(cmd, programFlags, "is not for Go tests: leave it out"); err != nil {
		return err
	}
	f.pace.better = " or fewer benchmarks, or a shorter -test.benchtime"
	if f.same != "" {
		old = append(old, "-test.benchtime=1x")
		new = old
	}
	tests := &turns.GoTests{Old: old, New: new}
	return f.contend(cmd, func(ctx context.Context, p turns.Plan) (*stat.Comparison, error) {
		c, err := turns.Run(ctx, tests, p)
		if err == nil && len(c.Names) == 0 {
			return c, usageError(errors.New(c.WhyNothing()))
		}
		if errors.Is(err, turns.ErrNoBenchmark) {
			return c, usageError(err)
		}
		return c, err
	})
}

// plan returns the plan that the flags ask for. Without --max-time, its time limit is usualTime.
func (f *compareFlags) plan(usualTime time.Duration) turns.Plan {
	p := turns.Plan{
		MaxTime: cmp.Or(f.maxTime, usualTime),
		Seed:    f.seed,
		Gated:   f.isGate(),
		Options: stat.CompareOptions{Metrics: f.metrics},
	}
	if f.failAbove > 0 {
		p.Options.Tolerance = min(f.failAbove, stat.Tolerance)
	}
	return p
}

// observed returns the plan p with a function that shows the progress after each pair of runs.
func (f *compareFlags) observed(s *session, p turns.Plan) turns.Plan {
	began := time.Now()
	f.pace.wanted = p.Pairs
	f.pace.noise = cmp.Or(s.load(), "this noise")
	p.Observe = func(pair int, took time.Duration) {
		if pair == 2 { // the first shows most mistakes
			s.warnOfLoad()
		}
		f.pace.pairs = pair
		f.pace.sinceBegin = time.Since(began)
		f.pace.inPairs += took
		took = took.Round(time.Millisecond)
		if p.Pairs > 0 {
			s.progress.finish(max(p.Pairs, pair), took.String())
		} else { // nobody knows how many pairs there will be
			s.progress.step(fmt.Sprintf("pair %d: %s", pair, took))
		}
	}
	return p
}

// contestTask returns the task that compares two commands by calling the function run. Even
// together with an error, run returns the comparison so far, or nil if there is none.
func (f *compareFlags) contestTask(
	cmd *cobra.Command, run func(context.Context, *session) (*stat.Comparison, error),
) task {
	var c *stat.Comparison
	isFailed := false
	return task{
		warnsItself: true, // after two pairs; counts need none
		measure: func(ctx context.Context, s *session) error {
			var err error
			c, err = run(ctx, s)
			err = f.gateError(err)
			if c == nil {
				return err
			}
			isFailed = err != nil
			if isFailed && ctx.Err() == nil {
				c.Doubt = err.Error()
			}
			return errors.Join(err, s.keepComparison(c))
		},
		show: func(*results.Set) error {
			if c == nil || isFailed && len(c.Changes) == 0 {
				return view.ErrNothing // the error of measure says why
			}
			if err := f.checkMetrics(c); err != nil {
				return err
			}
			if len(c.Changes) == 0 {
				return f.judgeChanges(c)
			}
			c.Limit = max(f.failAbove, 0)
			if !f.isGate() && !c.Decided() { // a gate says it
				c.Notes = append(c.Notes, f.pace.advice(c.PairsFor(stat.Tolerance)))
			}
			o := viewOptions(cmd, f.detail)
			return view.WriteComparison(cmd.OutOrStdout(), c, f.format, o)
		},
		gate: func(*results.Set) error {
			if isFailed {
				return nil // what failed decides the exit code
			}
			if c.Different != "" && !f.different {
				why := cmp.Or(c.Doubt, c.Different) // the doubt is that both fail
				return &statusError{exitInconclusive, errors.New(why)}
			}
			return f.judgeChanges(c)
		},
	}
}

// gateError gives the error of a comparison, which may be nil, the exit code of a gate: that of a
// failure if the new side alone fails, and no verdict if the time ended or the old side fails.
func (g *gateFlags) gateError(err error) error {
	_, isUp := errors.AsType[turns.TimeUp](err)
	if isUp {
		err = fmt.Errorf("%w; give it a longer --max-time%s", err, g.pace.better)
	}
	switch {
	case errors.Is(err, turns.ErrNewFails):
		return &statusError{exitGate, err}
	case g.isGate() && (isUp || errors.Is(err, turns.ErrOldFails)):
		return &statusError{exitInconclusive, err}
	}
	return err
}

// keepComparison adds the findings of a comparison to the records. It also writes the compared
// values into the session's folder, in the format of Go benchmarks.
func (s *session) keepComparison(c *stat.Comparison) error {
	for _, finding := range view.ComparisonFindings(c) {
		if err := s.keep(finding); err != nil {
			return err
		}
	}
	if s.dir == "" || len(c.Changes) == 0 {
		return nil
	}
	var text bytes.Buffer
	if err := view.WriteComparison(&text, c, view.FormatBench, view.Options{}); err != nil {
		return err
	}
	return wrap("keep the comparison", s.keepBench(text.Bytes()))
}
