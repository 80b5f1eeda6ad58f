package stat

import (
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"

	"github.com/pipebench/pipebench/results"
)

// Files that were measured at different times are compared by what a cell costs relative to raw.
// Each run measures raw within milliseconds of the cell: if the machine is slower on the second
// day, it is slower for both. The cost is CPU time per message, which other programs hardly change:
// in nine default runs of one build, at a load average of 5, ratios of CPU time scattered by 0.5 %
// to 4 %, ratios of goodput by 0.7 % to 17 %.

// toRaw is the figure by which files are compared.
var toRaw = Metric{
	Name: "to-raw", Title: "CPU time per message, beside raw's in the same rounds", Better: Lower,
}

// relativeMetrics are the metrics whose ratio to raw may be asked for. By default it is CPU time.
var relativeMetrics = []string{"goodput", "rate", "time", "cpu-time"}

// runSpread is how much a ratio to raw differs between runs, beyond the scatter within a run: a
// standard deviation of the ratio's logarithm. With it, and the larger of the two errors in
// relativeSpread, no verdict on 2,124 figures of nine default runs of one build was false, on a
// machine with a load of five.
const runSpread = 0.005

// A spread estimates the logarithm of a ratio: its mean, with the standard error of n values, or,
// if pairs is set, the logarithms of pairs instead. The zero spread means that nothing is known.
type spread struct {
	mean, err float64
	n         int
	pairs     []float64

	disturbed float64 // the share of a run's rounds in which others took a CPU
}

// interval returns limits that the truth lies between, except with a chance of alpha. If nothing is
// known, the limits are infinite.
func (s spread) interval(alpha float64) (lo, hi float64) {
	if s.pairs != nil {
		lo, hi, ok := Sequence(s.pairs, alpha)
		if !ok {
			return math.Inf(-1), math.Inf(1)
		}
		return lo, hi
	}
	half := studentQuantile(float64(s.n-1), 1-alpha/2) * s.err
	return s.mean - half, s.mean + half
}

// minus returns the spread of the difference of two.
func (s spread) minus(o spread) spread {
	return spread{mean: s.mean - o.mean, err: math.Hypot(s.err, o.err), n: s.n + o.n - 1}
}

// normalMedian is how many times as much the median of normal values scatters as their mean:
// √(π/2).
const normalMedian = 1.2533

// spreadOfLogs returns the spread of the median of one run's values.
func spreadOfLogs(logs []float64) spread {
	if len(logs) == 0 {
		return spread{}
	}
	centre := median(logs)
	err := normalMedian * deviation(logs, centre) / math.Sqrt(float64(len(logs)))
	return spread{mean: centre, err: math.Hypot(err, runSpread), n: len(logs)}
}

// relativeSpread returns the spread of a cell's ratio to raw. Its error is the larger of two, from
// the rounds and from the forks: forks may differ by more than their rounds show.
func relativeSpread(m Metric, own, raw []results.Record) spread {
	used := undisturbed(m.ratios(own, raw), observation.isDisturbed)
	if slices.ContainsFunc(used, func(o observation) bool { return o.value <= 0 }) {
		return spread{} // the system counts CPU time in ticks, and a slice had none
	}
	s := spreadOfLogs(logsOf(valuesOf(used)))
	for _, o := range used {
		if o.disturbed {
			s.disturbed += 1 / float64(len(used))
		}
	}
	if forks := byFork(used); len(forks) > 1 {
		var medians []float64
		for _, fork := range forks {
			medians = append(medians, median(logsOf(fork)))
		}
		err := stats.StdDev(medians) / math.Sqrt(float64(len(medians)))
		s.err = max(s.err, math.Hypot(err, runSpread))
	}
	return s
}

// compareCells compares the cells that both sets have by their ratio to raw, and then each framing
// as a whole. It counts the cells that cannot be judged, for each reason.
func (c *Comparison) compareCells(before, after *results.Set, o CompareOptions) {
	m := MustMetric("cpu-time")
	own := toRaw
	for _, name := range o.Metrics {
		if slices.Contains(relativeMetrics, name) {
			m = MustMetric(name)
			own = m
			own.Title += ", beside raw's in the same rounds"
		}
	}
	k := cellComparer{
		metric: m, shown: own, across: o.Across,
		old: rowsOf(before), new: rowsOf(after),
	}
	if len(k.old) > 0 && len(k.new) > 0 {
		c.Names = append(c.Names, relativeMetrics...)
	}
	if !c.asks(own, o) {
		return
	}
	sortRows(k.old)
	for _, row := range k.old {
		k.compare(row)
	}
	k.compareFramings()
	c.Changes = append(c.Changes, k.changes...)
	for _, u := range k.leftOut {
		c.addNote("not judged: %s: %s", results.FormatCount(u.Cells, "cell"), u.Reason)
		// Cells without raw in either file count as unjudged only if nothing else was compared.
		if u.lacks || u.Reason == noRaw && len(k.changes) == 0 {
			c.Unjudged = append(c.Unjudged, u)
		}
	}
	if note := k.machineNote(); note != "" {
		c.Notes = append(c.Notes, note)
	}
}

// A cellComparer compares the cells of two sets.
type cellComparer struct {
	metric, shown Metric
	across        bool
	old, new      []Row
	changes       []Change
	leftOut       []Unjudged
}

func (k *cellComparer) leaveOut(reason string, lacks bool) {
	for i := range k.leftOut {
		if k.leftOut[i].Reason == reason {
			k.leftOut[i].Cells++
			return
		}
	}
	k.leftOut = append(k.leftOut, Unjudged{1, reason, lacks})
}

// mostLoadApart is how far the shares of disturbed rounds of two files may lie apart for their
// cells to be compared. A framing that shares its CPU with other programs has a different ratio to
// raw: more messages are in the pipe when its reader gets the CPU, so the reader makes fewer calls;
// and its memory is no longer in the cache.
const mostLoadApart = 0.25

// noRaw is the reason for cells that have no raw beside them in either file.
const noRaw = "neither file has raw in the same rounds"

// Incomparable says why the speed of a cell is never compared; "" if it is.
func Incomparable(c results.Cell) string {
	switch {
	case c.ClosesAfter > 0:
		return "the reader leaves, and speed is not what the cell is about"
	case c.IsWaiting():
		return "the writer sleeps or polls between refusals: its speed is that of its pauses"
	case c.Drain > 0 || c.Rate > 0:
		return "the pace is given, and no figure of the framing"
	}
	return ""
}

// compare adds the change of a cell, if the new side has it.
func (k *cellComparer) compare(old Row) {
	if old.Cell.Framing == results.FramingRaw {
		return
	}
	new := findRow(k.new, old.Machine, old.Cell)
	if new == nil {
		return
	}
	oldRaw := old.raw(k.old)
	newRaw := new.raw(k.new)
	reason := Incomparable(old.Cell)
	lacks := false
	switch {
	case reason != "":
	case oldRaw == nil && newRaw == nil:
		reason = noRaw
	case oldRaw == nil || newRaw == nil:
		reason = "one file has no raw in the same rounds: run measures it beside every framing"
		lacks = true
	}
	if reason != "" {
		k.leaveOut(reason, lacks)
		return
	}
	if new.Machine != old.Machine && !k.across {
		change := newChange(old.relative(k.shown, spread{}), new.relative(k.shown, spread{}))
		change.Verdict, change.Basis = change.whereabouts()
		k.leaveOut(change.Basis, false) // the change itself has no verdict
		k.changes = append(k.changes, change)
		return
	}
	metric := k.metric
	before := relativeSpread(metric, old.Records, oldRaw.Records)
	after := relativeSpread(metric, new.Records, newRaw.Records)
	if metric.Name == "cpu-time" && min(before.n, after.n) < LeastSamples {
		metric = MustMetric("time") // the system counts no CPU time, or only whole ticks
		before = relativeSpread(metric, old.Records, oldRaw.Records)
		after = relativeSpread(metric, new.Records, newRaw.Records)
	}
	if min(before.n, after.n) < LeastSamples {
		reason := fmt.Sprintf("fewer than %d rounds beside raw: measure longer", LeastSamples)
		k.leaveOut(reason, true)
		return
	}
	if math.Abs(after.disturbed-before.disturbed) > mostLoadApart {
		k.leaveOut("other programs took the CPUs in one file alone, and comparing with raw "+
			"does not make up for that: measure again, or both in turns", true)
		return
	}
	change := newChange(old.relative(k.shown, before), new.relative(k.shown, after))
	change.Old = PairedRatio(metric, old.Records, oldRaw.Records)
	change.New = PairedRatio(metric, new.Records, newRaw.Records)
	change.spread = after.minus(before)
	k.changes = append(k.changes, change)
}

// relative returns the series of a row's ratio to raw.
func (r Row) relative(m Metric, s spread) Series {
	out := r.series(m)
	out.Values = []float64{math.Exp(s.mean)}
	return out
}

// findRow finds a cell on the given machine, or else on any machine.
func findRow(rows []Row, machine string, cell results.Cell) *Row {
	var found *Row
	for i, r := range rows {
		if r.Cell == cell && (found == nil || r.Machine == machine) {
			found = &rows[i]
		}
	}
	return found
}

// compareFramings adds the change of each framing as a whole for each placement: the mean of its
// cells. It finds a framing that is slower in all its cells, but in each by too little to be sure.
func (k *cellComparer) compareFramings() {
	var order []results.Cell
	changes := make(map[results.Cell][]Change)
	for _, change := range k.changes {
		if change.spread.n == 0 || change.Cell.Placement == "free" {
			continue
		}
		whole := results.Cell{Framing: change.Cell.Framing, Placement: change.Cell.Placement}
		if changes[whole] == nil {
			order = append(order, whole)
		}
		changes[whole] = append(changes[whole], change)
	}
	for _, whole := range order {
		if len(changes[whole]) < 2 {
			continue
		}
		name := fmt.Sprintf("All/framing=%s/placement=%s", whole.Framing, whole.Placement)
		series := Series{Name: name, Cell: &whole, Metric: k.shown}
		k.changes = append(k.changes, Change{
			Name:   name,
			Cell:   &whole,
			Metric: k.shown.Name,
			Before: series,
			After:  series,
			worst:  math.Inf(1),
			spread: combined(changes[whole]),
		})
	}
}

// combined returns the mean of changes, where a smaller error gives more weight. The part of the
// error that comes from the runs is common to all cells, so the mean of many cells does not make it
// smaller.
func combined(changes []Change) spread {
	common := math.Sqrt2 * runSpread
	var weights, sum float64
	n := 0
	for _, change := range changes {
		own := change.spread.err*change.spread.err - common*common
		weight := 1 / max(own, common*common/4)
		weights += weight
		sum += weight * change.spread.mean
		n += change.spread.n
	}
	return spread{mean: sum / weights, err: math.Hypot(1/math.Sqrt(weights), common), n: n}
}

// IsWhole reports whether the change is about a framing as a whole, not about a single cell.
func (c Change) IsWhole() bool { return c.Cell != nil && c.Cell.Pattern == "" }

// machineNote says how much faster or slower raw was in the new file, because every ratio rests on
// raw; "" if the difference is less than a percent.
func (k *cellComparer) machineNote() string {
	goodput := MustMetric("goodput")
	var logs []float64
	for _, old := range k.old {
		new := findRow(k.new, old.Machine, old.Cell)
		if old.Cell.Framing != results.FramingRaw || new == nil || Incomparable(old.Cell) != "" {
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
	change := 100 * math.Expm1(median(logs))
	if math.Abs(change) < 1 {
		return ""
	}
	word := "faster"
	if change < 0 {
		word = "slower"
	}
	return fmt.Sprintf("the machine was %s %s in the new file (goodput of raw, whatever the "+
		"build); it has dropped out of the ratios", results.FormatPercent(math.Abs(change)), word)
}

// A Noise says how far a cell's ratio to raw moves between runs of the same build under the same
// conditions.
type Noise struct {
	Cell   results.Cell
	Values []float64 // the ratio of each run
	// Spread is the largest ratio between two runs, less 1. Between two further runs, a change by
	// more than Bound happens by chance once in twenty times.
	Spread, Bound float64
}

// NoiseOf assumes that all runs of a set are alike, and lists the cells that at least two of them
// measured beside raw.
func NoiseOf(s *results.Set) []Noise {
	var out []Noise
	rows := rowsOf(s)
	sortRows(rows)
	for _, row := range rows {
		raw := row.raw(rows)
		if row.Cell.Framing == results.FramingRaw || raw == nil || Incomparable(row.Cell) != "" {
			continue
		}
		n := Noise{Cell: row.Cell}
		var logs []float64
		for _, run := range row.Runs {
			own, base := recordsOf(row.Records, run), recordsOf(raw.Records, run)
			one := relativeSpread(MustMetric("cpu-time"), own, base)
			if one.n > 0 {
				logs = append(logs, one.mean)
				n.Values = append(n.Values, math.Exp(one.mean))
			}
		}
		if len(logs) < 2 {
			continue
		}
		least, most := stats.Bounds(logs)
		n.Spread = math.Expm1(most - least)
		quantile := studentQuantile(float64(len(logs)-1), (1+Confidence)/2)
		n.Bound = math.Expm1(quantile * math.Sqrt2 * stats.StdDev(logs))
		out = append(out, n)
	}
	return out
}

func recordsOf(all []results.Record, run string) []results.Record {
	var out []results.Record
	for _, r := range all {
		if r.Run == run {
			out = append(out, r)
		}
	}
	return out
}
