package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/stat/assert"
	"github.com/pipebench/pipebench/results/view"
)

// gateFlags say which comparisons make the command fail.
type gateFlags struct {
	failAbove      float64 // a share; below 0 is no limit
	requireVerdict bool
	metrics        []string
	assertFlags    // on the new side
	pace           pace
}

// A pace is how fast the pairs of a comparison were measured.
type pace struct {
	pairs int
	most  int           // pairs that were asked for; 0: as many as there is time for
	spent time.Duration // on all
	took  time.Duration // the pairs alone
}

// each is how long a pair takes.
func (p pace) each() time.Duration { return p.took / time.Duration(max(p.pairs, 1)) }

// timeFor is how long so many pairs take in all, with a fifth to spare.
func (p pace) timeFor(pairs int) time.Duration {
	more := p.each() * time.Duration(pairs-p.pairs)
	return ((p.spent + more) * 6 / 5).Truncate(time.Second) + time.Second
}

// longestAdvised is the longest comparison that is advised.
const longestAdvised = time.Hour

// advice says what to ask for if a verdict takes so many pairs.
func (p pace) advice(pairs int) string {
	pairs = max(pairs, p.pairs+1)
	each := results.FormatDuration(float64(p.each()))
	total := p.timeFor(pairs)
	switch {
	case total > longestAdvised:
		return fmt.Sprintf("compare fewer figures (--metric), or on a quieter machine: a verdict "+
			"takes about %d pairs, and a pair %s", pairs, each)
	case p.most > 0 && p.pairs >= p.most:
		return fmt.Sprintf("give it --pairs %d: it had %d, and a pair takes %s", pairs, p.pairs,
			each)
	}
	return fmt.Sprintf("give it --max-time %s: a pair takes %s, and a verdict about %d of them",
		total, each, pairs)
}

func (g *gateFlags) register(cmd *cobra.Command) {
	g.failAbove = -1
	addParsed(cmd, &g.failAbove, "fail-above", "", parseShare, "exit 3 if something is "+
		"certainly worse, and by more than this at best estimate, such as 5%; 4 if that cannot "+
		"be known")
	cmd.Flags().BoolVar(&g.requireVerdict, "require-verdict", false,
		"exit 4 unless every figure has a verdict")
	cmd.Flags().StringSliceVar(&g.metrics, "metric", nil,
		"compare and judge these alone, by the names that the tables have, such as "+
			"goodput,p50,wire (default all); wall has the clock decide about two programs")
	g.registerAsserts(cmd, "exit 3 unless this holds of the new side, such as "+
		"'p99<50ms@64KiB', and 4 if it cannot be told")
}

// isGate reports whether the figures can make the command fail.
func (g *gateFlags) isGate() bool { return g.failAbove >= 0 || g.requireVerdict }

// checkMetrics returns an error if a metric was asked for that the two sides lack.
func (g *gateFlags) checkMetrics(c *stat.Comparison) error {
	lacks := c.Lacks(stat.CompareOptions{Metrics: g.metrics})
	if lacks == "" || len(c.Names) == 0 {
		return nil // without any metric: judgeChanges says so
	}
	return usage(fmt.Errorf("--metric %s: the two do not both have it; they have %s",
		lacks, strings.Join(c.Names, ", ")))
}

// judgeChanges returns the error that gives the command its exit code; nil if no gate fails.
func (g *gateFlags) judgeChanges(c *stat.Comparison) error {
	if len(c.Changes) == 0 {
		return fmt.Errorf("%s and %s have nothing in common: %w", c.Old, c.New, view.ErrNothing)
	}
	if g.failAbove >= 0 {
		limit := results.FormatPercent(100 * g.failAbove)
		switch c.Outcome(g.failAbove) {
		case stat.OutcomeRegression:
			err := fmt.Errorf("worse by more than %s at best estimate: %s", limit,
				worst(c, g.failAbove))
			return &statusError{exitGate, err}
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

// worst names the worst of the changes above a limit.
func worst(c *stat.Comparison, limit float64) string {
	var above []stat.Change
	for _, ch := range c.Changes {
		if ch.Gating() && ch.Established() && ch.Worse() > limit {
			above = append(above, ch)
		}
	}
	byWorse := func(a, b stat.Change) int { return cmp.Compare(a.Worse(), b.Worse()) }
	text := view.ChangeText(slices.MaxFunc(above, byWorse))
	if len(above) > 1 {
		text += fmt.Sprintf(", and %d more", len(above)-1)
	}
	return text
}

// hint says what to do about a comparison that tells too little of a change as large as a limit.
func (g *gateFlags) hint(c *stat.Comparison, limit float64) string {
	elsewhere := func(ch stat.Change) bool { return ch.Verdict == stat.DifferentMachines }
	switch {
	case c.Doubt != "":
		return c.Doubt
	case slices.ContainsFunc(c.Changes, elsewhere):
		return "the files are of different machines: measure both on one, or give --across"
	case len(c.Unjudged) > 0:
		u := c.Unjudged[0]
		return results.FormatCount(u.Cells, "cell") + " without a verdict: " + u.Reason
	case !slices.ContainsFunc(c.Changes, stat.Change.Gating):
		return "nothing that was compared can gate; times need both ends on one CPU " +
			"(--placement same), exact counters the same work in every sample"
	case c.Pairs > 0:
		return g.pace.advice(c.PairsFor(limit))
	}
	return "compare the programs themselves, as in: pipebench compare ./old ./new, or of Go " +
		"benchmarks (go test -c): pipebench compare old.test new.test -- -test.bench Mine"
}

// assertFlags are the conditions that the figures of a command have to meet.
type assertFlags struct{ asserts []assert.Condition }

// registerAsserts adds the flag --assert; usage says what the conditions are about.
func (f *assertFlags) registerAsserts(cmd *cobra.Command, usage string) {
	set := func(text string) error {
		a, err := assert.Parse(text)
		f.asserts = append(f.asserts, a)
		return err
	}
	cmd.Flags().Var(&parsed{set: set, kind: "stringArray"}, "assert", usage+"; may be repeated")
}

// judge prints how each assertion on a set turned out. It returns the error of a failed gate if an
// assertion fails, or else the error of a missing verdict if an assertion cannot be decided. set is
// nil for benchmark text, which has no cells for assertions.
func (f *assertFlags) judge(cmd *cobra.Command, format view.Format, set *results.Set) error {
	w := remarksWriter(cmd, format)
	var failed, open []string
	for _, a := range f.asserts {
		j := assert.Result{
			Assert:  a.Text,
			Outcome: assert.CannotTell,
			Why: "the new side is benchmark text; assertions are about records " +
				"(results.jsonl)",
		}
		if set != nil {
			j = a.Evaluate(set)
		}
		if _, err := fmt.Fprintln(w, "assert", j); err != nil {
			return err
		}
		switch j.Outcome {
		case assert.Fails:
			failed = append(failed, j.Assert)
		case assert.CannotTell:
			open = append(open, j.Assert)
		}
	}
	if len(failed) > 0 {
		err := fmt.Errorf("not as asserted: %s", strings.Join(failed, ", "))
		return &statusError{exitGate, err}
	}
	if len(open) > 0 {
		err := fmt.Errorf("it cannot be told whether %s: see above", strings.Join(open, ", "))
		return &statusError{exitInconclusive, err}
	}
	return nil
}

// remarksWriter returns where to print remarks on the results: standard output if a person reads
// the format, standard error if a program does.
func remarksWriter(cmd *cobra.Command, format view.Format) io.Writer {
	if readable(format) {
		return cmd.OutOrStdout()
	}
	return cmd.ErrOrStderr()
}

// allGates joins the errors of several gates. If a gate failed, its exit code wins over that of a
// gate without a verdict.
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
