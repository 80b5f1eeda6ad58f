package stat

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/aclements/go-moremath/stats"

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

// Tolerance is the change, as a share, that "no change" has to exclude: 5 %.
const Tolerance = 0.05

// DefaultAlpha is the chance, in all comparisons together, of calling a difference that is none: a
// gate that every change has to pass should not cry wolf more than once in a hundred times.
const DefaultAlpha = 0.01

// CompareOptions say what a verdict may rest on.
type CompareOptions struct {
	// Noise is how far figures move between runs on these machines. Without it two files measured
	// at different times allow no verdict on times.
	Noise []Noise

	// Metrics are the only ones to compare, by name. None is all of them.
	Metrics []string

	// Across allows verdicts between different machines.
	Across bool
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

	// Ratio is new over old, or the median of the pairs' ratios. It is nil from or to nothing.
	Ratio    *float64  `json:"ratio,omitempty"`
	Interval *Interval `json:"interval,omitempty"` // of the ratio; pairs alone
	P        *float64  `json:"p,omitempty"`        // of the pairs, corrected by [Holm]
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

// Worse returns by how much the new side is worse, as a share of the old: 0.1 is 10 % more time or
// 10 % less goodput. It is negative where the new side is better, and infinite where there was
// nothing before.
func (c Change) Worse() float64 {
	switch {
	case c.Ratio != nil:
		return worsening(c.Before.Metric.Better, *c.Ratio)
	case c.New.Median == c.Old.Median:
		return 0
	}
	return -float64(c.Before.Metric.Better) * math.Copysign(math.Inf(1), c.New.Median-c.Old.Median)
}

func worsening(better Better, ratio float64) float64 { return -float64(better) * (ratio - 1) }

// Compare sets two sides that were measured one after the other against each other. Counters that
// are the same in every sample need no statistics. Times get a verdict only where the difference of
// the medians is beyond what runs that nothing distinguishes show on this machine
// ([CompareOptions.Noise]): a rank test on the samples of two files would find a difference in most
// pairs of equal ones.
func Compare(before, after Dataset, o CompareOptions) *Comparison {
	c := &Comparison{Old: before.Name, New: after.Name}
	c.compare(before, after, o, func(change Change, level float64) Change {
		return change.timed(o, level)
	})
	return c
}

// compare compares what both sides have, and notes what could not be read of them. The function
// judges a time at the level that it is given.
func (c *Comparison) compare(
	before, after Dataset, o CompareOptions, timed func(change Change, level float64) Change,
) {
	counters, times := c.match(before.Series, after.Series, o.Metrics)
	for _, m := range counters {
		c.addCounter(m, o)
	}
	level := DefaultAlpha / float64(len(times)) // Bonferroni's correction
	for _, m := range times {
		c.Changes = append(c.Changes, timed(m, level))
	}
	if c.Pairs > 0 {
		c.correct()
	}
	c.note(counters)
	for _, p := range before.Problems {
		c.Notes = append(c.Notes, p.String())
	}
	for _, p := range after.Problems {
		c.Notes = append(c.Notes, p.String())
	}
}

func (c Change) elsewhere() bool { return c.Before.Machine != c.After.Machine }

// varies reports whether a counter is not the same in every sample.
func (c Change) varies() bool { return !exact(c.Before) || !exact(c.After) }

// match finds the cases that both sides have, as changes without a verdict: of the same machine,
// or, where there is none, of another. Only those of the metrics are returned, where there are any.
func (c *Comparison) match(before, after []Series, metrics []string) (counters, times []Change) {
	c.OnlyOld, c.OnlyNew = alone(before, after), alone(after, before)
	for _, o := range before {
		i := counterpart(o, after)
		if i < 0 || len(metrics) > 0 && !slices.ContainsFunc(metrics, o.Metric.is) {
			continue
		}
		change := Change{
			Name:   o.Name,
			Cell:   o.Cell,
			Metric: o.Metric.Name,
			Unit:   o.Metric.Unit,
			Old:    o.Figure,
			New:    after[i].Figure,
			Before: o,
			After:  after[i],
			worst:  math.Inf(1),
		}
		if change.Old.Median > 0 && change.New.Median > 0 {
			change.Ratio = new(change.New.Median / change.Old.Median)
		}
		if o.Metric.Counter {
			counters = append(counters, change)
		} else {
			times = append(times, change)
		}
	}
	return counters, times
}

// alone returns the names of the cases that the other side does not have.
func alone(own, other []Series) []string {
	var names []string
	for _, s := range own {
		if counterpart(s, other) < 0 && !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// counterpart finds the series on the other side that a series is compared with: that of the same
// machine, or else of any. It returns -1 if there is none.
func counterpart(s Series, in []Series) int {
	found := -1
	for i, o := range in {
		if o.Name != s.Name || o.Metric.Name != s.Metric.Name {
			continue
		}
		if o.Machine == s.Machine {
			return i
		}
		if found < 0 {
			found = i
		}
	}
	return found
}

// whereabouts returns the verdict on what was not measured on one machine, as far as is known.
func (c Change) whereabouts() (Verdict, string) {
	if c.Before.Machine == "" || c.After.Machine == "" {
		return Indicative, "one side does not say on which machine it was measured; " +
			"--across compares them all the same"
	}
	return DifferentMachines, "measured on different machines; --across compares them all the same"
}

// timed judges a time by the bound between runs, the wider one of the two sides' bounds.
func (c Change) timed(o CompareOptions, level float64) Change {
	b := noiseBound(o.Noise, c.Before, level)
	other := noiseBound(o.Noise, c.After, level)
	known := b.known && other.known
	if other.change() > b.change() {
		b = other
	}
	better := c.Before.Metric.Better
	lasted := c.lasted()
	watched, seen := noiseWindow(o.Noise, c.Before.Machine)
	switch {
	case c.elsewhere() && !o.Across:
		c.Verdict, c.Basis = c.whereabouts()
	case !known || c.Ratio == nil || better == Neither:
		c.Verdict = Indicative
		c.Basis = unknownBasis
	case seen && lasted > watched && !c.elsewhere():
		// In a longer time a machine may do what it was not seen to do in a shorter one.
		unit := time.Minute // cells that were measured seconds apart share a footnote
		if lasted < unit {
			unit = time.Second
		}
		c.Verdict = Indicative
		c.Basis = fmt.Sprintf(windowBasis, lasted.Truncate(unit), watched.Round(time.Second))
	case c.Before.Disturbed || c.After.Disturbed:
		c.Verdict = TooNoisy
		c.Basis = disturbedBasis
	default:
		c.Verdict = timedVerdict(c, b)
		c.Basis = b.basis
		c.worst = worsening(better, *c.Ratio*math.Exp(-float64(better)*b.log))
	}
	return c
}

// lasted returns the time from the first record of the side that was measured first to the last
// record of the other.
func (c Change) lasted() time.Duration {
	if c.After.Since.Before(c.Before.Since) {
		return c.Before.Until.Sub(c.After.Since)
	}
	return c.After.Until.Sub(c.Before.Since)
}

const unknownBasis = "how far this moves between runs is not known; " +
	"--noise FILE tells (see run --repeat), two builds compare in pairs"

const windowBasis = "measured %s apart or more, and this machine was watched for %s alone: " +
	"repeat runs over a longer time, or compare two builds in pairs"

const disturbedBasis = "disturbed while it was measured, as its file warns: " +
	"measure again when nothing else runs, or compare two builds in turns"

// maxBound is the bound, as a logarithm, above which a figure that may double by itself jumps
// between modes: no spread that was seen foretells the next jump.
const maxBound = math.Ln2

// timedVerdict asks for both: a difference beyond what runs show of themselves, and intervals that
// lie apart.
func timedVerdict(c Change, b bound) Verdict {
	size := math.Abs(math.Log(*c.Ratio))
	switch {
	case b.log > maxBound:
		return TooNoisy
	case size > b.change() && apart(c.Old, c.New):
		return direction(c.Before.Metric.Better, *c.Ratio)
	case size <= b.log && math.Exp(b.log)-1 <= Tolerance:
		return NoChange
	}
	return TooNoisy
}

// apart reports whether two intervals have nothing in common.
func apart(a, b Estimate) bool {
	if a.Interval == nil || b.Interval == nil {
		return false
	}
	return a.Interval.Hi < b.Interval.Lo || b.Interval.Hi < a.Interval.Lo
}

func direction(better Better, ratio float64) Verdict {
	if worsening(better, ratio) > 0 {
		return Slower
	}
	return Faster
}

// note says what a reader of the comparison has to know.
func (c *Comparison) note(counted []Change) {
	elsewhere, unknown := 0, 0 // on different machines; without a machine on one side
	counters, found := 0, 0    // exact ones that are the same; found of servers and programs
	for _, change := range c.Changes {
		if change.elsewhere() {
			elsewhere++
		}
		if change.elsewhere() && (change.Before.Machine == "" || change.After.Machine == "") {
			unknown++
		}
		switch {
		case !change.Exact || change.Verdict != NoChange:
		case change.Metric == verdictMetric.Name, change.Metric == limitMetric.Name:
			found++
		default:
			counters++
		}
	}
	vary := 0
	for _, change := range counted {
		if change.varies() {
			vary++
		}
	}
	if unknown > 0 {
		c.addNote("of %d of %d figures one side has no environment: its machine is not known",
			unknown, len(c.Changes))
	}
	if elsewhere > unknown {
		c.addNote("%d of %d figures were measured on different machines",
			elsewhere-unknown, len(c.Changes))
	}
	if counters > 0 {
		c.addNote("%d exact counters (calls, wire bytes, allocations a message) are the same",
			counters)
	}
	if found > 0 {
		c.addNote("verdicts and limits that are the same: %d", found)
	}
	if vary > 0 {
		c.addNote("counters that vary from sample to sample, which is no evidence by itself: %d",
			vary)
	}
	c.noteAlone("old", c.OnlyOld)
	c.noteAlone("new", c.OnlyNew)
}

// noteAlone names the cases that one side alone has, three of them at most.
func (c *Comparison) noteAlone(side string, only []string) {
	if len(only) == 0 {
		return
	}
	names := strings.Join(only[:min(3, len(only))], ", ")
	if more := len(only) - 3; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	c.addNote("in %s alone: %s", side, names)
}

func (c *Comparison) addNote(format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
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
	outcome := OutcomeOK
	gates := false
	for _, change := range c.Changes {
		if !change.Gating() {
			continue
		}
		gates = true
		switch {
		case change.Established() && change.Worse() > failAbove:
			return OutcomeRegression
		case !change.Established() && change.worst > failAbove:
			outcome = OutcomeInconclusive
		}
	}
	if !gates {
		return OutcomeInconclusive
	}
	return outcome
}

// Gating reports whether a gate waits for this figure. A counter that varies has a time beside it
// that tells whether it matters; a time depends on where the scheduler puts the ends more than on
// anything that could be compared.
func (c Change) Gating() bool {
	if c.Before.Metric.Counter {
		return c.Exact
	}
	return c.Cell == nil || c.Cell.Placement != "free"
}

// Conclusive tells whether every figure that a gate waits for has a verdict.
func (c *Comparison) Conclusive() bool {
	gates := false
	for _, change := range c.Changes {
		if !change.Gating() {
			continue
		}
		gates = true
		if !change.Established() && change.Verdict != NoChange {
			return false
		}
	}
	return gates
}

// addCounter compares a counter. One that is the same in every sample of each side is exact, and
// any change of it is real. One that varies is left out, unless the sides lie apart by more than
// the steadier one varies: then it should be looked at.
func (c *Comparison) addCounter(change Change, o CompareOptions) {
	old, new := change.Before, change.After
	change.Exact = !change.varies()
	oldLeast, oldMost := stats.Bounds(old.Values)
	newLeast, newMost := stats.Bounds(new.Values)
	gap := max(newLeast-oldMost, oldLeast-newMost) // negative where the sides overlap
	differs := gap > max(slack(old), slack(new))
	switch {
	case change.elsewhere() && !o.Across && differs:
		change.Verdict, change.Basis = change.whereabouts()
	case change.elsewhere() && !o.Across:
		return
	case change.Exact:
		change.Basis = "exact"
		switch {
		case !differs:
			change.Verdict = NoChange
			change.worst = 0
		case newLeast > oldMost:
			change.Verdict = More
			change.worst = change.Worse()
		default:
			change.Verdict = Fewer
			change.worst = change.Worse()
		}
	case differs && gap > min(oldMost-oldLeast, newMost-newLeast):
		change.Verdict = Indicative
		change.Basis = "a counter that varies from sample to sample"
	default:
		return
	}
	c.Changes = append(c.Changes, change)
}

// slack returns how much of a counter, a message, does not come from messages: the read that finds
// the end, the runtime's own allocations. Nor does the last digit of a division.
func slack(s Series) float64 {
	return s.Metric.fixed/float64(max(1, s.Messages)) + 1e-9*math.Abs(slices.Max(s.Values))
}

// exact reports whether a counter is the same in every sample.
func exact(s Series) bool {
	least, most := stats.Bounds(s.Values)
	return most-least <= slack(s)
}
