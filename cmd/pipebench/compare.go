package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/abtest"
	"github.com/pipebench/pipebench/scenarios/doctor"
	"github.com/pipebench/pipebench/scenarios/subrun"
	"github.com/pipebench/pipebench/syspipe/script"
)

// compareFlags are what compare was asked for, as it was typed.
type compareFlags struct {
	gateFlags
	across bool
	pairs  bool
	noise  []string
	format view.Format
	quiet  bool
	detail bool
}

const allChanges = "print every figure, not what fits a screen"

func (f *compareFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.gateFlags.register(cmd)
	flags.BoolVar(&f.across, "across", false, "give verdicts between different machines, too")
	flags.BoolVar(&f.pairs, "pairs", false, "the files are those that ab left, or benchmark text of runs that took turns: compare them pair by pair")
	flags.StringSliceVar(&f.noise, "noise", nil, "files with what doctor found, besides those it kept for this user")
	registerFormat(cmd, &f.format, view.FormatBench)
	flags.BoolVar(&f.detail, "detail", false, allChanges)
	flags.BoolVar(&f.quiet, "quiet", false, "print the comparison alone: no warnings")
}

func (f *compareFlags) run(cmd *cobra.Command, paths []string) {
	compare, oldPath, newPath := f.compare, paths[0], paths[1]
	if f.pairs {
		compare = f.comparePairs
	}
	c, after := compare(cmd, oldPath, newPath)
	if len(c.Changes) == 0 {
		// what each side has instead
		demand(len(c.OnlyOld)+len(c.OnlyNew) > 0,
			errors.New("the two have none of the figures that were asked for (--metric)"))
		some := func(names []string) string {
			switch len(names) {
			case 0:
				return "none of its own"
			case 1:
				return names[0]
			}
			return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
		}
		script.Check(fmt.Errorf("no cell is in both: %s has %s, %s has %s", oldPath, some(c.OnlyOld), newPath, some(c.OnlyNew)))
	}
	script.Check(view.WriteComparison(cmd.OutOrStdout(), c, f.format, viewOptions(cmd, f.detail)))
	script.Check(allGates(f.judgeChanges(c), f.judge(cmd, f.format, after)))
}

// compare also returns what the new side's file holds, nil of benchmark text.
func (f *compareFlags) compare(cmd *cobra.Command, oldPath, newPath string) (*stat.Comparison, *results.Set) {
	before := script.Must(interruptibly(cmd.Context(), oldPath, stat.ReadDataset))
	after := script.Must(interruptibly(cmd.Context(), newPath, stat.ReadDataset))
	demand((before.Set == nil) == (after.Set == nil),
		fmt.Errorf("%s and %s are of two kinds, records and benchmark text, which name their figures differently: compare two of one kind", oldPath, newPath))
	known := f.known(cmd, slices.Concat(before.Series, after.Series))
	for _, p := range known.Problems {
		if !f.quiet {
			fmt.Fprintln(cmd.ErrOrStderr(), "pipebench:", p)
		}
	}
	before.Name, after.Name = oldPath, newPath
	c := stat.Compare(before, after, stat.CompareOptions{Noise: known.Noise, Across: f.across, Metrics: f.metrics})
	return c, after.Set
}

// known is what doctor found of the machines that the series are from: in the user's cache, and in
// the files named.
func (f *compareFlags) known(cmd *cobra.Command, series []stat.Series) *results.Set {
	paths := slices.Clone(f.noise)
	measured := stat.Filter(series, func(s stat.Series) bool { return s.Machine != "" && s.Cell != nil })
	for _, same := range stat.GroupBy(measured, func(s stat.Series) string { return s.Machine }) {
		path, err := doctor.File(same[0].Machine) // a user without a cache folder has nothing in it
		if _, missing := os.Stat(path); err == nil && missing == nil {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		return &results.Set{}
	}
	return script.Must(readResults(cmd.Context(), paths...))
}

func (f *compareFlags) comparePairs(cmd *cobra.Command, oldPath, newPath string) (*stat.Comparison, *results.Set) {
	old, oldErr := interruptibly(cmd.Context(), oldPath, stat.ReadDataset)
	new, newErr := interruptibly(cmd.Context(), newPath, stat.ReadDataset)
	if oldErr == nil && newErr == nil && old.Set == nil && new.Set == nil {
		old.Name, new.Name = oldPath, newPath
		return stat.CompareTextPairs(old, new, stat.CompareOptions{Across: f.across, Metrics: f.metrics}), nil
	}
	read := func(string) (pair [2][]*results.Set, err error) {
		pair[0], pair[1], err = abtest.Read(oldPath, newPath)
		return pair, err
	}
	pairs := script.Must(interruptibly(cmd.Context(), oldPath, read))
	before, after := pairs[0], pairs[1]
	o := stat.CompareOptions{Across: f.across, Metrics: f.metrics}
	c := comparePairs(before, after, filepath.Base(oldPath), filepath.Base(newPath), o)
	return c, results.Merge(after...)
}

// comparePairs is a script. It names the sides of a comparison of pairs.
func comparePairs(before, after []*results.Set, oldName, newName string, o stat.CompareOptions) *stat.Comparison {
	c := script.Must(stat.ComparePairs(before, after, o))
	c.Old, c.New = oldName, newName
	return c
}

// gateFlags say which comparison is good enough to go on.
type gateFlags struct {
	failAbove      float64 // a share; below 0 is no limit
	requireVerdict bool
	metrics        []string
	assertFlags    // on the new side
}

// registerFailAbove registers the gate on changes alone.
func (g *gateFlags) registerFailAbove(cmd *cobra.Command, of string) {
	g.failAbove = -1
	addParsed(cmd, &g.failAbove, "fail-above", "", parseShare, of+"exit 3 if something is established to be worse by more than this, such as 5%, and 4 if that cannot be known")
}

func (g *gateFlags) register(cmd *cobra.Command) {
	g.registerFailAbove(cmd, "")
	cmd.Flags().BoolVar(&g.requireVerdict, "require-verdict", false, "exit 4 unless every figure has a verdict")
	known := func(name string) (string, error) {
		_, err := stat.MetricByName(name)
		return name, err
	}
	addList(cmd, &g.metrics, "metric", "", each(known), "compare these alone, such as goodput,p50,wire (default all)")
	g.registerAsserts(cmd, "exit 3 unless this holds of the new side, such as 'p99<50ms@64KiB', and 4 where it cannot be told")
}

// judgeChanges turns a comparison into the command's end.
func (g *gateFlags) judgeChanges(c *stat.Comparison) error {
	if len(c.Changes) == 0 {
		return fmt.Errorf("%s and %s have nothing in common: %w", c.Old, c.New, view.ErrNothing)
	}
	if g.failAbove >= 0 {
		limit := results.FormatPercent(100 * g.failAbove)
		switch c.Outcome(g.failAbove) {
		case stat.OutcomeRegression:
			return &statusError{exitGate, fmt.Errorf("worse by more than %s: %s", limit, worst(c, g.failAbove))}
		case stat.OutcomeInconclusive:
			return &statusError{exitInconclusive, fmt.Errorf("it cannot be known whether anything is worse by more than %s: %s", limit, hint(c))}
		}
	}
	if g.requireVerdict && !c.Conclusive() {
		return &statusError{exitInconclusive, fmt.Errorf("not every figure has a verdict: %s", hint(c))}
	}
	return nil
}

// worst names the worst of the changes above a limit.
func worst(c *stat.Comparison, limit float64) string {
	above := stat.Filter(c.Changes, func(ch stat.Change) bool { return ch.Gating() && ch.Established() && ch.Worse() > limit })
	text := view.ChangeText(slices.MaxFunc(above, func(a, b stat.Change) int { return cmp.Compare(a.Worse(), b.Worse()) }))
	if len(above) > 1 {
		text += fmt.Sprintf(", and %d more", len(above)-1)
	}
	return text
}

// hint says what to do about a comparison that tells too little.
func hint(c *stat.Comparison) string {
	gating := slices.ContainsFunc(c.Changes, stat.Change.Gating)
	switch {
	case !gating:
		return "nothing that was compared can gate; times need ends on CPUs of their own (--placement same), exact counters the same work in every sample"
	case c.Pairs > 0:
		return "run more pairs (--pairs), fewer or steadier cells and figures (--metric), or on a quieter machine"
	}
	return "compare the builds themselves with ab, or watch this machine for longer with doctor"
}

// assertFlags are the conditions that the figures of a command have to meet.
type assertFlags struct{ asserts []stat.Assert }

// registerAsserts says in the help what the conditions are about.
func (f *assertFlags) registerAsserts(cmd *cobra.Command, usage string) {
	set := func(text string) error {
		a, err := stat.ParseAssert(text)
		f.asserts = append(f.asserts, a)
		return err
	}
	cmd.Flags().Var(&parsed{set: set, kind: "stringArray"}, "assert", usage+"; may be repeated")
}

// judge prints how each assertion on a set turned out, where a person reads the rest too, else
// beside it, and gives the command its end: a failed gate where one fails, no verdict where none
// fails and one cannot be told. Benchmark text, a nil set, has no cells that they could be about.
func (f *assertFlags) judge(cmd *cobra.Command, format view.Format, set *results.Set) error {
	w := beside(cmd, format)
	texts := make(map[stat.AssertOutcome][]string)
	for _, a := range f.asserts {
		j := stat.Assertion{Assert: a.Text, Outcome: stat.CannotTell, Why: "the new side is benchmark text; assertions are about records (results.jsonl)"}
		if set != nil {
			j = a.Evaluate(set)
		}
		if _, err := fmt.Fprintln(w, "assert", j); err != nil {
			return err
		}
		texts[j.Outcome] = append(texts[j.Outcome], j.Assert)
	}
	switch {
	case len(texts[stat.Fails]) > 0:
		return &statusError{exitGate, fmt.Errorf("not as asserted: %s", strings.Join(texts[stat.Fails], ", "))}
	case len(texts[stat.CannotTell]) > 0:
		return &statusError{exitInconclusive, fmt.Errorf("it cannot be told whether %s: see above", strings.Join(texts[stat.CannotTell], ", "))}
	}
	return nil
}

// beside is where what belongs to the results goes: with them where a person reads them, and not
// where a program does.
func beside(cmd *cobra.Command, format view.Format) io.Writer {
	if readable(format) {
		return cmd.OutOrStdout()
	}
	return cmd.ErrOrStderr()
}

// allGates joins what several gates say. One that failed decides the exit code, before one without
// a verdict.
func allGates(errs ...error) error {
	failed := func(err error) int {
		if status, ok := errors.AsType[*statusError](err); ok && status.code == exitGate {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(errs, func(a, b error) int { return failed(a) - failed(b) })
	return errors.Join(errs...)
}

// abFlags are what ab was asked for, as it was typed.
type abFlags struct {
	gateFlags
	pairs int
	sharedFlags
}

func (f *abFlags) register(cmd *cobra.Command) {
	f.part = "pair"
	f.gateFlags.register(cmd)
	addCount(cmd, &f.pairs, "pairs", 0, 0, mostCounted, "how many pairs to run (default what the number of comparisons asks for, at least 20)")
	cmd.Flags().BoolVar(&f.detail, "detail", false, allChanges)
	f.sharedFlags.register(cmd, abtest.DefaultMaxTime, "begin no pair that would end after this long", view.FormatBench)
}

func (f *abFlags) run(cmd *cobra.Command, args []string) {
	oldName, newName := args[0], args[1]
	plan := abtest.Plan{
		Flags: append([]string{"--samples", "12"}, args[2:]...),
		Pairs: f.pairs, Spend: 45 * time.Second, MaxTime: f.maxTime, Seed: f.seed, Dir: f.folder(),
	}
	script.Check(usage(plan.Validate()))
	plan.Old, plan.New = script.Must(subrun.Find(oldName)), script.Must(subrun.Find(newName))
	if plan.Old.Same(plan.New) {
		f.say(cmd, "pipebench: both binaries are the same file: whatever is found is noise")
	}
	progress := f.progress(cmd.ErrOrStderr())
	plan.Observe = func(_, of int, took time.Duration) { progress.finish(of, took.Round(10*time.Millisecond).String()) }
	before, after, err := abtest.Run(cmd.Context(), plan)
	progress.stop()
	if err != nil && len(before) > 0 {
		f.say(cmd, "pipebench: %d pairs are saved in %s; compare --pairs shows them", len(before), plan.Dir)
	}
	script.Check(usageOfRun(err))
	c := comparePairs(before, after, oldName, newName, stat.CompareOptions{Metrics: f.metrics})
	var text bytes.Buffer
	script.Check(view.WriteComparison(&text, c, view.FormatBench, view.Options{}))
	script.Check(wrap("keep the comparison", results.ReplaceFile(filepath.Join(plan.Dir, benchFile), text.Bytes(), 0o666)))
	script.Check(view.WriteComparison(cmd.OutOrStdout(), c, f.format, viewOptions(cmd, f.detail)))
	f.say(cmd, "pipebench: saved in %s: %s, %s and %s", plan.Dir, abtest.OldFile, abtest.NewFile, benchFile)
	script.Check(allGates(f.judgeChanges(c), f.judge(cmd, f.format, results.Merge(after...))))
}

// usageOfRun gives flags that a binary's run does not take the exit code that they have there.
func usageOfRun(err error) error {
	if failed, ok := errors.AsType[*subrun.FailedError](err); ok && failed.Code == exitUsage {
		return usage(err)
	}
	return err
}
