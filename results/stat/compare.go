package stat

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
)

// A Verdict is what a comparison says of one metric of one case.
type Verdict string

// The verdicts. Slower and faster are said of every metric that is timed, for worse and better;
// more and fewer of what is counted.
const (
	Slower            Verdict = "slower"
	Faster            Verdict = "faster"
	More              Verdict = "more"
	Fewer             Verdict = "fewer"
	NoChange          Verdict = "no change"
	TooNoisy          Verdict = "too noisy"
	Indicative        Verdict = "unpaired, indicative"
	DifferentMachines Verdict = "different machines"
)

// DefaultTolerance is the change that "no change" has to exclude where nothing else is asked for: 5
// %.
const DefaultTolerance = 0.05

// DefaultAlpha is the level of a verdict where nothing else is asked for: a gate that every change
// has to pass should not cry wolf more than once in a hundred times.
const DefaultAlpha = 0.01

// CompareOptions say what a verdict may rest on.
type CompareOptions struct {
	// Noise is how far figures move between runs on these machines. Without it two files measured
	// at different times allow no verdict on times.
	Noise []results.Noise

	// Metrics are the only ones to compare, by name. None is all of them.
	Metrics []string

	// Across allows verdicts between different machines.
	Across bool

	// Alpha is the chance, in all comparisons together, of calling a difference that is none. Zero
	// is DefaultAlpha.
	Alpha float64

	// Tolerance is the change, as a share, that "no change" has to exclude. Zero is
	// DefaultTolerance.
	Tolerance float64
}

// filled has the defaults in place of zeros.
func (o CompareOptions) filled() CompareOptions {
	o.Alpha, o.Tolerance = cmp.Or(o.Alpha, DefaultAlpha), cmp.Or(o.Tolerance, DefaultTolerance)
	return o
}

// A Comparison is two sides, case by case.
type Comparison struct {
	Old     string   `json:"old"`
	New     string   `json:"new"`
	Pairs   int      `json:"pairs,omitempty"` // interleaved pairs; 0: two files
	Changes []Change `json:"changes"`         // exact counters first
	OnlyOld []string `json:"only_old,omitempty"`
	OnlyNew []string `json:"only_new,omitempty"`
	Notes   []string `json:"notes,omitempty"`
}

// A Change is one metric of one case on both sides.
type Change struct {
	Name   string        `json:"name"`
	Cell   *results.Cell `json:"cell,omitempty"`
	Metric string        `json:"metric"`
	Unit   string        `json:"unit,omitempty"`
	Old    Estimate      `json:"old"`
	New    Estimate      `json:"new"`

	Ratio    *float64  `json:"ratio,omitempty"`    // new over old; of pairs the median of their ratios; nil from or to nothing
	Interval *Interval `json:"interval,omitempty"` // of the ratio; pairs alone
	P        *float64  `json:"p,omitempty"`        // of the pairs, corrected for the number of comparisons
	// MinDetectableEffect is the least change, as a share, that so many pairs, scattered as these
	// are, establish four times out of five; nil of two files, and where no change could be.
	MinDetectableEffect *float64 `json:"detectable,omitempty"`

	Exact   bool    `json:"exact,omitempty"` // a counter that is the same in every sample of a side
	Verdict Verdict `json:"verdict"`
	Basis   string  `json:"basis"`

	Before Series `json:"-"` // what was compared with After
	After  Series `json:"-"`

	worst float64   // the worsening, as a share, that cannot be excluded
	logs  []float64 // of the pairs' ratios
}

// Established tells whether the verdict is a change beyond doubt.
func (c Change) Established() bool {
	return slices.Contains([]Verdict{Slower, Faster, More, Fewer}, c.Verdict)
}

// Worse is by how much the new side is worse, as a share of the old: 0.1 is 10 % more time or 10 %
// less goodput. It is negative where the new side is better, and infinite where there was nothing
// before.
func (c Change) Worse() float64 {
	switch {
	case c.Ratio != nil:
		return worsening(c.Before.Metric.Better, *c.Ratio)
	case c.New.Median == c.Old.Median:
		return 0
	}
	return -float64(c.Before.Metric.Better) * math.Copysign(math.Inf(1), c.New.Median-c.Old.Median)
}

func worsening(better Better, ratio float64) float64 {
	return -float64(better) * (ratio - 1)
}

// Compare sets two sides that were measured one after the other against each other. Counters that
// are the same in every sample need no statistics. Times get a verdict only where the difference of
// the medians is beyond what runs that nothing distinguishes show on this machine
// ([CompareOptions.Noise]): a rank test on the samples of two files would find a difference in most
// pairs of equal ones.
func Compare(before, after Dataset, o CompareOptions) *Comparison {
	o = o.filled()
	c := &Comparison{Old: before.Name, New: after.Name}
	matches := o.chosen(c.match(before.Series, after.Series))
	timed := len(Filter(matches, func(m match) bool { return !m.old.Metric.Counter }))
	for _, m := range matches {
		if m.old.Metric.Counter {
			c.addCounter(m, o)
			continue
		}
		c.Changes = append(c.Changes, m.timed(o, o.Alpha/float64(timed))) // Bonferroni
	}
	c.note(matches)
	for _, p := range slices.Concat(before.Problems, after.Problems) {
		c.Notes = append(c.Notes, p.String())
	}
	return c
}

// A match is the same metric of the same case on both sides.
type match struct {
	old, new Series
}

// chosen are the matches whose metric was asked for.
func (o CompareOptions) chosen(matches []match) []match {
	return Filter(matches, func(m match) bool {
		return len(o.Metrics) == 0 || slices.Contains(o.Metrics, m.old.Metric.Name)
	})
}

// gap is the time in which both sides were measured, from the first record to the last.
func (m match) gap() time.Duration {
	first, last := m.old.Since, m.new.Until
	if m.new.Since.Before(first) {
		first, last = m.new.Since, m.old.Until
	}
	return last.Sub(first)
}

func (m match) elsewhere() bool { return m.old.Machine != m.new.Machine }

func (m match) varies() bool { return m.old.Metric.Counter && !(exact(m.old) && exact(m.new)) }

// match finds the cases that both sides have: of the same machine, or, where there is none, of
// another. Exact counters come first.
func (c *Comparison) match(before, after []Series) []match {
	var counters, times []match
	for _, o := range before {
		i := counterpart(o, after)
		switch {
		case i < 0:
			c.OnlyOld = appendNew(c.OnlyOld, o.Name)
		case o.Metric.Counter:
			counters = append(counters, match{o, after[i]})
		default:
			times = append(times, match{o, after[i]})
		}
	}
	for _, n := range after {
		if counterpart(n, before) < 0 {
			c.OnlyNew = appendNew(c.OnlyNew, n.Name)
		}
	}
	return append(counters, times...)
}

// appendNew appends what is not in the list.
func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

func counterpart(s Series, in []Series) int {
	same := func(o Series) bool { return o.Name == s.Name && o.Metric.Name == s.Metric.Name }
	if i := slices.IndexFunc(in, func(o Series) bool { return same(o) && o.Machine == s.Machine }); i >= 0 {
		return i
	}
	return slices.IndexFunc(in, same)
}

// change is what both kinds of comparison have in common.
func (m match) change() Change {
	c := Change{
		Name: m.old.Name, Cell: m.old.Cell, Metric: m.old.Metric.Name, Unit: m.old.Metric.Unit,
		Old: m.old.Figure, New: m.new.Figure,
		Before: m.old, After: m.new, worst: math.Inf(1),
	}
	if c.Old.Median > 0 && c.New.Median > 0 {
		c.Ratio = new(c.New.Median / c.Old.Median)
	}
	return c
}

const elsewhereBasis = "measured on different machines; --across compares them all the same"

// timed judges a time by the bound between runs.
func (m match) timed(o CompareOptions, level float64) Change {
	c := m.change()
	if m.elsewhere() && !o.Across {
		c.Verdict, c.Basis = DifferentMachines, elsewhereBasis
		return c
	}
	b := wider(
		noiseBound(o.Noise, m.old.Machine, m.old.Cell, m.old.Metric.Name, level),
		noiseBound(o.Noise, m.new.Machine, m.new.Cell, m.new.Metric.Name, level))
	if !b.known || c.Ratio == nil || c.Before.Metric.Better == Neither {
		c.Verdict, c.Basis = Indicative, "how far this moves between runs is not known; doctor measures it, ab compares in pairs"
		return c
	}
	if watched, known := noiseWindow(o.Noise, m.old.Machine); known && m.gap() > watched && !m.elsewhere() {
		c.Verdict, c.Basis = Indicative, windowBasis(m.gap(), watched)
		return c
	}
	if m.old.Disturbed || m.new.Disturbed {
		c.Verdict, c.Basis = TooNoisy, disturbedBasis
		return c
	}
	c.Basis = b.basis
	c.worst = worsening(c.Before.Metric.Better, *c.Ratio*math.Exp(-float64(c.Before.Metric.Better)*b.log))
	c.Verdict = timedVerdict(c, b, o.Tolerance)
	return c
}

const disturbedBasis = "disturbed while it was measured, as its file warns: measure again when nothing else runs, or compare with ab"

// windowBasis says that a machine may do in a longer time what it was not seen to do in a shorter:
// its figures wander.
func windowBasis(gap, watched time.Duration) string {
	unit := time.Minute // cells that were measured seconds apart share a footnote
	if gap < unit {
		unit = time.Second
	}
	return fmt.Sprintf("measured %s apart or more, and this machine was watched for %s alone: doctor watches it for longer, ab compares in pairs",
		gap.Truncate(unit), watched.Round(time.Second))
}

// maxBound is the bound, as a logarithm, above which a figure that may double by itself jumps
// between modes: no spread that was seen foretells the next jump.
const maxBound = math.Ln2

// timedVerdict asks for both: a difference beyond what runs show of themselves, and intervals that
// lie apart.
func timedVerdict(c Change, b bound, tolerance float64) Verdict {
	size := math.Abs(math.Log(*c.Ratio))
	switch {
	case b.log > maxBound:
		return TooNoisy
	case size > b.change() && apart(c.Old, c.New):
		return direction(c.Before.Metric.Better, *c.Ratio)
	case size <= b.log && math.Exp(b.log)-1 <= tolerance:
		return NoChange
	}
	return TooNoisy
}

// apart is whether two intervals have nothing in common.
func apart(a, b Estimate) bool {
	return a.Interval != nil && b.Interval != nil && (a.Interval.Hi < b.Interval.Lo || b.Interval.Hi < a.Interval.Lo)
}

func direction(better Better, ratio float64) Verdict {
	if worsening(better, ratio) > 0 {
		return Slower
	}
	return Faster
}

// note says what a reader of the comparison has to know.
func (c *Comparison) note(matches []match) {
	if n := len(Filter(matches, match.elsewhere)); n > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%d of %d figures were measured on different machines", n, len(matches)))
	}
	if n := len(Filter(c.Changes, func(ch Change) bool { return ch.Exact && ch.Verdict == NoChange })); n > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%d exact counters (calls, wire bytes, allocations a message) are the same", n))
	}
	if n := len(Filter(matches, match.varies)); n == 1 {
		c.Notes = append(c.Notes, "one counter varies from sample to sample: no evidence by itself")
	} else if n > 1 {
		c.Notes = append(c.Notes, fmt.Sprintf("%d counters vary from sample to sample: no evidence by itself", n))
	}
	for _, only := range []struct {
		side  string
		names []string
	}{{"old", c.OnlyOld}, {"new", c.OnlyNew}} {
		if len(only.names) > 0 {
			c.Notes = append(c.Notes, fmt.Sprintf("in %s alone: %s", only.side, shortList(only.names)))
		}
	}
}

// shortList names three and counts the rest.
func shortList(names []string) string {
	if len(names) <= 3 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
}

// An Outcome is what a comparison means for a gate.
type Outcome string

// The outcomes of a gate.
const (
	OutcomeOK           Outcome = "ok"
	OutcomeRegression   Outcome = "regression"
	OutcomeInconclusive Outcome = "inconclusive"
	OutcomeNothing      Outcome = "nothing in common"
)

// Outcome judges the comparison for a gate that is to fail above a worsening, given as a share
// (0.05 is 5 %). It is a regression if a worsening is established and above; inconclusive if one
// above cannot be excluded, or if there is nothing that could gate; and nothing in common if there
// was nothing to compare, which is no success. Times of ends that the scheduler placed (free) never
// gate.
func (c *Comparison) Outcome(failAbove float64) Outcome {
	if len(c.Changes) == 0 {
		return OutcomeNothing
	}
	open, gating := false, Filter(c.Changes, Change.Gating)
	for _, change := range gating {
		if change.Established() && change.Worse() > failAbove {
			return OutcomeRegression
		}
		if !change.Established() && change.worst > failAbove {
			open = true
		}
	}
	if open || len(gating) == 0 {
		return OutcomeInconclusive
	}
	return OutcomeOK
}

// Gating is whether a gate waits for this figure. A counter that varies has a time beside it that
// tells whether it matters; a time depends on where the scheduler puts the ends more than on
// anything that could be compared.
func (c Change) Gating() bool {
	if c.Before.Metric.Counter {
		return c.Exact
	}
	return c.Cell == nil || c.Cell.Placement != "free"
}

// Conclusive tells whether every figure that a gate waits for has a verdict.
func (c *Comparison) Conclusive() bool {
	gating := Filter(c.Changes, Change.Gating)
	for _, change := range gating {
		if !change.Established() && change.Verdict != NoChange {
			return false
		}
	}
	return len(gating) > 0
}

// addCounter compares a counter. One that is the same in every sample of each side is exact, and
// any change of it is real. One that varies is left out, unless the sides lie so far apart that it
// should be looked at.
func (c *Comparison) addCounter(m match, o CompareOptions) {
	change := m.change()
	change.Exact = !m.varies()
	switch {
	case m.elsewhere() && !o.Across:
		if gap(m.old, m.new) <= max(slack(m.old), slack(m.new)) {
			return
		}
		change.Verdict, change.Basis = DifferentMachines, elsewhereBasis
	case change.Exact:
		change.Verdict, change.Basis = exactVerdict(m), "exact"
		change.worst = 0
		if change.Established() {
			change.worst = change.Worse()
		}
	case farApart(m.old, m.new):
		change.Verdict, change.Basis = Indicative, "a counter that varies from sample to sample"
	default:
		return
	}
	c.Changes = append(c.Changes, change)
}

// exactVerdict compares counters that are the same in every sample.
func exactVerdict(m match) Verdict {
	switch {
	case gap(m.old, m.new) <= max(slack(m.old), slack(m.new)):
		return NoChange
	case slices.Min(m.new.Values) > slices.Max(m.old.Values):
		return More
	}
	return Fewer
}

// slack is how much of a counter, a message, does not come from messages: the read that finds the
// end, the runtime's own allocations. Nor does the last digit of a division.
func slack(s Series) float64 {
	return s.Metric.fixed/float64(max(1, s.Messages)) + 1e-9*math.Abs(slices.Max(s.Values))
}

// exact is whether a counter is the same in every sample.
func exact(s Series) bool {
	return slices.Max(s.Values)-slices.Min(s.Values) <= slack(s)
}

// farApart is whether two sides lie apart by more than the steadier one varies.
func farApart(a, b Series) bool {
	width := min(slices.Max(a.Values)-slices.Min(a.Values), slices.Max(b.Values)-slices.Min(b.Values))
	return gap(a, b) > max(width, slack(a), slack(b))
}

// gap is the distance between the ranges of two sides, negative where they overlap.
func gap(a, b Series) float64 {
	return max(slices.Min(b.Values)-slices.Max(a.Values), slices.Min(a.Values)-slices.Max(b.Values))
}
