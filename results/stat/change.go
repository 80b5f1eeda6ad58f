package stat

import (
	"math"
	"slices"

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

func (c Change) machinesDiffer() bool { return c.Before.Machine != c.After.Machine }

// machineVerdict returns the verdict on sides from different or unknown machines.
func (c Change) machineVerdict() (verdict Verdict, basis string) {
	if c.Before.Machine == "" || c.After.Machine == "" {
		return NoVerdict, "one side does not say on which machine it was measured; " +
			"--across compares them all the same"
	}
	return DifferentMachines, "measured on different machines; --across compares them all the same"
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
