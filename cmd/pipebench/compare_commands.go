package main

import (
	"bytes"
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
	"github.com/pipebench/pipebench/scenarios/drive"
	"github.com/pipebench/pipebench/scenarios/turns"
)

// commandWords splits a command as a shell does. If all of text is the name of a file, that is the
// command, even with spaces.
func commandWords(text string) ([]string, error) {
	if _, err := os.Stat(text); err == nil {
		return []string{text}, nil
	}
	p := shellwords.NewParser()
	words, err := p.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("it cannot be split as a shell does: quote ( and ) and what else "+
			"means something to a shell, or have one run it, as in \"sh -c '%s'\"", text)
	}
	if p.Position >= 0 {
		return nil, fmt.Errorf("more than one command, or a redirection: "+
			"have a shell run it, as in \"sh -c '%s'\"", text)
	}
	return words, nil
}

// argvOf returns the words of a command, followed by the words that both commands get.
func argvOf(word string, more []string) ([]string, error) {
	words, err := commandWords(word)
	if err != nil {
		return nil, usage(fmt.Errorf("%q is no command: %w", word, err))
	}
	if len(words) == 0 {
		return nil, usage(errors.New("a command is empty"))
	}
	b, err := turns.Find(words[0])
	if err != nil {
		return nil, err
	}
	words[0] = b.Path
	return append(words, more...), nil
}

// compareCommands runs two commands in turns and compares them: builds of pipebench, Go tests with
// benchmarks, or any programs.
func (f *compareFlags) compareCommands(
	cmd *cobra.Command, oldName, newName string, more []string,
) error {
	if turns.IsBuild(oldName) && turns.IsBuild(newName) && !f.asksForProgram(cmd) {
		if err := refuseFlags(cmd, recordFlags, "is for the runs: give it behind --"); err != nil {
			return err
		}
		return f.compareBuilds(cmd, oldName, newName, more)
	}
	if err := refuseFlags(cmd, buildFlags, "is for two builds of pipebench"); err != nil {
		return err
	}
	if err := refuseFlags(cmd, []string{"assert"}, "is not for two programs"); err != nil {
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
	if sameProgram(old, new) {
		if err := f.tellSame(cmd, oldName, newName); err != nil {
			return err
		}
	}
	if hasTestFlag(old, "bench") && hasTestFlag(new, "bench") {
		return f.compareGoTests(cmd, old, new)
	}
	if !f.drive {
		err := errors.Join(startsNothing(oldName, old), startsNothing(newName, new))
		if err != nil {
			return err
		}
	}
	programs := &turns.Programs{
		OldName: oldName, NewName: newName,
		CountOnly: f.counts, MayDiffer: f.different, AreServers: f.drive,
	}
	return f.comparePrograms(cmd, programs, old, new)
}

// sameProgram reports whether two commands run one program, or a copy of it, with the same words.
// One file under two names may be two programs, as those of busybox are, and two copies of a script
// may run what lies beside each.
func sameProgram(old, new []string) bool {
	if !slices.Equal(old[1:], new[1:]) {
		return false
	}
	oldInfo, _ := os.Stat(old[0])
	newInfo, _ := os.Stat(new[0])
	if os.SameFile(oldInfo, newInfo) {
		return filepath.Base(old[0]) == filepath.Base(new[0])
	}
	isScript, _ := begins(old[0], "#!")
	return !isScript && sameContent(old[0], new[0])
}

// tellSame tells that both commands are the same program. For a gate this is an error.
func (f *compareFlags) tellSame(cmd *cobra.Command, oldName, newName string) error {
	what := fmt.Sprintf("%s and %s are the same program, byte for byte", oldName, newName)
	if oldName == newName {
		what = oldName + " is given twice"
	}
	if f.isGate() {
		return usage(errors.New(what + ": was the old version checked out?"))
	}
	f.say(cmd, "%s: whatever is found is noise", what)
	return nil
}

// hasTestFlag reports whether the words of a command have one of the named flags of Go test
// binaries: -test.bench, or --test.bench=Name.
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

// startsNothing returns an error if a command is a Go test binary that is not told what to do: the
// comparison would time its start alone.
func startsNothing(name string, argv []string) error {
	if !turns.IsGoTest(argv[0]) || hasTestFlag(argv, "bench", "run", "list", "fuzz") {
		return nil
	}
	return usage(fmt.Errorf("%s is a Go test binary, and no benchmark was asked for: "+
		"add  -- -test.bench .  (or -test.run . for its tests)", name))
}

// Limits of a comparison of builds. Without --pairs it runs usualPairs pairs, or more while they
// take no longer than spendOnPairs. A pair of many cells takes half a minute.
const (
	spendOnPairs  = 45 * time.Second
	usualPairs    = 20
	timeForBuilds = 30 * time.Minute
)

// compareBuilds compares two builds of pipebench, which measure the same cells.
func (f *compareFlags) compareBuilds(
	cmd *cobra.Command, oldName, newName string, runFlags []string,
) error {
	runFlags = append([]string{"--samples", "12"}, runFlags...)
	if err := turns.CheckFlags(runFlags); err != nil {
		return usage(err)
	}
	for _, name := range f.metrics {
		if _, err := stat.MetricByName(name); err != nil {
			return usage(err)
		}
	}
	if f.out == "-" {
		return usage(errors.New("the runs of two builds need a folder: name one by --out"))
	}
	old, err := turns.Find(oldName)
	if err != nil {
		return err
	}
	new, err := turns.Find(newName)
	if err != nil {
		return err
	}
	if sameProgram([]string{old.Path}, []string{new.Path}) {
		f.say(cmd, "pipebench: both binaries are the same program: whatever is found is noise")
	}
	plan := f.plan(timeForBuilds)
	plan.Pairs = f.pairs
	if f.pairs == 0 {
		plan.Pairs = usualPairs
		plan.Spend = spendOnPairs
	}
	var builds *turns.Builds
	t := f.contestTask(cmd, func(ctx context.Context, s *session) (*stat.Comparison, error) {
		builds, err = turns.OpenBuilds(old, new, s.dir)
		if err != nil {
			return nil, err
		}
		builds.Flags = runFlags
		builds.Seed = f.seed
		s.kept = []string{turns.OldFile, turns.NewFile}
		c, err := turns.Run(ctx, builds, f.observed(cmd, s, plan))
		return c, errors.Join(usageOfRun(err), builds.Close())
	})
	changes := t.gate
	t.gate = func(found *results.Set) error {
		after := results.Merge(builds.After...)
		return allGates(changes(found), f.judge(cmd, f.format, after))
	}
	return f.do(cmd, nil, t)
}

// usageOfRun gives err the exit code of a usage error if a build's run command ended with that
// code.
func usageOfRun(err error) error {
	failed, ok := errors.AsType[*turns.FailedError](err)
	if ok && failed.Code == exitUsage {
		return usage(err)
	}
	return err
}

// compareGoTests compares two Go test binaries by their benchmarks.
func (f *compareFlags) compareGoTests(cmd *cobra.Command, old, new []string) error {
	if err := refuseFlags(cmd, ownFlags, "is not for Go tests: leave it out"); err != nil {
		return err
	}
	tests := &turns.GoTests{Old: old, New: new}
	t := f.contestTask(cmd, func(ctx context.Context, s *session) (*stat.Comparison, error) {
		c, err := turns.Run(ctx, tests, f.observed(cmd, s, f.plan(turns.DefaultMaxTime)))
		if errors.Is(err, turns.ErrNoBenchmark) {
			err = usage(err)
		}
		return c, err
	})
	return f.do(cmd, nil, t)
}

// checkInput reports that the file for standard input is not there.
func (f *compareFlags) checkInput() error {
	if f.stdin == "" {
		return nil
	}
	if _, err := os.Stat(f.stdin); err != nil {
		return usage(fmt.Errorf("--stdin %s: no such file%s", f.stdin, likeFile(f.stdin)))
	}
	return nil
}

// comparePrograms compares two commands by what is counted and timed when they are started.
func (f *compareFlags) comparePrograms(
	cmd *cobra.Command, programs *turns.Programs, old, new []string,
) error {
	var noInstructions error // why they cannot be counted
	if err := f.checkInput(); err != nil {
		return err
	}
	if f.drive {
		refused := []string{"stdin", "counts", "instructions"}
		err := refuseFlags(cmd, refused,
			"is not for servers: leave it out, --drive compares the time per message")
		if err != nil {
			return err
		}
		programs.Old, programs.New = driven(old), driven(new)
	} else {
		programs.Input = f.stdin
		folder, err := os.MkdirTemp("", "pipebench-compare-")
		if err != nil {
			return fmt.Errorf("a folder for what the commands print: %w", err)
		}
		defer os.RemoveAll(folder)
		programs.Old = turns.NewFilter(old, f.stdin, folder)
		programs.New = turns.NewFilter(new, f.stdin, folder)
		if f.instructions {
			noInstructions = programs.CountInstructions(old, new, f.stdin, folder)
		}
	}
	t := f.contestTask(cmd, func(ctx context.Context, s *session) (*stat.Comparison, error) {
		c, err := programs.Run(ctx, f.observed(cmd, s, f.plan(turns.DefaultMaxTime)))
		if c != nil && noInstructions != nil {
			c.Notes = append(c.Notes, "instructions are unsupported: "+noInstructions.Error())
		}
		return c, err
	})
	return f.do(cmd, nil, t)
}

// plan returns what the flags ask for.
func (f *compareFlags) plan(usual time.Duration) turns.Plan {
	p := turns.Plan{MaxTime: usual, Seed: f.seed}
	p.Options.Metrics = f.metrics
	p.Gated = f.isGate()
	if f.failAbove > 0 {
		p.Options.Tolerance = min(f.failAbove, stat.Tolerance)
	}
	if f.maxTime > 0 {
		p.MaxTime = f.maxTime
	}
	return p
}

// observed returns the plan with an observer. It shows the progress of the pairs, and warns if a
// pair takes so long that there is no time for a verdict.
func (f *compareFlags) observed(cmd *cobra.Command, s *session, p turns.Plan) turns.Plan {
	began := time.Now()
	f.pace.most = p.Pairs
	p.Observe = func(pair int, took time.Duration) {
		f.pace.pairs = pair
		f.pace.spent = time.Since(began)
		f.pace.took += took
		took = took.Round(time.Millisecond)
		if p.Pairs > 0 {
			s.progress.finish(max(p.Pairs, pair), took.String())
		} else {
			s.progress.step(fmt.Sprintf("pair %d: %s", pair, took))
		}
		if pair == 1 && f.pace.timeFor(stat.LeastPairs) > p.MaxTime {
			f.say(cmd, "%s", f.pace.advice(stat.LeastPairs))
		}
	}
	return p
}

// contestTask returns the task that compares two commands. It keeps a finding for each figure, and
// the values as benchmark text.
func (f *compareFlags) contestTask(
	cmd *cobra.Command, run func(context.Context, *session) (*stat.Comparison, error),
) task {
	var c *stat.Comparison
	return task{
		measure: func(ctx context.Context, s *session) error {
			var err error
			c, err = run(ctx, s)
			if c == nil {
				return err
			}
			return errors.Join(err, s.keepComparison(c))
		},
		show: func(*results.Set) error {
			if c == nil {
				return view.ErrNothing
			}
			if err := f.checkMetrics(c); err != nil {
				return err
			}
			c.Limit = max(f.failAbove, 0)
			o := viewOptions(cmd, f.detail)
			return view.WriteComparison(cmd.OutOrStdout(), c, f.format, o)
		},
		gate: func(*results.Set) error {
			if c.Different != "" && !f.different {
				return &statusError{exitInconclusive, errors.New(c.Different)}
			}
			return f.judgeChanges(c)
		},
	}
}

// keepComparison keeps a finding for each figure, and the values as benchmark text.
func (s *session) keepComparison(c *stat.Comparison) error {
	for _, finding := range view.ComparisonFindings(c) {
		finding.Run = s.run
		finding.Time = time.Now().UTC()
		if err := s.Write(finding); err != nil {
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
	err := results.ReplaceFile(filepath.Join(s.dir, benchFile), text.Bytes(), 0o666)
	if err != nil {
		return fmt.Errorf("keep the comparison: %w", err)
	}
	s.kept = append(s.kept, benchFile)
	return nil
}

// driven returns a function that starts a server, sends it messages, and measures the time per
// message.
func driven(argv []string) turns.Starter {
	return func(ctx context.Context) (turns.Start, error) {
		s, err := driveOnce(ctx, argv)
		if err != nil && ctx.Err() != nil {
			return s, fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
		}
		return s, err
	}
}

func driveOnce(ctx context.Context, argv []string) (turns.Start, error) {
	const size = 4 << 10 // bytes of a message
	d, err := drive.Open(ctx, drive.Options{Command: argv, Budget: 200 * time.Millisecond})
	if err != nil && ctx.Err() != nil {
		return turns.Start{}, fmt.Errorf("%w; it answered no request: if it is no server, "+
			"leave out --drive", context.Cause(ctx))
	}
	if err != nil {
		return turns.Start{}, err
	}
	defer d.Close()
	var s turns.Start
	_, err = d.Sweep(ctx, []int{size}, func(line results.Line) error {
		t, ok := line.(results.Target)
		if !ok || t.Size != size {
			return nil
		}
		if !t.Served() {
			return fmt.Errorf("%s: a message of %s: %s",
				argv[0], results.FormatSize(size), view.VerdictText(t.Verdict))
		}
		s.Wall = stat.MedianTime(t.Samples)
		s.CPU = stat.ServerCPU(t.Samples)
		return nil
	})
	return s, err
}
