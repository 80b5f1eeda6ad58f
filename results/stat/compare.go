package stat

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A Verdict says how one metric changed from the old side of a comparison to the new one.
type Verdict string

// The verdicts. A time becomes slower or faster, anything else more or fewer.
const (
	Slower            Verdict = "slower"
	Faster            Verdict = "faster"
	More              Verdict = "more"
	Fewer             Verdict = "fewer"
	NoChange          Verdict = "no change"
	TooNoisy          Verdict = "too noisy"
	NoVerdict         Verdict = "no verdict"         // Change.Basis says why
	Varies            Verdict = "varies: no verdict" // a count that differs from start to start
	DifferentMachines Verdict = "different machines"
	MeasuredApart     Verdict = "measured apart" // a time of text: see CompareOptions.Across
)

// Tolerance is a share. By default, the verdict is "no change" only if it is certain that the
// figure changed by less than this share.
const Tolerance = 0.05

// DefaultAlpha is the chance that a comparison without any real change reports a change.
const DefaultAlpha = 0.01

// CompareOptions say what is compared.
type CompareOptions struct {
	// Metrics names the metrics to compare, or is empty for all.
	Metrics []string

	// Across allows verdicts on sides that were measured on different machines, and on the times of
	// Go benchmark text, which were measured one after the other.
	Across bool

	// Tolerance replaces the constant [Tolerance], if it is not 0.
	Tolerance float64
}

func (o CompareOptions) wants(m Metric) bool {
	return len(o.Metrics) == 0 || slices.ContainsFunc(o.Metrics, m.is)
}

// A Comparison is the result of comparing an old and a new side case by case. A case is a
// measurement, a server, a check or a benchmark.
type Comparison struct {
	Old     string   `json:"old"`
	New     string   `json:"new"`
	Pairs   int      `json:"pairs,omitempty"` // pairs of runs that took turns; 0: two files
	Changes []Change `json:"changes"`         // exact counters first
	OnlyOld []string `json:"only_old,omitempty"`
	OnlyNew []string `json:"only_new,omitempty"`
	Notes   []string `json:"notes,omitempty"`

	// Unjudged counts the measurements whose time got no verdict because something is missing in a
	// file.
	Unjudged []Unjudged `json:"unjudged,omitempty"`

	// Different says in what way two programs behave differently. Calls says which calls changed:
	// "16 reads instead of 1 (65,536 B)".
	Different string `json:"different,omitempty"`
	Calls     string `json:"calls,omitempty"`

	// Raw says how raw's own speed differs between two files: "raw is 12 % faster in the new file".
	Raw string `json:"raw,omitempty"`

	// NewFails is set if the new program or benchmark fails where the old one does not, as Doubt
	// says. A CI job fails then.
	NewFails bool `json:"new_fails,omitempty"`

	// Doubt says why a CI job cannot pass, whatever the figures are: something was not compared, or
	// a benchmark failed.
	Doubt string `json:"doubt,omitempty"`

	// Limit is the largest worsening that a CI job allows, as a share. It is 0 if none was set.
	Limit float64 `json:"-"`

	// Names are the names of the metrics that both sides have, even of those that were not asked
	// for.
	Names []string `json:"-"`

	tolerance float64
}

// An Unjudged is a reason why some measurements have no verdict on their time.
type Unjudged struct {
	Cells  int    `json:"cells"`
	Reason string `json:"reason"`

	lacks bool // a file lacks something that the verdict needs
}

// A Change compares one metric of a measurement, a server, a check or a benchmark on the two sides.
type Change struct {
	Name   string        `json:"name"`
	Cell   *results.Cell `json:"cell,omitempty"`
	Metric string        `json:"metric"`
	Unit   string        `json:"unit,omitempty"`
	Old    Estimate      `json:"old"`
	New    Estimate      `json:"new"`

	// Ratio is the new figure divided by the old one, or nil if either is zero. If there is an
	// Interval, the ratio is in its middle.
	Ratio    *float64  `json:"ratio,omitempty"`
	Interval *Interval `json:"interval,omitempty"` // of the ratio; counters have none

	// Exact is set for a counter that never varies within a side, and for memory that only one side
	// allocates, or none.
	Exact   bool    `json:"exact,omitempty"`
	Verdict Verdict `json:"verdict"`
	Basis   string  `json:"basis"` // why it has no verdict, or why a difference is no change

	Before Series `json:"-"` // the two series that were compared
	After  Series `json:"-"`

	isWhole  bool        // see [Change.IsWhole]
	worst    float64     // how much worse the new side may be at most, as a share
	logRatio logEstimate // the ratio's logarithm; zero if the verdict does not need it
}

// Established reports whether the verdict says that there is a change.
func (c Change) Established() bool {
	return slices.Contains([]Verdict{Slower, Faster, More, Fewer}, c.Verdict)
}

// Worse returns by how much the new side is worse, as a share of the old. The share is negative if
// the new side is better, and infinite if only one of the two figures is zero.
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

// Compare compares two sides that were measured one after the other. It does not compare times, but
// their ratios to the time of raw, the framing that adds nothing. A slower machine then does not
// look like a change. Go benchmark text has no raw, so its times have no verdict without
// [CompareOptions.Across].
func Compare(before, after Dataset, o CompareOptions) *Comparison {
	c := newComparison(before, after, o)
	before.Series, after.Series = namePackages(before.Series, after.Series)
	times := c.compareCounters(before, after, o)
	if before.Set == nil || after.Set == nil {
		c.addTimes(times, o)
	} else {
		c.compareCells(before.Set, after.Set, o)
	}
	c.judge()
	c.note(before, after, o)
	return c
}

func newComparison(before, after Dataset, o CompareOptions) *Comparison {
	return &Comparison{
		Old:       before.Name,
		New:       after.Name,
		tolerance: cmp.Or(o.Tolerance, Tolerance),
	}
}

// collect notes in c.Names that both sides have a metric. It reports whether the options ask for
// the metric.
func (c *Comparison) collect(m Metric, o CompareOptions) bool {
	if !slices.Contains(c.Names, m.Name) {
		c.Names = append(c.Names, m.Name)
	}
	return o.wants(m)
}

// Missing returns a metric that the options ask for, but that is none of the named ones. If there
// is none, it returns "".
func (o CompareOptions) Missing(names []string) string {
	for _, asked := range o.Metrics {
		isAsked := func(name string) bool { return Metric{Name: name}.is(asked) }
		if !slices.ContainsFunc(names, isAsked) {
			return asked
		}
	}
	return ""
}

// compareCounters compares the counters that both sides have. It returns the changes of times,
// which have no verdict yet.
func (c *Comparison) compareCounters(before, after Dataset, o CompareOptions) (times []Change) {
	c.OnlyOld = alone(before.Series, after.Series, o)
	c.OnlyNew = alone(after.Series, before.Series, o)
	for _, old := range before.Series {
		i := counterpart(old, after.Series)
		if i < 0 {
			continue
		}
		new := after.Series[i]
		change := newChange(old, new)
		isOpen := old.Metric.Unit == unitLimit && mayBeEqual(old, new)
		if isOpen && new.byRequests {
			continue // it cannot tell more than the limit of requests
		}
		if isOpen {
			change = compareLimits(old, new)
		}
		if len(o.Metrics) > 0 { // whatever was asked for by its name is judged
			change.Before.Metric.ShownOnly = false
		}
		if isCount(change.Before, change.After) {
			change.Before.Metric.Counter = true
			change.After.Metric.Counter = true
		}
		switch {
		case !change.Before.Metric.Counter:
			times = append(times, change)
		case !c.collect(old.Metric, o): // nobody asked for it
		case change.Verdict != "":
			c.Changes = append(c.Changes, change)
		default:
			c.addCounter(change, o)
		}
	}
	return times
}

// newChange returns the change from the old values of a metric to the new ones, without a verdict.
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
	isExact := !change.Old.AtLeast && !change.New.AtLeast
	if isExact && change.Old.Median > 0 && change.New.Median > 0 {
		ratio := change.New.Median / change.Old.Median
		change.Ratio = &ratio
	}
	return change
}

// alone returns the names of the cases, such as benchmarks, that only the first of two sides has.
// If the second side has the case but not the metric, the name is "allocs/op of Name".
func alone(own, other []Series, o CompareOptions) []string {
	var names []string
	for _, s := range own {
		if !o.wants(s.Metric) || counterpart(s, other) >= 0 {
			continue
		}
		name := s.Name
		isSameCase := func(theirs Series) bool { return theirs.Name == s.Name }
		if slices.ContainsFunc(other, isSameCase) {
			if s.Metric.IsPercentile() {
				continue // a slower machine may have too few samples for a percentile
			}
			name = s.Metric.Name + " of " + s.Name
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// counterpart returns the index of the series that s is compared with, or -1 if there is none. It
// prefers a series from the same machine.
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

func (c Change) machinesDiffer() bool { return c.Before.Machine != c.After.Machine }

// machineVerdict returns the verdict on sides from different or unknown machines.
func (c Change) machineVerdict() (verdict Verdict, basis string) {
	if c.Before.Machine == "" || c.After.Machine == "" {
		return NoVerdict, "one side does not say on which machine it was measured; " +
			"--across compares them all the same"
	}
	return DifferentMachines, "measured on different machines; --across compares them all the same"
}

// addTimes adds the times of benchmarks, which have no raw bytes to compare them with.
func (c *Comparison) addTimes(times []Change, o CompareOptions) {
	for _, change := range times {
		if !c.collect(change.Before.Metric, o) {
			continue
		}
		oldLogs := logsOf(change.Before.Values)
		newLogs := logsOf(change.After.Values)
		switch {
		case change.machinesDiffer() && !o.Across:
			change.Verdict, change.Basis = change.machineVerdict()
		case change.Before.Metric.IsTime() && !o.Across:
			change.Verdict = MeasuredApart
			change.Basis = "measured one after the other, so the machine may be what changed: " +
				"compare the binaries of go test -c in turns (pipebench help ci); " +
				"--across judges the times all the same"
		case min(len(change.Before.Values), len(change.After.Values)) < LeastSamples:
			change.Verdict = TooNoisy
			change.Basis = fmt.Sprintf("fewer than %d lines on a side: use -count %d",
				LeastSamples, LeastSamples)
		case min(len(oldLogs), len(newLogs)) < LeastSamples:
			change.judgeZeros()
		default:
			change.logRatio = medianOfLines(newLogs).minus(medianOfLines(oldLogs))
		}
		c.Changes = append(c.Changes, change)
	}
}

// judgeZeros gives the verdict on figures of which too many are 0 for a ratio.
func (c *Change) judgeZeros() {
	c.Verdict = NoVerdict
	c.Basis = "many figures are 0, and a ratio needs figures above 0"
	isLower := slices.Max(c.After.Values) <= slices.Min(c.Before.Values)
	if isLower && c.Before.Metric.Better == Lower {
		c.Verdict = NoChange
		c.Basis = "no new figure is above an old one"
		c.worst = 0
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

// judge gives verdicts on the changes that have an estimate in logRatio. The more such changes
// there are, the surer each verdict has to be (Bonferroni's correction).
func (c *Comparison) judge() {
	n := 0
	for _, change := range c.Changes {
		if change.logRatio.n > 0 && !change.Before.Metric.ShownOnly {
			n++
		}
	}
	n = max(n, 1)
	for i := range c.Changes {
		change := &c.Changes[i]
		if change.logRatio.n == 0 {
			continue
		}
		alpha := DefaultAlpha / float64(n)
		change.setInterval(1 - Confidence)
		lo, hi := change.logRatio.interval(alpha)
		change.decide(lo, hi, c.tolerance)
		if change.Verdict == TooNoisy && change.Interval != nil && change.BestCase() > 0 {
			change.setInterval(alpha) // this one shows why there is no verdict
		}
	}
}

// setInterval sets the ratio, its interval and the worst case. The interval holds the truth with a
// chance of 1-alpha. It is nil if nothing is known.
func (c *Change) setInterval(alpha float64) {
	lo, hi := c.logRatio.interval(alpha)
	if math.IsInf(lo, 0) {
		return
	}
	c.Ratio = new(math.Exp((lo + hi) / 2))
	c.Interval = &Interval{Lo: math.Exp(lo), Hi: math.Exp(hi), Confidence: 1 - alpha}
	better := c.Before.Metric.Better
	if better != Neither {
		c.worst = max(worsening(better, c.Interval.Lo), worsening(better, c.Interval.Hi))
	}
}

// BestCase returns by how much the new side is worse at least, as a share. Without an interval, the
// figure is exact.
func (c Change) BestCase() float64 {
	if c.Interval == nil {
		return c.Worse()
	}
	better := c.Before.Metric.Better
	return min(worsening(better, c.Interval.Lo), worsening(better, c.Interval.Hi))
}

// decide sets the verdict. The limits lo and hi of the ratio's logarithm are so far apart that they
// hold for all changes of the comparison at once.
func (c *Change) decide(lo, hi, tolerance float64) {
	switch {
	case c.Before.Metric.Better == Neither:
		c.Verdict = NoVerdict
		c.Basis = "which way the unit is better is not known"
	case c.Interval == nil:
		c.Verdict = TooNoisy
	case lo > 0 || hi < 0:
		c.Verdict = c.direction()
	case c.Interval.Lo >= 1-tolerance && c.Interval.Hi <= 1+tolerance:
		c.Verdict = NoChange
	default:
		c.Verdict = TooNoisy
	}
}

// direction returns the verdict on a certain change, whose Ratio is set.
func (c Change) direction() Verdict {
	isTime := c.Before.Metric.IsTime()
	switch {
	case isTime && c.Worse() > 0:
		return Slower
	case isTime:
		return Faster
	case *c.Ratio > 1:
		return More
	}
	return Fewer
}

// note adds notes for the reader. It sets Doubt if a CI job must not pass.
func (c *Comparison) note(before, after Dataset, o CompareOptions) {
	isOld := func(name string) bool { return slices.Contains(before.Failed, name) }
	failed := slices.DeleteFunc(slices.Clone(after.Failed), isOld)
	switch {
	case len(failed) > 0:
		c.NewFails = true
		c.Doubt = fmt.Sprintf("%s failed in %s", someOf(failed), after.Name)
	case len(c.OnlyOld) > 0:
		c.Doubt = fmt.Sprintf("only %s has %s", c.Old, lacking(c.OnlyOld, after))
	case len(before.Failed) > 0:
		c.Doubt = fmt.Sprintf("%s failed in %s", someOf(before.Failed), before.Name)
	}
	missing := o.Missing(c.Names)
	switch {
	case len(c.OnlyNew) > 0:
		why := fmt.Sprintf("only %s has %s", c.New, lacking(c.OnlyNew, before))
		c.Notes = append(c.Notes, why)
		if missing != "" {
			c.Doubt = cmp.Or(c.Doubt, why)
		}
	case missing != "":
		c.Doubt = cmp.Or(c.Doubt, fmt.Sprintf("metric %s is not in both; compared were %s",
			missing, strings.Join(c.Names, ", ")))
	}
	for _, p := range slices.Concat(before.Problems, after.Problems) {
		c.Notes = append(c.Notes, p.String())
	}
}

// WhyNothing says why there is nothing to compare.
func (c *Comparison) WhyNothing() string {
	reasons := c.Notes
	if c.Doubt != "" && !slices.Contains(c.Notes, c.Doubt) {
		reasons = append([]string{c.Doubt}, c.Notes...)
	}
	return "nothing to compare: " + strings.Join(reasons, "; ")
}

// lacking names what a side lacks. For the files of drive about one server, it says why.
func lacking(names []string, side Dataset) string {
	text := someOf(names)
	_, figure, isDrive := strings.Cut(names[0], "Drive/")
	if side.Set == nil || !isDrive || strings.HasPrefix(figure, "of=") {
		return text
	}
	why := "by other flags, or --max-time"
	for _, t := range side.Set.Targets {
		switch {
		case t.Verdict == results.VerdictNotTried:
			why = t.Evidence.Why
		case t.Evidence.Limit != nil && t.Evidence.Limit.CutShort:
			why = "its search was cut short"
		case t.Size > 0 && !t.Served():
			why = FormatBytes(t.Size) + " failed"
		}
	}
	return fmt.Sprintf("%s (not tried in %s: %s)", text, side.Name, why)
}

// someOf names at most three of the names, and counts the others.
func someOf(names []string) string {
	text := strings.Join(names[:min(3, len(names))], ", ")
	if more := len(names) - 3; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
