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
// a share (0.05 is 5 %). Only figures that are Gating count. The outcome is
//   - "nothing in common", which is no success, if nothing was compared
//   - "regression" if a worsening is established whose best estimate is above failAbove
//   - "inconclusive" if a worsening above failAbove cannot be excluded, if cells are Unjudged, if
//     there is a Doubt, or if no figure counts
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

// Gating reports whether a gate takes this figure into account. It does not do so with a counter
// that varies, because the time beside it tells whether that matters; nor with a time of unpinned
// ends (placement free), because that depends mostly on where the scheduler puts them.
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

// Conclusive reports whether there are Gating figures, all of them have a verdict, no cell is
// Unjudged, and there is no Doubt.
func (c *Comparison) Conclusive() bool {
	lacksVerdict := func(change Change) bool {
		return change.Gating() && !change.Established() && change.Verdict != NoChange
	}
	isGating := slices.ContainsFunc(c.Changes, Change.Gating)
	isJudged := len(c.Unjudged) == 0 && c.Doubt == ""
	return isGating && isJudged && !slices.ContainsFunc(c.Changes, lacksVerdict)
}

// Decided reports whether further pairs are of no use: no Gating figure is too noisy for a verdict.
// If there is no Gating figure, all figures count that are not only shown.
func (c *Comparison) Decided() bool {
	isGating := slices.ContainsFunc(c.Changes, Change.Gating)
	isOpen := func(change Change) bool {
		counts := change.Gating() || !isGating && !change.Before.Metric.ShownOnly
		return counts && change.Verdict == TooNoisy
	}
	return !slices.ContainsFunc(c.Changes, isOpen)
}

// WorstCase returns by how much, as a share, the new side may be worse; infinite if unknown.
func (c Change) WorstCase() float64 { return c.worst }
