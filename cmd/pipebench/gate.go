package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// gateFlags say which comparison is good enough to go on.
type gateFlags struct {
	failAbove      string
	requireVerdict bool
	metrics        []string
	across         bool
	assertFlags
}

func (g *gateFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&g.failAbove, "fail-above", "", "exit 3 if something is established to be worse by more than this, such as 5%, and 4 if that cannot be known")
	flags.BoolVar(&g.requireVerdict, "require-verdict", false, "exit 4 unless every figure has a verdict")
	flags.StringSliceVar(&g.metrics, "metric", nil, "compare these alone, such as goodput,p50,wire (default all)")
	g.registerAsserts(cmd, "exit 3 unless this holds of the new side, such as 'p99<50ms@64KiB', and 4 where it cannot be told")
}

// A comparisonGate is what the flags say.
type comparisonGate struct {
	limit          *float64 // a share; nil is no limit
	requireVerdict bool
	asserts        []stat.Assert // of the new side
}

func (g *gateFlags) gate() (comparisonGate, error) {
	for _, name := range g.metrics {
		if _, err := stat.MetricByName(name); err != nil {
			return comparisonGate{}, fmt.Errorf("--metric: %w", err)
		}
	}
	asserts, err := g.parsed()
	if err != nil {
		return comparisonGate{}, err
	}
	out := comparisonGate{requireVerdict: g.requireVerdict, asserts: asserts}
	if g.failAbove != "" {
		limit, err := parseShare(g.failAbove)
		if err != nil {
			return comparisonGate{}, fmt.Errorf("--fail-above %w", err)
		}
		out.limit = &limit
	}
	return out, nil
}

// parseShare reads "5%" or "0.05" as 0.05. Without its sign a number is below 1:
// who writes 5 means 5 %, and a gate of 500 % would never fail.
func parseShare(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(number, 64)
	most := 1.0
	if percent {
		v /= 100
		most = 1000
	}
	if err != nil || !(v >= 0 && v < most) {
		return 0, fmt.Errorf("%q: want a share such as 5%%", s)
	}
	return v, nil
}

// judge turns a comparison into the command's end.
func (g comparisonGate) judge(c *stat.Comparison) error {
	if len(c.Changes) == 0 {
		return fmt.Errorf("%s and %s have nothing in common: %w", c.Old, c.New, view.ErrNothing)
	}
	if g.limit != nil {
		switch c.Outcome(*g.limit) {
		case stat.OutcomeRegression:
			return &statusError{exitGate, fmt.Errorf("worse by more than %s: %s", results.FormatPercent(100**g.limit), worst(c, *g.limit))}
		case stat.OutcomeInconclusive:
			return &statusError{exitInconclusive, fmt.Errorf("it cannot be known whether anything is worse by more than %s: %s", results.FormatPercent(100**g.limit), hint(c))}
		}
	}
	if g.requireVerdict && !c.Conclusive() {
		return &statusError{exitInconclusive, fmt.Errorf("not every figure has a verdict: %s", hint(c))}
	}
	return nil
}

// asserted judges the assertions on what the new side holds. Benchmark text, a
// nil set, has no cells that they could be about.
func (g comparisonGate) asserted(cmd *cobra.Command, format string, after *results.Set) error {
	return evaluateAsserts(cmd, format, g.asserts, func(a stat.Assert) stat.Assertion {
		if after == nil {
			return stat.Assertion{Assert: a.Text, Outcome: stat.CannotTell, Why: "the new side is benchmark text; assertions are about records (results.jsonl)"}
		}
		return a.Evaluate(after)
	})
}

// worst names the changes above a limit, the worst one first.
func worst(c *stat.Comparison, limit float64) string {
	above := slices.DeleteFunc(slices.Clone(c.Changes), func(ch stat.Change) bool { return !ch.Gating() || !ch.Established() || ch.Worse() <= limit })
	slices.SortStableFunc(above, func(a, b stat.Change) int {
		if a.Worse() > b.Worse() {
			return -1
		}
		return 1
	})
	text := view.ChangeText(above[0])
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
type assertFlags struct{ asserts []string }

// registerAsserts says in the help what the conditions are about.
func (f *assertFlags) registerAsserts(cmd *cobra.Command, usage string) {
	cmd.Flags().StringArrayVar(&f.asserts, "assert", nil, usage+"; may be repeated")
}

// parsed reads the conditions before anything is measured.
func (f *assertFlags) parsed() ([]stat.Assert, error) {
	var out []stat.Assert
	for _, text := range f.asserts {
		a, err := stat.ParseAssert(text)
		if err != nil {
			return nil, fmt.Errorf("--assert: %w", err)
		}
		out = append(out, a)
	}
	return out, nil
}

// evaluateAsserts prints how each assertion turned out, where a person reads the rest
// too, else beside it, and gives the command its end: a failed gate where one
// fails, no verdict where none fails and one cannot be told.
func evaluateAsserts(cmd *cobra.Command, format string, asserts []stat.Assert, judge func(stat.Assert) stat.Assertion) error {
	w := beside(cmd, format)
	texts := make(map[stat.AssertOutcome][]string)
	for _, a := range asserts {
		j := judge(a)
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

// beside is where what belongs to the results goes: with them where a person
// reads them, and not where a program does.
func beside(cmd *cobra.Command, format string) io.Writer {
	if readable(format) {
		return cmd.OutOrStdout()
	}
	return cmd.ErrOrStderr()
}

// allGates joins what several gates say. One that failed decides the exit code,
// before one without a verdict.
func allGates(errs ...error) error {
	failed := func(err error) int {
		var status *statusError
		if errors.As(err, &status) && status.code == exitGate {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(errs, func(a, b error) int { return failed(a) - failed(b) })
	return errors.Join(errs...)
}
