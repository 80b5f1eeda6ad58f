package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/stat/assert"
	"github.com/pipebench/pipebench/results/view"
)

// gateFlags say what makes a comparison fail.
type gateFlags struct {
	failAbove      float64 // a share, such as 0.05; negative: no limit
	requireVerdict bool
	metrics        []string
	asserted       []string // the texts of --assert, which readAsserts reads
	assertFlags             // conditions about the new side
	pace           pace     // not a flag: how fast the pairs so far were
}

// A pace is how fast a comparison measured its pairs. A pair is one run of each of the two
// commands.
type pace struct {
	pairs      int
	wanted     int           // --pairs; 0: as many pairs as there is time for
	sinceBegin time.Duration // since the comparison began
	inPairs    time.Duration // the sum over the pairs
	noise      string        // "load 9.0 on 2 CPUs" if the machine was busy, or "this noise"
	better     string        // what else helps, such as " or fewer cells"
}

// advice says what to type to get something that takes the given number of pairs of runs in total.
func (p pace) advice(what string, pairs int) string {
	pairs = max(pairs, p.pairs+1)
	each := p.inPairs / time.Duration(max(p.pairs, 1))
	total := p.sinceBegin + each*time.Duration(pairs-p.pairs)
	total = (total * 6 / 5).Truncate(time.Second) + time.Second // a fifth is a reserve
	takes := fmt.Sprintf("at %s %s takes about %d pairs of %s or more", p.noise, what, pairs,
		results.FormatDuration(float64(each)))
	switch {
	case total > time.Hour:
		return fmt.Sprintf("at %s %s takes more than an hour: use a quieter machine%s",
			p.noise, what, p.better)
	case p.wanted > 0 && p.pairs >= p.wanted:
		return fmt.Sprintf("%s: give it --pairs %d", takes, pairs)
	}
	return fmt.Sprintf("%s: give it --max-time %s%s", takes, total, p.better)
}

func (g *gateFlags) register(cmd *cobra.Command) {
	g.failAbove = -1
	addParsed(cmd, &g.failAbove, "fail-above", "", parseShare, "exit 3 if something is "+
		"certainly worse, and by more than this (of times, at best estimate), such as 5%; 4 if "+
		"that cannot be known")
	cmd.Flags().BoolVar(&g.requireVerdict, "require-verdict", false,
		"exit 4 unless every figure has a verdict")
	cmd.Flags().StringSliceVar(&g.metrics, "metric", nil,
		"compare and judge only these figures, named as in the tables: goodput,p50,wire, … "+
			"(default all); for two programs, time judges by the clock instead of by CPU time")
	cmd.Flags().StringArrayVar(&g.asserted, "assert", nil, "for files of records and builds of "+
		"pipebench: exit 3 unless this holds of the new side, such as 'p99<50ms@64KiB', and 4 if "+
		"it cannot be told; may be repeated")
}

// readAsserts reads the conditions of --assert, or refuses them if records are not compared.
func (g *gateFlags) readAsserts(areRecords bool) error {
	for _, text := range g.asserted {
		if !areRecords {
			return usageError(errors.New(
				"--assert is for files of records and builds of pipebench: use --fail-above"))
		}
		if err := g.addAssert(text); err != nil {
			return usageError(fmt.Errorf("--assert %s: %w", text, err))
		}
	}
	return nil
}

// isGate reports whether the exit status depends on what the comparison finds.
func (g *gateFlags) isGate() bool { return g.failAbove >= 0 || g.requireVerdict }

// checkMetrics returns an error if --metric names a metric that is not among the compared ones. If
// one side alone has figures, or nothing was compared, judgeChanges has a better error.
func (g *gateFlags) checkMetrics(c *stat.Comparison) error {
	missing := stat.CompareOptions{Metrics: g.metrics}.Missing(c.Names)
	isAlone := len(c.OnlyOld)+len(c.OnlyNew) > 0
	if missing == "" || isAlone || len(c.Names) == 0 {
		return nil
	}
	advice := ""
	lacksMemory := slices.Contains(c.Names, "ns/op") && !slices.Contains(c.Names, "B/op")
	if strings.HasSuffix(missing, "/op") && lacksMemory {
		advice = "; give -test.benchmem for memory"
	}
	return usageError(fmt.Errorf("--metric %s: not compared between the two; compared are %s%s",
		missing, strings.Join(c.Names, ", "), advice))
}

// judgeChanges returns an error if the new side alone fails, if nothing was compared, or if the
// changes do not meet the conditions that the flags set.
func (g *gateFlags) judgeChanges(c *stat.Comparison) error {
	if c.NewFails {
		return &statusError{exitGate, errors.New(c.Doubt)}
	}
	if len(c.Changes) == 0 && !g.isGate() {
		return errors.New(c.WhyNothing())
	}
	if len(c.Changes) == 0 {
		return &statusError{exitInconclusive, errors.New(c.WhyNothing())}
	}
	if g.failAbove >= 0 {
		limit := results.FormatPercent(100 * g.failAbove)
		switch c.Outcome(g.failAbove) {
		case stat.OutcomeRegression:
			return &statusError{exitGate, errors.New(worseText(c, g.failAbove))}
		case stat.OutcomeInconclusive:
			err := fmt.Errorf("no verdict on a change of more than %s: %s", limit,
				g.hint(c, g.failAbove))
			return &statusError{exitInconclusive, err}
		}
	}
	if g.requireVerdict && !c.Conclusive() {
		err := fmt.Errorf("not every figure has a verdict: %s", g.hint(c, stat.Tolerance))
		return &statusError{exitInconclusive, err}
	}
	return nil
}

// worseText names the figures that got worse by more than failAbove, a share.
func worseText(c *stat.Comparison, failAbove float64) string {
	var metrics []string
	least := 0.0 // the largest worsening that is certain
	for _, change := range c.Changes {
		if !change.IsRegression(failAbove) {
			continue
		}
		least = max(least, change.BestCase())
		metrics = append(metrics, change.Metric)
	}
	text := fmt.Sprintf("worse by more than %s: %s", results.FormatPercent(100*failAbove),
		distinct(metrics))
	if least <= failAbove {
		text += fmt.Sprintf("; at best estimate, and by %s at least: equal code in another file "+
			"may differ by some percent", results.FormatPercent(100*least))
	}
	return text
}

// hint says why a comparison cannot tell whether there is a change as large as limit, and what to
// do about that.
func (g *gateFlags) hint(c *stat.Comparison, limit float64) string {
	isNoisy := func(ch stat.Change) bool { return ch.LacksVerdict() && ch.Verdict == stat.TooNoisy }
	isOpen := func(ch stat.Change) bool { return ch.LacksVerdict() && ch.Verdict != stat.TooNoisy }
	open := slices.IndexFunc(c.Changes, isOpen)
	switch {
	case c.Doubt != "":
		return c.Doubt
	case len(c.Unjudged) > 0:
		first := c.Unjudged[0]
		return results.FormatCount(first.Cells, "cell") + " without a verdict: " + first.Reason
	case !slices.ContainsFunc(c.Changes, stat.Change.Gating):
		return "nothing that was compared can gate; times need both ends on one CPU " +
			"(--placement same), exact counters the same work in every sample"
	case open >= 0 && limit > 0 && c.Pairs > 0 && slices.ContainsFunc(c.Changes, isNoisy):
		return c.Changes[open].Basis + "; for the rest, " + g.pace.advice(c.PairsFor(limit))
	case open >= 0: // more runs do not settle it
		return c.Changes[open].Basis
	case limit == 0: // neither do they settle this
		return "nobody can exclude that a figure that varies got worse by a little: " +
			"use --fail-above 2%, or --metric for exact counts alone"
	case c.Pairs > 0:
		return g.pace.advice(c.PairsFor(limit))
	}
	change := c.Changes[max(0, slices.IndexFunc(c.Changes, stat.Change.LacksVerdict))]
	return cmp.Or(change.Basis, "compare both in turns (pipebench help ci)")
}

// assertFlags are the conditions of --assert, which the measured figures have to meet.
type assertFlags struct{ asserts []assert.Condition }

// registerAsserts adds the flag --assert. usage is its help text, which says what figures the
// conditions are about.
func (f *assertFlags) registerAsserts(cmd *cobra.Command, usage string) {
	value := &parsedValue{set: f.addAssert, kind: "stringArray"}
	cmd.Flags().Var(value, "assert", usage+"; may be repeated")
}

func (f *assertFlags) addAssert(text string) error {
	condition, err := assert.Parse(text)
	f.asserts = append(f.asserts, condition)
	return err
}

// judge prints whether each assertion holds for the records in set. The error has the code exitGate
// if an assertion fails, or else exitInconclusive if one cannot be decided.
func (f *assertFlags) judge(cmd *cobra.Command, format view.Format, set *results.Set) error {
	w := cmd.OutOrStdout()
	if !isReadable(format) { // a program reads standard output
		w = cmd.ErrOrStderr()
	}
	var failed, undecided []string
	for _, condition := range f.asserts {
		result := condition.Evaluate(set)
		if _, err := fmt.Fprintln(w, "assert", result); err != nil {
			return err
		}
		switch result.Outcome {
		case assert.Fails:
			failed = append(failed, result.Assert)
		case assert.CannotTell:
			undecided = append(undecided, result.Assert)
		}
	}
	if len(failed) > 0 {
		err := fmt.Errorf("not as asserted: %s", strings.Join(failed, ", "))
		return &statusError{exitGate, err}
	}
	if len(undecided) > 0 {
		err := fmt.Errorf("it cannot be told whether %s: see above",
			strings.Join(undecided, ", "))
		return &statusError{exitInconclusive, err}
	}
	return nil
}

// allGates joins errors. Errors with the code exitGate come first, because the first error decides
// the exit code.
func allGates(errs ...error) error {
	var failed, others []error
	for _, err := range errs {
		status, ok := errors.AsType[*statusError](err)
		if ok && status.code == exitGate {
			failed = append(failed, err)
		} else {
			others = append(others, err)
		}
	}
	return errors.Join(append(failed, others...)...)
}
