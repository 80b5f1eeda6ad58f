package stat

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// addCounter judges a counter that does not vary within either side, or for which [Metric.ByRange]
// is set. Any other counter gets no verdict, and is shown only if the two sides lie far apart.
func (c *Comparison) addCounter(change Change, o CompareOptions) {
	old, new := change.Before, change.After
	change.Exact = areExact(old, new)
	oldLeast, oldMost := stats.Bounds(old.Values)
	newLeast, newMost := stats.Bounds(new.Values)
	gap := max(newLeast-oldMost, oldLeast-newMost) // negative if the sides overlap
	differs := gap > max(slack(old), slack(new))
	if change.Before.Metric.ByRange { // a few values may not show the whole range
		differs = differs && gap > max(oldMost-oldLeast, newMost-newLeast)
	}
	judged := change.Exact || change.Before.Metric.ByRange
	isClose := judged && !differs
	// What varies from start to start only adds calls. So a program with another least count may
	// make other calls, although the ranges overlap.
	leastChange := (newLeast - oldLeast) / max(oldLeast, 1) // as a share; of 0, as a number
	worst := worsening(change.Before.Metric.Better, 1+leastChange)
	isElsewhere := change.machinesDiffer() && !o.Across
	switch {
	case isElsewhere && differs:
		change.Verdict, change.Basis = change.machineVerdict()
	case isElsewhere:
		return
	case isClose:
		change.judgeClose(worst)
	case judged:
		change.Verdict = Fewer
		if newLeast > oldMost {
			change.Verdict = More
		}
		change.worst = change.Worse()
	case differs && gap > min(oldMost-oldLeast, newMost-newLeast):
		change.Verdict = Varies
	default:
		return
	}
	c.Changes = append(c.Changes, change)
}

// judgeClose judges a counter whose two sides do not lie apart. The least values are worse by the
// share worst.
func (c *Change) judgeClose(worst float64) {
	isGoTest := c.Before.Metric.Name == "allocs/op" // with what the runtime allocates
	differs := isGoTest && math.Abs(c.After.Figure.Median-c.Before.Figure.Median) >= 1
	switch {
	case c.Exact && differs:
		c.Verdict = NoVerdict
		c.Basis = "too few iterations to tell: give -test.benchtime 100x"
		c.worst = c.Worse()
	case !c.Exact && (differs || math.Abs(worst) > Tolerance):
		c.Verdict = Varies
		c.Basis = "counts vary from start to start: judge the time, without --counts"
		if isGoTest {
			c.Basis = "it varies from run to run: give a longer -test.benchtime"
		}
		c.worst = max(worst, c.Worse())
	default:
		c.Verdict = NoChange
		c.worst = 0
		c.Basis = c.whyNoChange()
	}
}

// whyNoChange says why a counter did not change although its figures differ, or "" if they do not.
func (c Change) whyNoChange() string {
	if !c.Before.Metric.ByRange || c.Old.Median == c.New.Median {
		return ""
	}
	return "counts vary as much between starts of one version"
}

// isCount reports whether a metric of benchmark text is compared as a counter. Such a metric counts
// bytes or has a median of 0, and does not vary on the old or on the new side; or it counts bytes
// and [isAgainstNone] is true.
func isCount(old, new Series) bool {
	m := old.Metric
	if isAgainstNone(old, new) {
		return true
	}
	if old.Cell != nil || m.Better == Neither || !exact(old) || !exact(new) {
		return false
	}
	difference := math.Abs(new.Figure.Median - old.Figure.Median)
	isSmall := difference <= max(slack(old), slack(new))
	isFew := min(len(old.Values), len(new.Values)) < LeastPairs // chance may keep them constant
	if difference > 0 && (isSmall || isFew) {
		return false
	}
	return m.Name == bytesPerOp || old.Figure.Median == 0 || new.Figure.Median == 0
}

// areExact reports whether a difference of two counters is never by chance.
func areExact(old, new Series) bool { return exact(old) && exact(new) || isAgainstNone(old, new) }

// isAgainstNone reports whether one side alone allocates memory, and does so in every sample, or
// whether neither does.
func isAgainstNone(old, new Series) bool {
	if old.Metric.Name != bytesPerOp {
		return false
	}
	oldLeast, oldMost := stats.Bounds(old.Values)
	newLeast, newMost := stats.Bounds(new.Values)
	none := allocatesNone(old) && allocatesNone(new)
	return none || oldMost == 0 && newLeast > slack(new) || newMost == 0 && oldLeast > slack(old)
}

// allocatesNone reports whether the median of allocated bytes is 0, and at most a fifth of the
// samples have more than a byte: the runtime and the first iteration add bytes here and there.
func allocatesNone(s Series) bool {
	some := 0
	for _, v := range s.Values {
		if v > 1 {
			some++
		}
	}
	return s.Figure.Median == 0 && 5*some <= len(s.Values)
}

// slack returns how much a counter may vary and still count as exact. It may vary because of
// rounding, and because of calls that belong to no message.
func slack(s Series) float64 {
	rounding := 1e-9 * math.Abs(slices.Max(s.Values))
	return s.Metric.fixed/float64(max(1, s.Messages)) + rounding
}

// exact reports whether a counter is the same in every sample, apart from its [slack].
func exact(s Series) bool {
	least, most := stats.Bounds(s.Values)
	return most-least <= slack(s)
}
