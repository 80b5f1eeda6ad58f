package stat

import (
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat/benchtext"
)

// Files are compared by what a framing costs relative to raw, the framing that adds nothing,
// because a slower machine slows both framings. The cost is CPU time, which other programs hardly
// change.

// toRaw is the metric in which files are compared, unless the options ask for one of
// relativeMetrics.
var toRaw = Metric{Name: "to-raw", Better: Lower}

// relativeMetrics are the metrics whose ratio to raw may be asked for.
var relativeMetrics = []string{"goodput", "rate", "time", "cpu-time"}

const unitRelative = "× raw" // of relativeMetrics in a comparison

// runSpread is the standard deviation, between runs, of the logarithm of a ratio to raw. With this
// value, no verdict on 2,124 figures from nine runs of one build was false.
const runSpread = 0.005

// A logEstimate estimates the logarithm of a figure or a ratio. Its zero value means that nothing
// is known.
type logEstimate struct {
	mean, err float64   // err is the standard error of mean
	n         int       // number of values or pairs
	freedom   float64   // degrees of freedom of err
	pairs     []float64 // if set, logarithms of the ratios of pairs; mean and err are then not used

	disturbed float64 // share of samples during which other programs took a CPU
}

// interval returns limits between which the truth lies with a chance of 1-alpha. They are infinite
// if nothing is known.
func (e logEstimate) interval(alpha float64) (lo, hi float64) {
	if e.pairs != nil {
		lo, hi, ok := Sequence(e.pairs, alpha)
		if !ok {
			return math.Inf(-1), math.Inf(1)
		}
		return lo, hi
	}
	half := studentQuantile(e.freedom, 1-alpha/2) * e.err
	return e.mean - half, e.mean + half
}

// minus estimates the difference of two logarithms, which is the logarithm of a ratio. The degrees
// of freedom are those of Welch and Satterthwaite.
func (e logEstimate) minus(o logEstimate) logEstimate {
	err := math.Hypot(e.err, o.err)
	freedom := math.Pow(err, 4) / (math.Pow(e.err, 4)/e.freedom + math.Pow(o.err, 4)/o.freedom)
	return logEstimate{mean: e.mean - o.mean, err: err, n: e.n + o.n, freedom: freedom}
}

// normalMedian is √(π/2): how much more the median of normal values scatters than their mean.
const normalMedian = 1.2533

// medianOfLogs takes the logarithms of one run's values, and estimates the logarithm of their
// median.
func medianOfLogs(logs []float64) logEstimate {
	if len(logs) == 0 {
		return logEstimate{}
	}
	centre := medianOf(logs)
	err := normalMedian * deviation(logs, centre) / math.Sqrt(float64(len(logs)))
	return logEstimate{
		mean:    centre,
		err:     math.Hypot(err, runSpread),
		n:       len(logs),
		freedom: float64(len(logs) - 1),
	}
}

// medianOfLines does what medianOfLogs does for lines of benchmark text, whose times may jump
// between two levels. It needs at least [LeastSamples] values.
func medianOfLines(logs []float64) logEstimate {
	e := medianOfLogs(logs)
	// This interval holds for any distribution. The deviation may be that of only one of the
	// levels.
	i := Median(logs).Interval
	half := max(i.Hi-e.mean, e.mean-i.Lo)
	e.err = max(e.err, half/studentQuantile(e.freedom, (1+i.Confidence)/2))
	return e
}

// ratioToRaw estimates the logarithm of a ratio to the framing raw. It computes an error from all
// samples and one from the starts of the worker processes, and takes the larger one.
func ratioToRaw(m Metric, own, raw []results.Record) logEstimate {
	used := undisturbed(m.ratios(own, raw), observation.isDisturbed)
	if slices.ContainsFunc(used, func(o observation) bool { return o.value <= 0 }) {
		return logEstimate{} // CPU time is counted in ticks, and a sample had none
	}
	e := medianOfLogs(logsOf(valuesOf(used)))
	for _, o := range used {
		if o.disturbed {
			e.disturbed += 1 / float64(len(used))
		}
	}
	forks := byFork(used)
	if len(forks) > 1 {
		var medians []float64
		for _, fork := range forks {
			medians = append(medians, medianOf(logsOf(fork)))
		}
		err := stats.StdDev(medians) / math.Sqrt(float64(len(medians)))
		e.err = max(e.err, math.Hypot(err, runSpread))
		if kruskalWallis(forks) < alikeLevel {
			e.freedom = float64(len(forks) - 1)
		}
	}
	return e
}

// compareCells compares each combination of settings that both sets have, by its ratio to the
// framing raw. Then it compares each framing as a whole.
func (c *Comparison) compareCells(before, after *results.Set, o CompareOptions) {
	k := cellComparer{
		metric: MustMetric("cpu-time"),
		shown:  toRaw,
		across: o.Across,
		old:    gatherRows(before, hashOf),
		new:    gatherRows(after, hashOf),
	}
	for _, name := range o.Metrics {
		if slices.Contains(relativeMetrics, name) {
			k.metric = MustMetric(name)
			k.shown = k.metric
			k.shown.Unit = unitRelative
		}
	}
	if len(k.old) == 0 || len(k.new) == 0 {
		return
	}
	c.Names = append(c.Names, relativeMetrics...)
	if !c.collect(k.shown, o) {
		return
	}
	sortRows(k.old)
	for _, row := range k.old {
		k.compare(row)
	}
	k.compareFramings()
	c.Changes = append(c.Changes, k.changes...)
	for _, u := range k.leftOut {
		cells := results.FormatCount(u.Cells, "cell")
		c.Notes = append(c.Notes, "not judged: "+cells+": "+u.Reason)
		// If neither file has raw, this counts as unjudged only if nothing else was compared.
		if u.lacks || u.Reason == noRaw && len(k.changes) == 0 {
			c.Unjudged = append(c.Unjudged, u)
		}
	}
	c.Raw = k.compareRaw()
}

// A cellComparer compares the cells of two sets.
type cellComparer struct {
	metric   Metric // the metric whose ratio to raw is taken
	shown    Metric // the metric that the changes show
	across   bool   // whether different machines are compared, too
	old, new []Row
	changes  []Change
	leftOut  []Unjudged
	partial  []results.Cell // see wholeOf: framings with a size that is not judged
}

// leaveOut counts one more combination of settings that is not judged for the given reason.
func (k *cellComparer) leaveOut(cell results.Cell, one Unjudged) {
	if one.lacks {
		k.partial = append(k.partial, wholeOf(cell))
	}
	for i := range k.leftOut {
		if k.leftOut[i].Reason == one.Reason {
			k.leftOut[i].Cells++
			return
		}
	}
	one.Cells = 1
	k.leftOut = append(k.leftOut, one)
}

// mostDisturbed is the largest share of samples of either file that other programs disturbed with
// which a framing is judged. In two runs of one build at loads of 23 and 5, with 5 of 6 samples
// disturbed in both, the ratios to raw of all framings differed by a factor of 2.6: raw had met
// another load than they.
const mostDisturbed = 0.25

// noRaw is the reason for not judging a framing if no file has a measurement of raw bytes to
// compare it with.
const noRaw = "neither file has raw in the same rounds"

// Incomparable reports whether the speed measured with some settings says nothing of the framing:
// the reader leaves, the writer sleeps or polls between refusals, or the pace is given.
func Incomparable(c results.Cell) bool {
	return c.ClosesAfter > 0 || c.IsWaiting() || c.Drain > 0 || c.Rate > 0
}

// compare adds the change from an old row to the new row with the same settings, if there is such a
// row.
func (k *cellComparer) compare(old Row) {
	if old.Cell.Framing == results.FramingRaw {
		return
	}
	new := findRow(k.new, old.Machine, old.Cell)
	if new == nil {
		return
	}
	oldRaw := old.findRaw(k.old)
	newRaw := new.findRaw(k.new)
	switch {
	case Incomparable(old.Cell):
		k.leaveOut(old.Cell, Unjudged{Reason: "a pause, a pace or a reader that leaves " +
			"sets their speed"})
		return
	case oldRaw == nil && newRaw == nil:
		k.leaveOut(old.Cell, Unjudged{Reason: noRaw})
		return
	case oldRaw == nil || newRaw == nil:
		k.leaveOut(old.Cell, Unjudged{lacks: true, Reason: "one file has no raw in the same " +
			"rounds: run measures it beside every framing"})
		return
	case new.Machine != old.Machine && !k.across:
		unknown := logEstimate{}
		change := newChange(old.relative(k.shown, unknown), new.relative(k.shown, unknown))
		change.Verdict, change.Basis = change.machineVerdict()
		k.leaveOut(old.Cell, Unjudged{Reason: change.Basis})
		k.changes = append(k.changes, change)
		return
	}
	metric := k.metric
	before := ratioToRaw(metric, old.Records, oldRaw.Records)
	after := ratioToRaw(metric, new.Records, newRaw.Records)
	if metric.Name == "cpu-time" && min(before.n, after.n) < LeastSamples {
		metric = MustMetric("time") // the system counts no CPU time, or only whole ticks
		before = ratioToRaw(metric, old.Records, oldRaw.Records)
		after = ratioToRaw(metric, new.Records, newRaw.Records)
	}
	if min(before.n, after.n) < LeastSamples {
		reason := fmt.Sprintf("fewer than %d rounds beside raw: measure longer", LeastSamples)
		k.leaveOut(old.Cell, Unjudged{lacks: true, Reason: reason})
		return
	}
	if max(before.disturbed, after.disturbed) > mostDisturbed {
		k.leaveOut(old.Cell, Unjudged{lacks: true,
			Reason: "other programs took the CPUs: measure again, or both in turns"})
		return
	}
	change := newChange(old.relative(k.shown, before), new.relative(k.shown, after))
	change.Old = PairedRatio(metric, old.Records, oldRaw.Records)
	change.New = PairedRatio(metric, new.Records, newRaw.Records)
	change.logRatio = after.minus(before)
	k.changes = append(k.changes, change)
}

// relative returns a series whose only value is the row's ratio to raw.
func (r Row) relative(m Metric, ratio logEstimate) Series {
	out := r.series(benchtext.CellName(r.Cell), m)
	out.Values = []float64{math.Exp(ratio.mean)}
	return out
}

// findRow finds the row with the given settings, preferably on the given machine.
func findRow(rows []Row, machine string, cell results.Cell) *Row {
	var found *Row
	for i, r := range rows {
		if r.Cell == cell && (found == nil || r.Machine == machine) {
			found = &rows[i]
		}
	}
	return found
}

// wholeOf returns what the measurements of a framing at a placement and pattern share.
func wholeOf(c results.Cell) results.Cell {
	return results.Cell{Framing: c.Framing, Placement: c.Placement, Pattern: c.Pattern}
}

// compareFramings adds the mean change of each framing at each placement and pattern of messages,
// if all sizes were judged. The mean shows a change that is too small to be seen in a single
// measurement.
func (k *cellComparer) compareFramings() {
	var order []results.Cell
	changes := make(map[results.Cell][]Change)
	for _, change := range k.changes {
		if change.logRatio.n == 0 || change.Cell.Placement == "free" {
			continue
		}
		whole := wholeOf(*change.Cell)
		if changes[whole] == nil {
			order = append(order, whole)
		}
		changes[whole] = append(changes[whole], change)
	}
	for _, whole := range order {
		if len(changes[whole]) < 2 || slices.Contains(k.partial, whole) {
			continue
		}
		name := fmt.Sprintf("All/framing=%s/placement=%s/pattern=%s", whole.Framing,
			whole.Placement, whole.Pattern)
		series := Series{Name: name, Cell: &whole, Metric: k.shown}
		k.changes = append(k.changes, Change{
			Name:     name,
			Cell:     &whole,
			Metric:   k.shown.Name,
			Unit:     k.shown.Unit,
			Before:   series,
			After:    series,
			worst:    math.Inf(1),
			isWhole:  true,
			logRatio: meanOf(changes[whole]),
		})
	}
}

// meanOf returns the mean of changes, weighted by the inverse of their variances. A run may add the
// same error to all its measurements. The mean does not reduce that error.
func meanOf(changes []Change) logEstimate {
	common := math.Sqrt2 * runSpread
	var weights, sum, freedom float64
	n := 0
	for _, change := range changes {
		ratio := change.logRatio
		own := ratio.err*ratio.err - common*common // the variance of the cell alone
		weight := 1 / max(own, common*common/4)    // no cell may outweigh all others
		weights += weight
		sum += weight * ratio.mean
		n += ratio.n
		freedom += ratio.freedom
	}
	err := math.Hypot(1/math.Sqrt(weights), common)
	return logEstimate{mean: sum / weights, err: err, n: n, freedom: freedom}
}

// IsWhole reports whether the change is about a framing as a whole, not about one measurement.
func (c Change) IsWhole() bool { return c.isWhole }

// compareRaw returns the text of [Comparison.Raw], or "" if the speeds differ by less than
// [Tolerance].
func (k *cellComparer) compareRaw() string {
	goodput := MustMetric("goodput")
	var logs []float64
	for _, old := range k.old {
		new := findRow(k.new, old.Machine, old.Cell)
		if old.Cell.Framing != results.FramingRaw || new == nil || Incomparable(old.Cell) {
			continue
		}
		before, after := goodput.Estimate(old.Records...), goodput.Estimate(new.Records...)
		if before.Median > 0 && after.Median > 0 {
			logs = append(logs, math.Log(after.Median/before.Median))
		}
	}
	if len(logs) == 0 {
		return ""
	}
	change := math.Expm1(medianOf(logs))
	word := "faster"
	if change < 0 {
		word = "slower"
	}
	if math.Abs(change) < Tolerance {
		return ""
	}
	return fmt.Sprintf("raw is %s %s in the new file", results.FormatPercent(100*math.Abs(change)),
		word)
}
