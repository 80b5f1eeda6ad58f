// Package assert reads conditions on figures and judges them on a set of results.
//
//	c, err := assert.Parse("p99<50ms@64KiB")
//	…
//	if r := c.Evaluate(set); r.Outcome != assert.Holds {
//		return errors.New(r.String())
//	}
//
// A condition compares a metric with a value in the metric's unit. After an @, it may have a
// message size and other settings of the measurements that it is about. Without an @, it is about
// all measurements that have the metric.
//
//	p99<50ms@64KiB                 latency at one size
//	goodput>=1.5GB/s@framing=raw   payload bytes per second with the framing "raw"
//	overhead<=1%                   wire bytes beyond the payload, everywhere
//	to-raw>0.9@64KiB,placement=same
//	slope<1.2                      how a server's CPU time grows with size: 1 is linear
//	limit>=1MiB                    largest request that works, or reply if that is less
//	fails<=0                       how many checks have the verdict "fails"
package assert

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A Condition is an assertion that [Parse] has read.
type Condition struct {
	Text   string // the condition as it was written
	Metric string // the name of a [stat.Metric], or "limit", "slope", "to-raw" or a check's verdict
	Op     string // "<", "<=", ">", ">="
	Value  float64
	Size   int64               // message bytes; negative means every size
	Where  []results.FieldText // fields that the cells must have, apart from the size

	// Framings limits the condition to measurements with one of these framings, such as "ndjson".
	// If it is empty, the framing does not matter.
	Framings []string

	metric stat.Metric // zero if Metric is not the name of a stat.Metric
	unit   string      // of Value
}

// An Outcome is how a condition turned out.
type Outcome string

// The outcomes. CannotTell means that the figure was not measured, or is too uncertain.
const (
	Holds      Outcome = "holds"
	Fails      Outcome = "fails"
	CannotTell Outcome = "cannot tell"
)

// A Result is a condition that was judged.
type Result struct {
	Assert  string  `json:"assert"` // the condition's text
	Outcome Outcome `json:"outcome"`
	Cases   []Case  `json:"cases,omitempty"`
	Why     string  `json:"why,omitempty"` // empty if the condition holds
}

// String returns the condition and how it turned out, in a line.
func (r Result) String() string {
	if r.Outcome == Holds {
		return fmt.Sprintf("%s: %s (cases: %d)", r.Assert, r.Outcome, len(r.Cases))
	}
	return fmt.Sprintf("%s: %s: %s", r.Assert, r.Outcome, r.Why)
}

// A Case is one figure that a condition is about.
type Case struct {
	Name    string  `json:"case"`
	Value   string  `json:"value,omitempty"` // with its unit
	Outcome Outcome `json:"outcome"`
	Why     string  `json:"why,omitempty"`

	cell     results.Cell
	known    bool // the figure was measured, and is in number
	number   float64
	below    float64        // if set, the true figure is number or more, but less than below
	interval *stat.Interval // of the number; nil if it has none
}

// Evaluate judges all figures in the set to which the condition applies. The outcome is Fails if
// any figure fails. Otherwise, it is CannotTell if there is no figure or if one cannot be judged.
func (c Condition) Evaluate(s *results.Set) Result {
	out := Result{Assert: c.Text, Outcome: Holds}
	for _, one := range c.cases(s) {
		if c.IsAbout(one.cell) {
			out.Cases = append(out.Cases, c.judge(one))
		}
	}
	if len(out.Cases) == 0 {
		out.Outcome = CannotTell
		out.Why = "no case of it was measured"
	}
	for _, one := range out.Cases {
		firstFailure := one.Outcome == Fails && out.Outcome != Fails
		firstDoubt := one.Outcome == CannotTell && out.Outcome == Holds
		if firstFailure || firstDoubt {
			out.Outcome = one.Outcome
			out.Why = one.Name + ": " + strings.TrimSpace(one.Value+" "+one.Why)
			if one.interval != nil { // the name says the value, and its interval
				out.Why = strings.TrimSpace(one.Name + " " + one.Why)
			}
		}
	}
	return out
}

// IsAbout reports whether the condition is about a cell.
func (c Condition) IsAbout(cell results.Cell) bool {
	if c.Size >= 0 && int64(cell.Size) != c.Size {
		return false
	}
	if len(c.Framings) > 0 && !slices.Contains(c.Framings, cell.Framing) {
		return false
	}
	for _, f := range c.Where {
		if cell.Field(f.Name) != f.Text {
			return false
		}
	}
	return true
}

func (c Condition) judge(one Case) Case {
	if !one.known {
		one.Outcome = CannotTell
		return one
	}
	if one.Value == "" {
		one.Value = results.FormatUnit(one.number, c.unit)
	}
	holds := c.compare(one.number)
	one.Outcome = Fails
	if holds {
		one.Outcome = Holds
	}
	if one.below > 0 {
		one.Value += " or more"
		if !math.IsInf(one.below, 1) {
			one.Value += ", but less than " + stat.FormatBytes(int64(one.below))
		}
		if c.compare(one.below-1) != holds {
			one.Outcome = CannotTell
			one.Why = "(larger ones were not seen to work)"
		}
	}
	if i := one.interval; i != nil && c.compare(i.Lo) != c.compare(i.Hi) {
		one.Outcome = CannotTell
		one.Why = fmt.Sprintf("(%s lies in the interval)", results.FormatUnit(c.Value, c.unit))
	}
	return one
}

func (c Condition) compare(v float64) bool {
	switch c.Op {
	case "<":
		return v < c.Value
	case "<=":
		return v <= c.Value
	case ">":
		return v > c.Value
	case ">=":
		return v >= c.Value
	}
	return false
}

// Observations returns how many messages must be timed before the condition's percentile is known.
// For other metrics, it returns 0.
func (c Condition) Observations() int64 {
	percentiles := []struct {
		name string
		rank float64
	}{{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99.9", 99.9}}
	for _, p := range percentiles {
		if c.Metric == p.name || strings.HasSuffix(c.Metric, "."+p.name) {
			return int64(math.Round(results.MinTailCount * 100 / (100 - p.rank)))
		}
	}
	return 0
}
