package stat

import "slices"

// An Outcome is what a comparison means for a gate: a CI job that fails if something got worse.
type Outcome string

// The outcomes of a gate.
const (
	OutcomeOK           Outcome = "ok"
	OutcomeRegression   Outcome = "regression"
	OutcomeInconclusive Outcome = "inconclusive"
)

// Outcome judges the comparison for a CI job that fails if anything got worse by more than
// failAbove, a share (0.05 is 5 %):
//
//   - "regression" if a figure certainly got worse, by more than failAbove in the best estimate
//   - "inconclusive" if some figure may have become that much worse, if Unjudged or Doubt is set,
//     or if no change counts (see [Change.Gating])
//   - "ok" otherwise
func (c *Comparison) Outcome(failAbove float64) Outcome {
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
		case change.IsRegression(failAbove):
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

// IsRegression reports whether a figure that a CI job takes into account certainly got worse, by
// more than failAbove in the best estimate.
func (c Change) IsRegression(failAbove float64) bool {
	return c.Gating() && c.Established() && c.Worse() > failAbove
}

// Gating reports whether a CI job that fails if something got worse takes this change into account.
// It ignores a metric with [Metric.ShownOnly], a counter that varies without [Metric.ByRange], and
// measurements whose pipe ends are not pinned to CPUs.
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

// LacksVerdict reports whether a CI job takes this change into account, but does not know whether
// there is a change.
func (c Change) LacksVerdict() bool {
	return c.Gating() && !c.Established() && c.Verdict != NoChange
}

// Conclusive reports whether a CI job has all the verdicts that it needs. It needs at least one.
func (c *Comparison) Conclusive() bool {
	isGating := slices.ContainsFunc(c.Changes, Change.Gating)
	isJudged := len(c.Unjudged) == 0 && c.Doubt == ""
	return isGating && isJudged && !slices.ContainsFunc(c.Changes, Change.LacksVerdict)
}

// Decided reports whether no figure is too noisy for a verdict. More pairs of runs would then
// change nothing.
func (c *Comparison) Decided() bool {
	isGating := slices.ContainsFunc(c.Changes, Change.Gating)
	isOpen := func(change Change) bool {
		// If no change is gating, all changes count except those that are only shown.
		counts := change.Gating() || !isGating && !change.Before.Metric.ShownOnly
		return counts && change.Verdict == TooNoisy
	}
	return !slices.ContainsFunc(c.Changes, isOpen)
}

// WorstCase returns by how much the new side may be worse at most, as a share. The result is
// infinite if nothing is known about this.
func (c Change) WorstCase() float64 { return c.worst }
