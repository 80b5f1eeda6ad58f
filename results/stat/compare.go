package stat

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
)

// A Verdict is what a comparison says of one metric of one case.
type Verdict string

// The verdicts. Slower and faster are said of every metric that is timed, for
// worse and better; more and fewer of what is counted.
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

// DefaultTolerance is the change that "no change" has to exclude where nothing
// else is asked for: 5 %.
const DefaultTolerance = 0.05

// DefaultAlpha is the level of a verdict where nothing else is asked for: a
// gate that every change has to pass should not cry wolf more than once in a
// hundred times.
const DefaultAlpha = 0.01

// CompareOptions say what a verdict may rest on.
type CompareOptions struct {
	// Noise is how far figures move between runs on these machines. Without
	// it two files measured at different times allow no verdict on times.
	Noise []results.Noise

	// Metrics are the only ones to compare, by name. None is all of them.
	Metrics []string

	// Across allows verdicts between different machines.
	Across bool

	// Alpha is the chance, in all comparisons together, of calling a
	// difference that is none. Zero is DefaultAlpha.
	Alpha float64

	// Tolerance is the change, as a share, that "no change" has to exclude.
	// Zero is DefaultTolerance.
	Tolerance float64
}

func (o CompareOptions) tolerance() float64 {
	if o.Tolerance > 0 {
		return o.Tolerance
	}
	return DefaultTolerance
}

func (o CompareOptions) alpha() float64 {
	if o.Alpha > 0 {
		return o.Alpha
	}
	return DefaultAlpha
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
	// MinDetectableEffect is the least change, as a share, that so many pairs, scattered as
	// these are, establish four times out of five; nil of two files, and where no
	// change could be.
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

// Worse is by how much the new side is worse, as a share of the old: 0.1 is 10 %
// more time or 10 % less goodput. It is negative where the new side is better,
// and infinite where there was nothing before.
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

// Compare sets two sides that were measured one after the other against each
// other. Counters that are the same in every sample need no statistics. Times
// get a verdict only where the difference of the medians is beyond what runs
// that nothing distinguishes show on this machine ([CompareOptions.Noise]): a
// rank test on the samples of two files would find a difference in most pairs
// of equal ones.
func Compare(before, after Dataset, o CompareOptions) *Comparison {
	c := &Comparison{Old: before.Name, New: after.Name}
	matches := o.chosen(c.match(before.Series, after.Series))
	timed := len(Filter(matches, func(m match) bool { return !m.old.Metric.Counter }))
	for _, m := range matches {
		if m.old.Metric.Counter {
			c.addCounter(m, o)
			continue
		}
		c.Changes = append(c.Changes, m.timed(o, o.alpha()/float64(timed))) // Bonferroni
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

// gap is the time in which both sides were measured, from the first record to
// the last.
func (m match) gap() time.Duration {
	first, last := m.old.Since, m.new.Until
	if m.new.Since.Before(first) {
		first, last = m.new.Since, m.old.Until
	}
	return last.Sub(first)
}

func (m match) elsewhere() bool { return m.old.Machine != m.new.Machine }

// match finds the cases that both sides have: of the same machine, or, where
// there is none, of another. Exact counters come first.
func (c *Comparison) match(before, after []Series) []match {
	var out []match
	for _, o := range before {
		if i := counterpart(o, after); i >= 0 {
			out = append(out, match{o, after[i]})
		} else if !slices.Contains(c.OnlyOld, o.Name) {
			c.OnlyOld = append(c.OnlyOld, o.Name)
		}
	}
	for _, n := range after {
		if counterpart(n, before) < 0 && !slices.Contains(c.OnlyNew, n.Name) {
			c.OnlyNew = append(c.OnlyNew, n.Name)
		}
	}
	slices.SortStableFunc(out, func(a, b match) int { return counterFirst(a.old.Metric) - counterFirst(b.old.Metric) })
	return out
}

func counterFirst(m Metric) int { return map[bool]int{true: 0, false: 1}[m.Counter] }

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
		Old: Median(m.old.Values), New: Median(m.new.Values),
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
		between(o.Noise, m.old.Machine, m.old.Cell, m.old.Metric.Name, level),
		between(o.Noise, m.new.Machine, m.new.Cell, m.new.Metric.Name, level))
	if !b.known || c.Ratio == nil || c.Before.Metric.Better == Neither {
		c.Verdict, c.Basis = Indicative, "how far this moves between runs is not known; doctor measures it, ab compares in pairs"
		return c
	}
	if watched, known := watched(o.Noise, m.old.Machine); known && m.gap() > watched && !m.elsewhere() {
		c.Verdict, c.Basis = Indicative, watchedBasis(m.gap(), watched)
		return c
	}
	if m.old.Disturbed || m.new.Disturbed {
		c.Verdict, c.Basis = TooNoisy, disturbedBasis
		return c
	}
	c.Basis = b.basis
	c.worst = worsening(c.Before.Metric.Better, *c.Ratio*math.Exp(-float64(c.Before.Metric.Better)*b.log))
	c.Verdict = timedVerdict(c, b, o.tolerance())
	return c
}

const disturbedBasis = "disturbed while it was measured, as its file warns: measure again when nothing else runs, or compare with ab"

// watchedBasis says that a machine may do in a longer time what it was not
// seen to do in a shorter: its figures wander.
func watchedBasis(gap, watched time.Duration) string {
	unit := time.Minute // cells that were measured seconds apart share a footnote
	if gap < unit {
		unit = time.Second
	}
	return fmt.Sprintf("measured %s apart or more, and this machine was watched for %s alone: doctor watches it for longer, ab compares in pairs",
		gap.Truncate(unit), watched.Round(time.Second))
}

// modes is the bound, as a logarithm, above which a figure that may double by
// itself jumps between modes: no spread that was seen foretells the next jump.
const modes = math.Ln2

// timedVerdict asks for both: a difference beyond what runs show of
// themselves, and intervals that lie apart.
func timedVerdict(c Change, b bound, tolerance float64) Verdict {
	size := math.Abs(math.Log(*c.Ratio))
	switch {
	case b.log > modes:
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
	varying := len(Filter(matches, func(m match) bool { return m.old.Metric.Counter && !(exact(m.old) && exact(m.new)) }))
	if varying > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%s from sample to sample: no evidence by itself", map[bool]string{true: "one counter varies", false: fmt.Sprintf("%d counters vary", varying)}[varying == 1]))
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
