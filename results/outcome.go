package results

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
// established and above; inconclusive if one above cannot be excluded; and
// nothing in common if there was nothing to compare, which is no success.
func (c *Comparison) Outcome(failAbove float64) Outcome {
	if len(c.Changes) == 0 {
		return OutcomeNothing
	}
	open := false
	for _, change := range c.Changes {
		if change.Established() && change.Worse() > failAbove {
			return OutcomeRegression
		}
		if change.gates() && !change.Established() && change.worst > failAbove {
			open = true
		}
	}
	if open {
		return OutcomeInconclusive
	}
	return OutcomeOK
}

// gates is whether a gate waits for this figure: a counter that varies has a
// time beside it that tells whether it matters.
func (c Change) gates() bool { return c.Exact || !c.metric.Counter }

// Conclusive tells whether every figure that a gate waits for has a verdict.
func (c *Comparison) Conclusive() bool {
	for _, change := range c.Changes {
		if change.gates() && !change.Established() && change.Verdict != NoChange {
			return false
		}
	}
	return len(c.Changes) > 0
}
