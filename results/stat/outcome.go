package stat

// An Outcome is what a comparison means for a gate.
type Outcome string

// The outcomes of a gate.
const (
	OutcomeOK           Outcome = "ok"
	OutcomeRegression   Outcome = "regression"
	OutcomeInconclusive Outcome = "inconclusive"
	OutcomeNothing      Outcome = "nothing in common"
)

// Outcome judges the comparison for a gate that is to fail above a worsening,
// given as a share (0.05 is 5 %). It is a regression if a worsening is
// established and above; inconclusive if one above cannot be excluded, or if
// there is nothing that could gate; and nothing in common if there was nothing
// to compare, which is no success. Times of ends that the scheduler placed (free)
// never gate.
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

// Gating is whether a gate waits for this figure. A counter that varies has a
// time beside it that tells whether it matters; a time depends on where the
// scheduler puts the ends more than on anything that could be compared.
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
