package stat

import "slices"

// An Outcome is what a comparison means for a gate: a CI job that fails if something got worse.
type Outcome string

// The outcomes of a gate.
const (
	OutcomeOK           Outcome = "ok"
	OutcomeRegression   Outcome = "regression"
	OutcomeInconclusive Outcome = "inconclusive"
	OutcomeNothing      Outcome = "nothing in common"
)

// Outcome judges the comparison for a gate that fails if anything got worse by more than failAbove,
// a share (0.05 is 5 %). Only changes for which [Change.Gating] is true count. The outcome is
//
//   - "nothing in common" if nothing was compared; this is no success
//   - "regression" if a figure certainly got worse, by more than failAbove in the best estimate
//   - "inconclusive" if some figure may have got worse by more than failAbove, if Unjudged or Doubt
//     is not empty, or if no change counts
//   - otherwise "ok"
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

// Gating reports whether a gate takes this change into account. It returns false for
//
//   - a change in a metric that is [Metric.ShownOnly]
//   - a change in a counter that varies and is not [Metric.ByRange], because the time of the same
//     case tells whether the change matters
//   - a change in the time of ends that are not pinned to CPUs (placement "free"), because that
//     time mostly depends on where the scheduler puts the ends
func (c Change) Gating() bool {
	m := c.Before.Metric
	switch {
	case m.ShownOnly:
		return false
	case m.Counter:
		return c.Exact || m.ByRange
	}
	return c.Cell == nil || c.Cell.Placement != "free"
}

// Conclusive reports whether a gate has all the verdicts that it needs. At least one change must be
// [Change.Gating], each such change must have a verdict, and Unjudged and Doubt must be empty.
func (c *Comparison) Conclusive() bool {
	lacksVerdict := func(change Change) bool {
		return change.Gating() && !change.Established() && change.Verdict != NoChange
	}
	isGating := slices.ContainsFunc(c.Changes, Change.Gating)
	isJudged := len(c.Unjudged) == 0 && c.Doubt == ""
	return isGating && isJudged && !slices.ContainsFunc(c.Changes, lacksVerdict)
}

// Decided reports whether more pairs of runs would change nothing, because no figure is too noisy
// for a verdict. Only changes for which [Change.Gating] is true count. If there are none, all
// changes count except those in a metric that is [Metric.ShownOnly].
func (c *Comparison) Decided() bool {
	isGating := slices.ContainsFunc(c.Changes, Change.Gating)
	isOpen := func(change Change) bool {
		counts := change.Gating() || !isGating && !change.Before.Metric.ShownOnly
		return counts && change.Verdict == TooNoisy
	}
	return !slices.ContainsFunc(c.Changes, isOpen)
}

// WorstCase returns by how much the new side may be worse at most, as a share. It is infinite if
// nothing is known about that.
func (c Change) WorstCase() float64 { return c.worst }
