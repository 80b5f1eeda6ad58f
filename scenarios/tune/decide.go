package tune

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

const (
	// convergedMargin is the margin at which a search ends: no other size is better than the best
	// by more, as far as the samples can tell.
	convergedMargin = 0.05
	// inconclusiveMargin is the margin from which noise hides the answer.
	inconclusiveMargin = 0.25
	// alike is how far below the best a size may lie and be worth the same.
	alike = 0.05
	// betweenRuns is what the worth of one size against another's differs by from run to run,
	// beyond what the samples of either tell: two standard deviations of 8 KiB against 60 KiB over
	// thirteen runs within an hour, on a virtual machine of two CPUs whose host had other work.
	betweenRuns = 0.11
)

// A Decision is what records say about chunk sizes.
type Decision struct {
	// The Cost is "cpu" where the ends share a CPU, else "goodput". Alike are among the Possible sizes;
	// what is hardly known counts there as known to that which runs differ by.
	results.RecommendationEvidence

	Best      int     // chunk size in bytes to use: the smallest of Alike; 0 if nothing was measured in full
	Top       int     // the size that the samples make worth the most
	Unchunked bool    // messages that are not cut are worth as much as Top within 5 %: chunking buys nothing
	Disturbed float64 // share of the records that sizes are chosen by in which the machine did other work
	Samples   int     // that each figure of what is recommended has at least
	Scores    []Score // of all sizes that were measured in full, ascending
	Whole     *Score  // of messages that are not cut; nil where they were not measured in full
	Fast      int64   // the reader's rate at which cost counts; 0 is as fast as it can
	Slow      []int64 // the reader's rates at which waits count

	shared results.Cell // what candidates have in common, beside a framing and reader's rate of one
}

// A Score is what a chunk size, or none, is worth: the logarithm of bytes for the cost ÷ waitʷ, relative to
// the lowest cost and the shortest waits.
type Score struct {
	Chunk     int
	Value     float64
	HalfWidth float64          // half of the interval that the true value lies in
	Cost      Figure           // at the fast rate, of the metric that the decision names
	Waits     map[int64]Figure // p90 of probes by the reader's rate, nanoseconds

	samples int // of its figure that has the fewest
}

// A Figure is a metric's median, and how far that may be off.
type Figure struct {
	stat.Estimate
	halfWidth float64 // of the interval, as a logarithm
}

// Converged reports whether the decision is known well enough to stand.
func (d Decision) Converged() bool { return d.Best > 0 && d.Margin <= convergedMargin }

// Inconclusive reports whether nothing can be recommended: noise hides the answer, there are too few
// samples for an interval, or most of them were disturbed. A flat curve has an answer.
func (d Decision) Inconclusive() bool {
	return d.Best == 0 || d.Margin > inconclusiveMargin && !d.Flat || d.Samples < stat.LeastSamples || d.Disturbed > 0.5
}

// Of returns the score of a chunk size.
func (d Decision) Of(chunk int) (Score, bool) {
	i := slices.IndexFunc(d.Scores, func(s Score) bool { return s.Chunk == chunk })
	if i < 0 {
		return Score{}, false
	}
	return d.Scores[i], true
}

// Decide weighs the sizes of the chunked framing in the records. Records with another capacity,
// sender or message size than the first are variants, not candidates; so are unchunked framings.
func Decide(records []results.Tune, o Objective) Decision {
	d := Decision{RecommendationEvidence: results.RecommendationEvidence{Objective: string(o)}}
	measured := stat.Filter(records, func(r results.Tune) bool { return len(r.Samples) > 0 })
	first := slices.IndexFunc(measured, func(r results.Tune) bool { return chunkOf(r.Cell) > 0 && r.Cell.Sender == "" })
	if first < 0 {
		return d
	}
	d.shared = measured[first].Cell
	alike := stat.Filter(measured, func(r results.Tune) bool { return !isVariant(r.Cell, d.shared) })
	plain := stat.Filter(alike, func(r results.Tune) bool { return chunkOf(r.Cell) > 0 })
	// the readers' rates: the fastest, and those that are limited; where none is, the waits at the
	// fastest count
	d.Slow = stat.Distinct(plain, func(r results.Tune) int64 { return r.Cell.Drain })
	slices.SortFunc(d.Slow, faster)
	if d.Fast = d.Slow[0]; d.Fast == 0 && len(d.Slow) > 1 {
		d.Slow = d.Slow[1:]
	}
	d.Cost = costMetric(plain, d.Fast)
	chunks := stat.Map(plain, func(r results.Tune) int { return chunkOf(r.Cell) })
	slices.Sort(chunks)
	for _, chunk := range slices.Compact(chunks) {
		if s, ok := d.measured(plain, chunk); ok {
			d.Scores = append(d.Scores, s)
		}
	}
	if len(d.Scores) == 0 {
		return d
	}
	whole := stat.Filter(alike, func(r results.Tune) bool { return r.Cell.Framing == unchunked })
	if score, ok := d.measured(whole, 0); ok {
		d.Whole = &score
	}
	d.weigh(weights[o])
	d.choose()
	// the machine did other work in most of the samples, or kept their generator from its schedule
	disturbed := stat.Filter(plain, func(r results.Tune) bool {
		most := stat.Filter(r.Samples, func(s results.Sample) bool { return s.Disturbed != "" })
		_, late := view.LateWarning(r.Samples)
		return late || 2*len(most) > len(r.Samples)
	})
	d.Disturbed = float64(len(disturbed)) / float64(len(plain))
	return d
}

// isVariant reports whether a cell was tried for something else than its frames: a candidate, or
// messages that are not cut, have the sender, pipe and messages of the cell that is tuned.
func isVariant(c, tuned results.Cell) bool {
	return c.Sender != "" || c.Capacity != tuned.Capacity || c.Size != tuned.Size
}

// unchunked is the framing of messages that are not cut.
const unchunked = "ndjson"

// chunkOf returns the frame size of a chunked cell, 0 of any other.
func chunkOf(c results.Cell) int { return results.ChunkSize(c.Framing) }

// faster orders readers' rates, the fastest first; 0 is no limit.
func faster(a, b int64) int {
	return cmp.Compare(cmp.Or(b, math.MaxInt64), cmp.Or(a, math.MaxInt64))
}

// costMetric returns what a chunk size costs. Where both ends share a CPU that is CPU time: goodput
// says the same there, less what other programs took of the CPU meanwhile (on a busy machine the
// goodput of one cell varied by a quarter to the half, its CPU time by 3 to 20 %). Elsewhere an end
// waits for the other, and goodput shows it.
func costMetric(records []results.Tune, fast int64) string {
	for _, r := range records {
		if r.Cell.Drain == fast && (r.Cell.Placement != "same" || stat.EstimateOf("cpu", r.Samples).N < len(r.Samples)) {
			return "goodput"
		}
	}
	return "cpu"
}

// measured collects what is known of a size; false if a part is missing.
func (d Decision) measured(records []results.Tune, chunk int) (Score, bool) {
	s := Score{Chunk: chunk, Waits: map[int64]Figure{}, samples: math.MaxInt}
	for _, r := range records {
		if chunkOf(r.Cell) != chunk {
			continue
		}
		s.samples = min(s.samples, len(r.Samples))
		if r.Cell.Drain == d.Fast {
			s.Cost = figureOf(d.Cost, r.Samples)
		}
		s.Waits[r.Cell.Drain] = waitOf(r.Samples)
	}
	missing := slices.ContainsFunc(d.Slow, func(drain int64) bool { return s.Waits[drain].Median <= 0 })
	return s, !missing && s.Cost.Median > 0
}

// dearer returns how many times the cost of another figure one is, both of the decision's metric.
func (d Decision) dearer(e, than Figure) float64 {
	if d.Cost == "goodput" {
		return than.Median / e.Median
	}
	return e.Median / than.Median
}

// cheapest returns the lowest cost of any size.
func (d Decision) cheapest() Figure {
	byCost := func(a, b Score) int { return cmp.Compare(d.dearer(a.Cost, b.Cost), 1) }
	return slices.MinFunc(d.Scores, byCost).Cost
}

// weigh fills in the scores.
func (d *Decision) weigh(w float64) {
	least, shortest := d.cheapest(), map[int64]float64{}
	for _, drain := range d.Slow {
		shortest[drain] = slices.Min(stat.Map(d.Scores, func(s Score) float64 { return s.Waits[drain].Median }))
	}
	share := w / float64(len(d.Slow))
	score := func(s *Score) {
		s.Value = -math.Log(d.dearer(s.Cost, least))
		variance := math.Pow(s.Cost.halfWidth, 2)
		for _, drain := range d.Slow { // in one order: sums of the same records are the same
			wait := s.Waits[drain]
			s.Value -= share * math.Log(wait.Median/shortest[drain])
			variance += math.Pow(share*wait.halfWidth, 2)
		}
		s.HalfWidth = math.Sqrt(variance)
	}
	for i := range d.Scores {
		score(&d.Scores[i])
	}
	if d.Whole != nil {
		score(d.Whole)
	}
}

// unknownHalfWidth is what a figure may be off, as a logarithm, that too few samples have to tell:
// a quarter, and less with each of them.
const unknownHalfWidth = 0.25

// figureOf returns a metric's median, and half of its interval; with too few samples for one half of
// their range, or what that is at least.
func figureOf(metric string, samples []results.Sample) Figure {
	// A wait is decided by the median of its percentiles in the slices, whose scatter is known.
	f := Figure{Estimate: stat.Median(stat.MustMetric(metric).Values(samples))}
	if !strings.HasPrefix(metric, "due.") {
		f.Estimate = stat.EstimateOf(metric, samples)
	}
	if f.Interval != nil && f.Interval.Lo > 0 {
		f.halfWidth = math.Log(f.Interval.Hi/f.Interval.Lo) / 2
		return f
	}
	values := stat.MustMetric(metric).Values(samples)
	f.halfWidth = unknownHalfWidth / math.Sqrt(float64(max(1, len(values))))
	if len(values) > 1 && slices.Min(values) > 0 {
		f.halfWidth = max(f.halfWidth, math.Log(slices.Max(values)/slices.Min(values))/2)
	}
	return f
}

// waitOf returns the wait of small messages that sizes are judged by.
func waitOf(samples []results.Sample) Figure { return figureOf(view.TuneWaitMetric(samples), samples) }

// choose finds the size to use, and how sure that is. Of sizes that are worth the same it takes the
// smallest, behind which small messages wait the least: which point of a plateau is the highest is
// chance, where it begins is not.
func (d *Decision) choose() {
	byValue := func(a, b Score) int { return cmp.Compare(a.Value, b.Value) }
	top, bottom := slices.MaxFunc(d.Scores, byValue), slices.MinFunc(d.Scores, byValue)
	lead := 0.0
	for _, s := range d.Scores {
		below, halfWidth := top.Value-s.Value, math.Hypot(s.HalfWidth, top.HalfWidth)
		if s.Chunk != top.Chunk {
			lead = max(lead, halfWidth-below)
		}
		if below <= alike {
			d.Alike = append(d.Alike, s.Chunk)
		}
		if below <= alike+math.Hypot(min(halfWidth, betweenRuns), betweenRuns) {
			d.Possible = append(d.Possible, s.Chunk)
		}
	}
	if len(d.Scores) == 1 {
		lead = top.HalfWidth
	}
	d.Top, d.Best, d.Margin = top.Chunk, d.Alike[0], math.Expm1(lead)
	d.Flat = len(d.Scores) > 1 && top.Value-bottom.Value <= alike
	d.Unchunked = d.Whole != nil && top.Value-d.Whole.Value <= alike
	recommended, _ := d.Of(d.Best)
	if d.Unchunked {
		recommended = *d.Whole
	}
	d.Samples = recommended.samples
}

// Contenders returns the sizes that may yet turn out to be the best, the likeliest first.
func (d Decision) Contenders() []int {
	best, ok := d.Of(d.Top)
	if !ok {
		return nil
	}
	scores := stat.Filter(d.Scores, func(s Score) bool {
		return s.Chunk == best.Chunk || s.Value+s.HalfWidth >= best.Value-best.HalfWidth
	})
	slices.SortStableFunc(scores, func(a, b Score) int { return cmp.Compare(b.Value+b.HalfWidth, a.Value+a.HalfWidth) })
	return stat.Map(scores, func(s Score) int { return s.Chunk })
}

// Predicted returns the wait of a small message by the rule of thumb, in nanoseconds: the bytes in
// the pipe and the rest of the chunk, at the reader's rate. It is false where the reader has no
// rate of its own.
func Predicted(r results.Tune) (ns float64, ok bool) {
	s, err := parseSender(r.Cell.Sender)
	if err != nil || r.Cell.Drain <= 0 || len(r.Samples) == 0 {
		return 0, false
	}
	ahead := r.Samples[0].Capacity
	if s.watermark > 0 {
		ahead = min(ahead, s.watermark)
	}
	if s.wait == 0 { // its frames take no known time, but have a known size
		ahead += cmp.Or(chunkOf(r.Cell), r.Cell.Size)
	}
	return float64(ahead)/float64(r.Cell.Drain)*1e9 + float64(s.wait), true
}
