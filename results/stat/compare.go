package stat

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/aclements/go-moremath/stats"

	"github.com/pipebench/pipebench/results"
)

// A Verdict is the result of comparing one metric of one case.
type Verdict string

// The verdicts. A metric that is timed becomes slower (worse) or faster (better); one that is
// counted becomes more or fewer.
const (
	Slower            Verdict = "slower"
	Faster            Verdict = "faster"
	More              Verdict = "more"
	Fewer             Verdict = "fewer"
	NoChange          Verdict = "no change"
	TooNoisy          Verdict = "too noisy"
	Indicative        Verdict = "unpaired, indicative" // it cannot be judged: Basis says why
	DifferentMachines Verdict = "different machines"
)

// Tolerance is how large a change, as a share, must be excluded before the verdict is "no change":
// 5 %, unless something else is asked for.
const Tolerance = 0.05

// DefaultAlpha is the chance that, among all comparisons together, a difference is reported
// although there is none. Every commit has to pass a gate, so a gate should give a false alarm at
// most once in a hundred times.
const DefaultAlpha = 0.01

// CompareOptions say what is compared.
type CompareOptions struct {
	// Metrics names the metrics to compare. If it is empty, all are compared.
	Metrics []string

	// Across allows verdicts between different machines.
	Across bool

	// Tolerance is the change that must be excluded for "no change"; 0 means [Tolerance].
	Tolerance float64
}

// wants reports whether a metric is to be compared.
func (o CompareOptions) wants(m Metric) bool {
	return len(o.Metrics) == 0 || slices.ContainsFunc(o.Metrics, m.is)
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

	// Unjudged counts the cells of two files that have no verdict on their time although it can be
	// compared: the files lack what a verdict needs.
	Unjudged []Unjudged `json:"unjudged,omitempty"`

	// Different says in what two programs do not do the same; Calls names the calls that changed:
	// "16 reads of 4 KiB instead of 1 of 64 KiB". Both are "" if no programs are compared.
	Different string `json:"different,omitempty"`
	Calls     string `json:"calls,omitempty"`

	// Doubt says why a gate cannot pass, whatever the figures are: nothing, or not everything, was
	// compared. It is "" if all was.
	Doubt string `json:"doubt,omitempty"`

	// Limit is the worsening, as a share, that a gate allows; 0 if there is no gate. Views say what
	// noise hides of a change this large.
	Limit float64 `json:"-"`

	// Names are the metrics that both sides have, whichever were asked for.
	Names []string `json:"-"`

	tolerance float64
}

// Unjudged are cells without a verdict on time.
type Unjudged struct {
	Cells  int    `json:"cells"`
	Reason string `json:"reason"`

	lacks bool // a file lacks what the verdict needs
}

// A Change is one metric of one case on both sides.
type Change struct {
	Name   string        `json:"name"`
	Cell   *results.Cell `json:"cell,omitempty"`
	Metric string        `json:"metric"`
	Unit   string        `json:"unit,omitempty"`
	Old    Estimate      `json:"old"`
	New    Estimate      `json:"new"`

	// Ratio is new over old, or the mean of the pairs' ratios. It is nil if one of the figures is
	// zero.
	Ratio    *float64  `json:"ratio,omitempty"`
	Interval *Interval `json:"interval,omitempty"` // of the ratio; counters have none

	Exact   bool    `json:"exact,omitempty"` // a counter that is the same in every sample of a side
	Verdict Verdict `json:"verdict"`
	Basis   string  `json:"basis"`

	Before Series `json:"-"` // the two series that were compared
	After  Series `json:"-"`

	worst  float64 // how much worse, as a share, the new side may be at most
	spread spread  // of the logarithm of the ratio; zero if the verdict does not rest on it
}

// Established reports whether the verdict is a change, and not chance.
func (c Change) Established() bool {
	return slices.Contains([]Verdict{Slower, Faster, More, Fewer}, c.Verdict)
}

// Worse returns by how much the new side is worse, as a share of the old: 0.1 is 10 % more time or
// 10 % less goodput. It is negative if the new side is better. If the old side was zero, it is
// infinite.
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
// are the same in every sample need no statistics. The time of a cell is compared as its ratio to
// raw, which each run measured in the same rounds as the cell (see relate.go): if the machine
// became slower between the runs, the ratio does not change. Go benchmark text has no raw, so its
// times are compared as they are.
func Compare(before, after Dataset, o CompareOptions) *Comparison {
	c := newComparison(before, after, o)
	times := c.compareCounters(before, after, o)
	isText := before.Set == nil || after.Set == nil
	if !isText {
		c.compareCells(before.Set, after.Set, o)
	}
	c.addTimes(times, isText, o)
	c.judge()
	c.note(before, after)
	return c
}

func newComparison(before, after Dataset, o CompareOptions) *Comparison {
	return &Comparison{
		Old:       before.Name,
		New:       after.Name,
		tolerance: cmp.Or(o.Tolerance, Tolerance),
	}
}

// asks keeps the name of a metric that both sides have, and reports whether it is to be compared.
func (c *Comparison) asks(m Metric, o CompareOptions) bool {
	if !slices.Contains(c.Names, m.Name) {
		c.Names = append(c.Names, m.Name)
	}
	return o.wants(m)
}

// Lacks returns a metric that was asked for but that the two sides do not both have, "" if there is
// none.
func (c *Comparison) Lacks(o CompareOptions) string {
	for _, asked := range o.Metrics {
		isAsked := func(name string) bool { return Metric{Name: name}.is(asked) }
		if !slices.ContainsFunc(c.Names, isAsked) {
			return asked
		}
	}
	return ""
}

// compareCounters compares what is counted on both sides, and returns the times, without a verdict.
func (c *Comparison) compareCounters(before, after Dataset, o CompareOptions) (times []Change) {
	c.OnlyOld = alone(before.Series, after.Series, o)
	c.OnlyNew = alone(after.Series, before.Series, o)
	for _, old := range before.Series {
		i := counterpart(old, after.Series)
		if i < 0 {
			continue
		}
		change := newChange(old, after.Series[i])
		if len(o.Metrics) > 0 { // what was asked for by its name counts
			change.Before.Metric.ShownOnly = false
		}
		if !old.Metric.Counter {
			times = append(times, change)
		} else if c.asks(old.Metric, o) {
			c.addCounter(change, o)
		}
	}
	return times
}

// newChange returns the change from one series to another, without a verdict.
func newChange(old, new Series) Change {
	change := Change{
		Name:   old.Name,
		Cell:   old.Cell,
		Metric: old.Metric.Name,
		Unit:   old.Metric.Unit,
		Old:    old.Figure,
		New:    new.Figure,
		Before: old,
		After:  new,
		worst:  math.Inf(1),
	}
	if change.Old.Median > 0 && change.New.Median > 0 {
		ratio := change.New.Median / change.Old.Median
		change.Ratio = &ratio
	}
	return change
}

// alone returns the names of the cases that the other side does not have, and "allocs/op of Name"
// where it lacks a single metric of a case.
func alone(own, other []Series, o CompareOptions) []string {
	var names []string
	for _, s := range own {
		if !o.wants(s.Metric) || counterpart(s, other) >= 0 {
			continue
		}
		name := s.Name
		isSameCase := func(o Series) bool { return o.Name == s.Name }
		if slices.ContainsFunc(other, isSameCase) {
			if s.Metric.IsPercentile() {
				continue // the samples of a slower machine may be too few for it
			}
			name = s.Metric.Name + " of " + s.Name
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// counterpart finds the series on the other side that a series is compared with: the one of the
// same machine, or else the first of any machine. It returns -1 if there is none.
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

func (c Change) elsewhere() bool { return c.Before.Machine != c.After.Machine }

// whereabouts returns the verdict on a change whose sides are from different machines, or do not
// both name their machine.
func (c Change) whereabouts() (Verdict, string) {
	if c.Before.Machine == "" || c.After.Machine == "" {
		return Indicative, "one side does not say on which machine it was measured; " +
			"--across compares them all the same"
	}
	return DifferentMachines, "measured on different machines; --across compares them all the same"
}

// addTimes adds the times that have no raw beside them: those of Go benchmark text, and those of
// servers, which get no verdict.
func (c *Comparison) addTimes(times []Change, isText bool, o CompareOptions) {
	for _, change := range times {
		if change.Cell != nil || !c.asks(change.Before.Metric, o) {
			continue // compareCells compared the times of cells
		}
		old := spreadOfLogs(logsOf(change.Before.Values))
		new := spreadOfLogs(logsOf(change.After.Values))
		switch {
		case !isText:
			change.Verdict = Indicative
			change.Basis = "times of a server at another time have no control: compare its commands"
		case change.elsewhere() && !o.Across:
			change.Verdict, change.Basis = change.whereabouts()
		case old.n < LeastSamples || new.n < LeastSamples:
			change.Verdict = Indicative
			change.Basis = fmt.Sprintf("a side has fewer than %d lines: use -count", LeastSamples)
		default:
			change.spread = new.minus(old)
		}
		c.Changes = append(c.Changes, change)
	}
	if isText && len(times) > 0 {
		c.addNote("benchmark text has no control in the same rounds: what the machine did " +
			"differently shows as a change")
	}
}

func logsOf(values []float64) []float64 {
	var logs []float64
	for _, v := range values {
		if v > 0 {
			logs = append(logs, math.Log(v))
		}
	}
	return logs
}

// judge gives verdicts on times by their spreads. The more times there are, the surer each verdict
// has to be (Bonferroni's correction).
func (c *Comparison) judge() {
	n := 0
	for _, change := range c.Changes {
		if change.spread.n > 0 && !change.Before.Metric.ShownOnly {
			n++
		}
	}
	n = max(n, 1)
	for i := range c.Changes {
		change := &c.Changes[i]
		if change.spread.n == 0 {
			continue
		}
		lo, hi := change.spread.interval(DefaultAlpha / float64(n))
		change.interval(change.spread.interval(1 - Confidence))
		change.decide(lo, hi, c.tolerance)
	}
}

// interval sets the ratio and its interval from the limits of its logarithm. If the limits are
// infinite, nothing is known yet, and it sets nothing.
func (c *Change) interval(lo, hi float64) {
	if math.IsInf(lo, 0) {
		return
	}
	c.Ratio = new(math.Exp((lo + hi) / 2))
	c.Interval = &Interval{math.Exp(lo), math.Exp(hi), Confidence}
	better := c.Before.Metric.Better
	if better != Neither {
		c.worst = max(worsening(better, c.Interval.Lo), worsening(better, c.Interval.Hi))
	}
}

// decide gives the verdict. lo and hi are limits of the logarithm of the ratio, wide enough to hold
// in all comparisons together. The verdict is "no change" if the interval of this change alone
// excludes one as large as the tolerance.
func (c *Change) decide(lo, hi, tolerance float64) {
	switch {
	case c.Before.Metric.Better == Neither:
		c.Verdict = Indicative
		c.Basis = "which way the unit is better is not known"
	case c.Interval == nil:
		c.Verdict = TooNoisy
	case lo > 0 || hi < 0:
		c.Verdict = direction(c.Before.Metric.Better, *c.Ratio)
	case c.Interval.Lo >= 1-tolerance && c.Interval.Hi <= 1+tolerance:
		c.Verdict = NoChange
	default:
		c.Verdict = TooNoisy
	}
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

// note says what a reader of the comparison has to know, and what keeps a gate from passing.
func (c *Comparison) note(before, after Dataset) {
	if len(c.OnlyOld) > 0 {
		c.Doubt = fmt.Sprintf("%s in %s alone and not judged: %s",
			missingCases(c.OnlyOld, before), c.Old, someOf(c.OnlyOld))
	}
	if len(c.OnlyNew) > 0 {
		c.addNote("in new alone: %s", someOf(c.OnlyNew))
	}
	for _, side := range []Dataset{before, after} {
		if len(side.Failed) > 0 && c.Doubt == "" {
			c.Doubt = fmt.Sprintf("%s has benchmarks that failed: %s", side.Name,
				someOf(side.Failed))
		}
		for _, p := range side.Problems {
			c.Notes = append(c.Notes, p.String())
		}
	}
}

// missingCases counts what only one side has: "2 of 3 benchmarks are".
func missingCases(only []string, side Dataset) string {
	kind := "benchmark"
	if side.Set != nil {
		kind = "case"
	}
	var cases []string
	missing := 0
	for _, s := range side.Series {
		if slices.Contains(cases, s.Name) {
			continue
		}
		cases = append(cases, s.Name)
		if slices.Contains(only, s.Name) {
			missing++
		}
	}
	text := fmt.Sprintf("%d of %s", missing, results.FormatCount(len(cases), kind))
	if missing == 0 { // single metrics are missing
		missing = len(only)
		text = results.FormatCount(missing, "figure")
	}
	if missing == 1 {
		return text + " is"
	}
	return text + " are"
}

// someOf names at most three of the names, and says how many more there are.
func someOf(names []string) string {
	text := strings.Join(names[:min(3, len(names))], ", ")
	if more := len(names) - 3; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
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

// Outcome judges the comparison for a gate that fails if anything got worse by more than failAbove,
// a share (0.05 is 5 %). It is a regression if a worsening is established whose best estimate is
// above the limit. It is inconclusive if a worsening above the limit cannot be excluded, if the
// verdict on the time of a cell is missing (see Unjudged), if there is a Doubt, or if there is no
// figure that a gate waits for. It is "nothing in common" if there was nothing to compare, which is
// no success. Times of unpinned ends (placement free) are never waited for.
func (c *Comparison) Outcome(failAbove float64) Outcome {
	if len(c.Changes) == 0 {
		return OutcomeNothing
	}
	outcome := OutcomeOK
	if len(c.Unjudged) > 0 || c.Doubt != "" {
		outcome = OutcomeInconclusive
	}
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

// Gating reports whether a gate waits for this figure. It does not wait for a counter that varies,
// because the time beside it tells whether that matters; nor for a time of unpinned ends, because
// that depends mostly on where the scheduler puts them.
func (c Change) Gating() bool {
	switch m := c.Before.Metric; {
	case m.ShownOnly:
		return false
	case m.Counter:
		return c.Exact || m.ByRange
	}
	return c.Cell == nil || c.Cell.Placement != "free"
}

// Conclusive reports whether there are figures that a gate waits for, all of them have a verdict,
// and there is no Doubt.
func (c *Comparison) Conclusive() bool {
	hasNone := func(change Change) bool {
		return change.Gating() && !change.Established() && change.Verdict != NoChange
	}
	isGating := slices.ContainsFunc(c.Changes, Change.Gating)
	isJudged := len(c.Unjudged) == 0 && c.Doubt == ""
	return isGating && isJudged && !slices.ContainsFunc(c.Changes, hasNone)
}

// Decided reports whether further pairs are of no use: no figure that a gate waits for is too noisy
// for a verdict. If a gate waits for none, all times count.
func (c *Comparison) Decided() bool {
	isGating := slices.ContainsFunc(c.Changes, Change.Gating)
	isOpen := func(change Change) bool {
		counts := change.Gating() || !isGating && !change.Before.Metric.ShownOnly
		return counts && change.Verdict == TooNoisy
	}
	return !slices.ContainsFunc(c.Changes, isOpen)
}

// WorstCase returns by how much the new side may be worse, as a share; anything worse is excluded.
// It is infinite if nothing is known.
func (c Change) WorstCase() float64 { return c.worst }

// addCounter compares a counter. A counter that is the same in every sample of each side is exact,
// and any change of it is real. A counter that varies is left out, unless the gap between the two
// sides is larger than the range of the steadier side: then somebody should look at it.
func (c *Comparison) addCounter(change Change, o CompareOptions) {
	old, new := change.Before, change.After
	change.Exact = exact(old) && exact(new)
	oldLeast, oldMost := stats.Bounds(old.Values)
	newLeast, newMost := stats.Bounds(new.Values)
	gap := max(newLeast-oldMost, oldLeast-newMost) // negative if the sides overlap
	differs := gap > max(slack(old), slack(new))
	if change.Before.Metric.ByRange { // a few values do not show all of a range
		differs = gap > max(oldMost-oldLeast, newMost-newLeast)
	}
	counted := change.Exact || change.Before.Metric.ByRange
	switch {
	case change.elsewhere() && !o.Across && differs:
		change.Verdict, change.Basis = change.whereabouts()
	case change.elsewhere() && !o.Across:
		return
	case counted && !differs:
		change.Basis = "exact"
		change.Verdict = NoChange
		change.worst = 0
	case counted:
		change.Basis = "exact"
		change.Verdict = Fewer
		if newLeast > oldMost {
			change.Verdict = More
		}
		change.worst = change.Worse()
	case differs && gap > min(oldMost-oldLeast, newMost-newLeast):
		change.Verdict = Indicative
		change.Basis = "a counter that varies from sample to sample"
	default:
		return
	}
	c.Changes = append(c.Changes, change)
}

// slack returns how far an exact counter, which is given per message, may vary for reasons other
// than messages: the read that finds the end, the runtime's own allocations, and the rounding of a
// division.
func slack(s Series) float64 {
	return s.Metric.fixed/float64(max(1, s.Messages)) + 1e-9*math.Abs(slices.Max(s.Values))
}

// exact reports whether a counter is the same in every sample.
func exact(s Series) bool {
	least, most := stats.Bounds(s.Values)
	return most-least <= slack(s)
}
