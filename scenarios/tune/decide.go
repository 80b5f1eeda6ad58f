package tune

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// A Decision says whether a larger pipe or smaller writes are worth it (field Lever), and which
// chunk size to use if small messages must not wait behind large ones (field Chunk). If Unproven is
// set, Lever is only a change to try.
type Decision struct {
	Objective Objective `json:"objective"`
	Lever     Choice    `json:"lever"`              // the advice for a reader that only moves bytes
	Chunk     int       `json:"chunk,omitempty"`    // chunk size, in bytes
	Unproven  string    `json:"unproven,omitempty"` // why the records prove nothing, or ""

	grid
}

// A grid holds the records of a run. It finds a record by what was measured: the way to send, the
// placement of the processes, the pattern and the reader.
type grid struct {
	records     []results.Record
	shared      results.Cell // has the Size of all records, and the Framing of those without chunks
	trip        string       // the metric of round trips that is shown
	interrupted bool         // as the last run was that made the records
}

// Decide weighs the records of one run of [Cells].
func Decide(records []results.Record, o Objective) Decision {
	d := Decision{Objective: o, grid: newGrid(records)}
	switch {
	case !d.Measured():
		d.Unproven = "no round trip compares a change with the usual pipe: this is no run of " +
			"tune, or it ended too early"
		return d
	case d.disturbed() > 0.5:
		d.Unproven = fmt.Sprintf("the machine did other work in %s of the measurements",
			results.FormatPercent(100*d.disturbed()))
	}
	d.decideLever()
	d.decideChunk()
	return d
}

// An Objective says how much goodput a shorter wait of small messages may cost, and whether goodput
// or the time of one message counts.
type Objective string

// The objectives. To halve the wait of small messages, Throughput gives up less than 1 % of the
// goodput, Balanced 7 %, and Latency 50 %.
const (
	Balanced   Objective = "balanced"
	Throughput Objective = "throughput"
	Latency    Objective = "latency"
)

// Objectives lists the objectives, each with a description in one line.
var Objectives = [][2]string{
	{string(Balanced),
		"goodput and the time of one message; halving a wait is worth 7 % of goodput"},
	{string(Throughput), "goodput; the wait of small messages hardly counts"},
	{string(Latency), "the time of one message; halving a wait is worth half of the goodput"},
}

// waitWeight returns the exponent w in speed ÷ waitʷ, the value by which chunk sizes are compared.
func (o Objective) waitWeight() float64 {
	switch o {
	case Throughput:
		return 0.01
	case Latency:
		return 1
	}
	return 0.1
}

// ParseObjective reads the name of an objective.
func ParseObjective(name string) (Objective, error) {
	var known []string
	for _, o := range Objectives {
		if o[0] == name {
			return Objective(name), nil
		}
		known = append(known, o[0])
	}
	return "", fmt.Errorf("objective %q is unknown; known are %s", name, strings.Join(known, ", "))
}

// isFullSpeed reports whether c measures a stream to a reader that only moves the bytes.
func isFullSpeed(c results.Cell) bool { return c.Pattern == "stream" && c.Work == 0 }

// newGrid returns a grid of the records that have samples. Its field shared stays zero if no whole
// messages were measured at full speed.
func newGrid(records []results.Record) grid {
	g := grid{trip: medianTrip}
	for _, r := range records {
		isLast := r.Run == records[len(records)-1].Run
		g.interrupted = g.interrupted || isLast && r.Stopped == "interrupted"
		if len(r.Samples) == 0 {
			continue
		}
		g.records = append(g.records, r)
		isWhole := choiceOf(r.Cell) == unchanged && r.Cell.Framing != results.FramingRaw
		if isWhole && isFullSpeed(r.Cell) { // with such a record, places is not empty
			g.shared = r.Cell
		}
		isTrips := r.Cell.Pattern == results.PatternRoundtrip
		if isTrips && stat.EstimateOf(g.trip, r.Samples).N == 0 {
			g.trip = "time"
		}
	}
	return g
}

// Measured reports whether any change was measured beside whole messages through the usual pipe, in
// round trips: only tune does that. Without it, there is nothing to decide.
func (g grid) Measured() bool {
	for _, place := range g.places() {
		for _, c := range choices {
			_, ok := g.ratio("time", c, place, results.PatternRoundtrip, movingReader)
			if ok && c != unchanged {
				return true
			}
		}
	}
	return false
}

// disturbed returns the share of the records that other programs disturbed.
func (g grid) disturbed() float64 {
	n := 0
	for _, r := range g.records {
		if r.Disturbed {
			n++
		}
	}
	return float64(n) / float64(len(g.records))
}

// find returns the record of a choice with that placement, pattern and reader.
func (g grid) find(c Choice, place, pattern string, r reader) (results.Record, bool) {
	o := Options{Size: g.shared.Size, Framing: g.shared.Framing}
	want := o.cell(c, place, pattern, r)
	for _, record := range g.records {
		if record.Cell == want {
			return record, true
		}
	}
	return results.Record{}, false
}

// places returns the placements that were measured at full speed.
func (g grid) places() []string {
	var places []string
	for _, r := range g.records {
		c := r.Cell
		if isFullSpeed(c) && !slices.Contains(places, c.Placement) {
			places = append(places, c.Placement)
		}
	}
	return places
}

// ratio compares the choice c with sending messages whole through the usual pipe. If the ratio is
// above 1, the choice is better. The second result is false if one of these two ways was not
// measured.
func (g grid) ratio(metric string, c Choice, place, pattern string, r reader) (
	stat.Estimate, bool,
) {
	return g.ratioTo(unchanged, metric, c, place, pattern, r)
}

// ratioTo compares the choice c with another, as ratio does.
func (g grid) ratioTo(other Choice, metric string, c Choice, place, pattern string, r reader) (
	stat.Estimate, bool,
) {
	own, found := g.find(c, place, pattern, r)
	base, foundBase := g.find(other, place, pattern, r)
	if !found || !foundBase {
		return stat.Estimate{}, false
	}
	e := stat.PairedRatio(stat.MustMetric(metric), []results.Record{own}, []results.Record{base})
	if e.N == 0 || e.Median <= 0 {
		return stat.Estimate{}, false
	}
	if stat.MustMetric(metric).Better == stat.Lower {
		e = e.Inverse()
	}
	return e, true
}

// Limits of decideLever. They apply to ratios between a change and whole messages through the usual
// pipe, or to the logarithms of such ratios.
const (
	worthIt       = 1.15 // the ratio to reach on average; for sure, if a simpler change gains, too
	worstAllowed  = 0.9  // the ratio that a change has to reach at each placement
	nearBest      = 0.7  // a simpler change needs this share of the best gain, as a logarithm
	mostHalfWidth = 0.25 // half of an interval, as a logarithm; if larger, noise hides the answer
)

// A score is the average gain of a choice, compared with another.
type score struct {
	choice    Choice
	gain      float64 // the logarithm of a ratio
	halfWidth float64 // of the interval of gain; infinite if there are too few samples for one
	worst     float64 // the smallest ratio at any placement, of pairs or of medians in the tables
	loses     bool    // whether the choice is certainly worse at any placement
	gains     bool    // whether it certainly gains enough at any placement, as the objective asks
}

// weigh scores the choice c, compared with another, by goodput, the time of a round trip, or both,
// as the objective asks. The field worst is about both, whatever the objective.
func (d Decision) weigh(c, other Choice) (score, bool) {
	s := score{choice: c, worst: math.Inf(1)}
	n := 0
	variance := 0.0
	for _, place := range d.places() {
		for _, f := range []struct{ metric, shown, pattern string }{
			{"goodput", "goodput", "stream"},
			{"time", d.trip, results.PatternRoundtrip},
		} {
			e, ok := d.ratioTo(other, f.metric, c, place, f.pattern, movingReader)
			if !ok {
				return s, false
			}
			shown := d.shownRatio(f.shown, c, other, place, f.pattern)
			if f.metric == "time" {
				shown = 1 / shown // less is better
			}
			s.worst = min(s.worst, e.Median, shown)
			s.loses = s.loses || view.Judge(e, 1/worstAllowed) == view.Loss
			if d.Objective == Throughput && f.metric == "time" ||
				d.Objective == Latency && f.metric == "goodput" {
				continue
			}
			s.gains = s.gains || view.Judge(e, worthIt) == view.Gain
			s.gain += math.Log(e.Median)
			variance += math.Pow(halfWidth(e), 2)
			n++
		}
	}
	s.gain /= float64(n)
	s.halfWidth = math.Sqrt(variance) / float64(n)
	return s, true
}

// shownRatio returns the figure of c in the tables divided by that of another choice.
func (d Decision) shownRatio(metric string, c, other Choice, place, pattern string) float64 {
	own, _ := d.find(c, place, pattern, movingReader)
	base, _ := d.find(other, place, pattern, movingReader)
	return stat.EstimateOf(metric, own.Samples).Median /
		stat.EstimateOf(metric, base.Samples).Median
}

// halfWidth returns half of the width of an estimate's interval, as a logarithm. Without an
// interval, it returns infinity.
func halfWidth(e stat.Estimate) float64 {
	if e.Interval == nil || e.Interval.Lo <= 0 {
		return math.Inf(1)
	}
	return math.Log(e.Interval.Hi/e.Interval.Lo) / 2
}

// decideLever sets Lever to the simplest change that gains nearly as much as the best one, unless
// the best one surely gains more. Lever certainly gains at one placement at least, and no figure of
// it is much lower at any. If the records prove nothing, it sets Unproven to the reason.
func (d *Decision) decideLever() {
	var scores []score // of the changes that count, in the order of choices
	best := score{gain: math.Inf(-1)}
	narrowest := math.Inf(1) // the smallest half-width of all changes
	isProven := true         // if no change is advised: each is refuted
	gains := false           // whether Lever certainly gains somewhere
	limit := math.Log(worthIt)
	for _, c := range choices {
		if c == unchanged || c.Chunk > 0 {
			continue
		}
		s, ok := d.weigh(c, unchanged)
		if !ok {
			continue
		}
		narrowest = min(narrowest, s.halfWidth)
		isRefuted := s.loses || s.gain+s.halfWidth < limit // certainly
		isProven = isProven && isRefuted
		if s.worst < worstAllowed {
			continue
		}
		scores = append(scores, s)
		if s.gain > best.gain {
			best = s
		}
	}
	for _, s := range scores {
		more, _ := d.weigh(best.choice, s.choice)
		if s.gain < max(limit, nearBest*best.gain) || more.gain-more.halfWidth > limit {
			continue
		}
		d.Lever = s.choice
		isProven = s.gains && s.halfWidth <= min(mostHalfWidth, s.gain)
		gains = s.gains
		break
	}
	switch {
	case d.Unproven != "": // Decide said why
	case math.IsInf(narrowest, 1):
		d.Unproven = fmt.Sprintf("too many cells have fewer than %d samples", stat.LeastSamples)
	case !isProven:
		d.Unproven = "noise hides what a change gains on average"
	}
	if !gains {
		d.Lever = unchanged
	}
}

// chunkSizes are the sizes of [choices] that have chunks, the usual one first.
var chunkSizes = []Choice{
	{Chunk: 16 << 10}, {Chunk: 4 << 10}, {Chunk: 60 << 10}, {Chunk: 256 << 10},
}

// decideChunk sets Chunk to the usual size, or to one that is certainly better, even if whole
// messages are better still. A size of which no wait was measured is no choice.
func (d *Decision) decideChunk() {
	for _, c := range chunkSizes {
		if len(d.waitPairs(c)) == 0 {
			continue
		}
		if d.Chunk == 0 || d.isBetterChunk(c, Choice{Chunk: d.Chunk}) {
			d.Chunk = c.Chunk
		}
	}
}

// isBetterChunk reports whether speed ÷ waitʷ, where w is waitWeight, is certainly larger with
// chunks of c than with those of other. If both processes share a CPU, the speed is by CPU time,
// which other programs do not change.
func (d Decision) isBetterChunk(c, other Choice) bool {
	place := d.places()[0]
	metric := "goodput"
	if place == "same" {
		metric = "cpu"
	}
	speed, ok := d.ratioTo(other, metric, c, place, "stream", movingReader)
	if !ok {
		return false
	}
	gain := math.Log(speed.Median)
	variance := math.Pow(halfWidth(speed), 2)
	weight := d.Objective.waitWeight() / float64(len(slowReaders))
	for _, r := range slowReaders {
		shorter, ok := d.ratioTo(other, waitMetric, c, "free", bench.PatternMixed, r)
		if !ok {
			return false
		}
		gain += weight * math.Log(shorter.Median)
		variance += math.Pow(weight*halfWidth(shorter), 2)
	}
	return gain > math.Sqrt(variance)
}

// waitMetric is the metric of how long small messages wait: the median of the times from when a
// message is due until it arrives.
const waitMetric = "due.p50"

// medianTrip is the metric of round trips that the answer shows: the median of all trips. If a
// record has too few trips for a median, it is the mean, "time".
const medianTrip = "roundtrip.p50"
