package tune

import (
	"cmp"
	"math"
	"slices"
	"strconv"
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
	Objective Objective
	Best      int     // chunk size in bytes to use: the smallest of Alike; 0 if nothing was measured in full
	Top       int     // the size that the samples make worth the most
	Margin    float64 // no other size is worth more than Top by more than this share, with 95 % confidence
	Alike     []int   // sizes worth as much as Top within 5 %, ascending
	Possible  []int   // sizes that another run may recommend, as far as runs differ, ascending; Alike among them. What is hardly known counts as known to that
	Flat      bool    // all sizes are worth the same: the size does not matter
	Unchunked bool    // messages that are not cut are worth as much as Top within 5 %: chunking buys nothing
	Disturbed float64 // share of the records that sizes are chosen by in which the machine did other work
	Samples   int     // that each figure of what is recommended has at least
	Scores    []Score // of all sizes that were measured in full, ascending
	Whole     *Score  // of messages that are not cut; nil where they were not measured in full
	Cost      string  // the metric that counts as cost: "cpu" where the ends share a CPU, else "goodput"
	Fast      int64   // the reader's rate at which cost counts; 0 is as fast as it can
	Slow      []int64 // the reader's rates at which waits count
}

// A Score is what a chunk size, or none, is worth: the logarithm of bytes for the cost ÷ waitʷ, relative to
// the lowest cost and the shortest waits.
type Score struct {
	Chunk     int
	Value     float64
	HalfWidth float64                 // half of the interval that the true value lies in
	Cost      stat.Estimate           // at the fast rate, of the metric that the decision names
	Goodput   stat.Estimate           // at the fast rate, bytes a second
	Waits     map[int64]stat.Estimate // p90 of probes by the reader's rate, nanoseconds

	costHalfWidth float64
	waitHalfWidth map[int64]float64
	samples       int // of its figure that has the fewest
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
	d := Decision{Objective: o}
	plain := candidates(records)
	d.Fast, d.Slow = rates(plain)
	d.Cost = costMetric(plain, d.Fast)
	var chunks []int
	for _, r := range plain {
		chunks = append(chunks, chunkOf(r.Cell))
	}
	slices.Sort(chunks)
	for _, chunk := range slices.Compact(chunks) {
		if s, ok := d.measured(plain, chunk); ok {
			d.Scores = append(d.Scores, s)
		}
	}
	if len(d.Scores) == 0 {
		return d
	}
	if whole, ok := d.measured(wholes(records, plain[0].Cell), 0); ok {
		d.Whole = &whole
	}
	d.weigh(weights[o])
	d.choose()
	disturbed := slices.DeleteFunc(slices.Clone(plain), func(r results.Tune) bool { return !isDisturbed(r.Samples) })
	d.Disturbed = float64(len(disturbed)) / float64(len(plain))
	return d
}

// isDisturbed reports whether the machine did other work in most of the samples, or kept their
// generator from its schedule.
func isDisturbed(samples []results.Sample) bool {
	n := 0
	for _, s := range samples {
		if s.Disturbed != "" {
			n++
		}
	}
	_, late := view.LateWarning(samples)
	return late || 2*n > len(samples)
}

// wholes returns the records of messages that are not cut, and like those of the candidates else.
func wholes(records []results.Tune, like results.Cell) (out []results.Tune) {
	for _, r := range records {
		if r.Cell.Framing == "ndjson" && r.Cell.Sender == "" && r.Cell.Capacity == like.Capacity && r.Cell.Size == like.Size && len(r.Samples) > 0 {
			out = append(out, r)
		}
	}
	return out
}

// candidates returns the records that differ in chunk size and reader's rate alone.
func candidates(records []results.Tune) []results.Tune {
	var out []results.Tune
	for _, r := range records {
		if chunkOf(r.Cell) == 0 || r.Cell.Sender != "" || len(r.Samples) == 0 {
			continue
		}
		if len(out) > 0 && (r.Cell.Capacity != out[0].Cell.Capacity || r.Cell.Size != out[0].Cell.Size) {
			continue
		}
		out = append(out, r)
	}
	return out
}

// chunkOf returns the frame size of a chunked cell, 0 of any other.
func chunkOf(c results.Cell) int {
	name, size, _ := strings.Cut(c.Framing, ":")
	if n, err := strconv.Atoi(size); err == nil && name == "chunked" {
		return n
	}
	return 0
}

// rates returns the readers' rates: the fastest, and those that are limited. Where none is, the
// waits at the fastest count.
func rates(records []results.Tune) (fast int64, slow []int64) {
	for _, r := range records {
		if !slices.Contains(slow, r.Cell.Drain) {
			slow = append(slow, r.Cell.Drain)
		}
	}
	slices.SortFunc(slow, faster)
	if len(slow) > 0 {
		fast = slow[0]
	}
	if len(slow) > 1 && fast == 0 {
		slow = slow[1:]
	}
	return fast, slow
}

// faster orders readers' rates, the fastest first; 0 is no limit.
func faster(a, b int64) int {
	limit := func(r int64) int64 {
		if r == 0 {
			return math.MaxInt64
		}
		return r
	}
	return cmp.Compare(limit(b), limit(a))
}

// costMetric returns what a chunk size costs. Where both ends share a CPU that is CPU time: goodput
// says the same there, less what other programs took of the CPU meanwhile (on a busy machine the
// goodput of one cell varied by a quarter to the half, its CPU time by 3 to 20 %). Elsewhere an end
// waits for the other, and goodput shows it.
func costMetric(records []results.Tune, fast int64) string {
	for _, r := range records {
		if r.Cell.Drain == fast && (r.Cell.Placement != "same" || estimate("cpu", r.Samples).N < len(r.Samples)) {
			return "goodput"
		}
	}
	return "cpu"
}

// measured collects what is known of a size; false if a part is missing.
func (d Decision) measured(records []results.Tune, chunk int) (Score, bool) {
	s := Score{Chunk: chunk, Waits: map[int64]stat.Estimate{}, waitHalfWidth: map[int64]float64{}, samples: math.MaxInt}
	for _, r := range records {
		if chunkOf(r.Cell) != chunk {
			continue
		}
		s.samples = min(s.samples, len(r.Samples))
		if r.Cell.Drain == d.Fast {
			s.Cost, s.Goodput = estimate(d.Cost, r.Samples), estimate("goodput", r.Samples)
			s.costHalfWidth = halfWidth(d.Cost, r.Samples)
		}
		if slices.Contains(d.Slow, r.Cell.Drain) {
			s.Waits[r.Cell.Drain] = estimate(view.TuneWaitMetric(r.Samples), r.Samples)
			s.waitHalfWidth[r.Cell.Drain] = halfWidth(view.TuneWaitMetric(r.Samples), r.Samples)
		}
	}
	for _, drain := range d.Slow {
		if e := s.Waits[drain]; e.N == 0 || e.Median <= 0 {
			return s, false
		}
	}
	return s, s.Cost.N > 0 && s.Cost.Median > 0
}

// dearer returns how many times the cost of another estimate one is, both of the decision's metric.
func (d Decision) dearer(e, than stat.Estimate) float64 {
	if d.Cost == "goodput" {
		return than.Median / e.Median
	}
	return e.Median / than.Median
}

// cheapest returns the lowest cost of any size.
func (d Decision) cheapest() stat.Estimate {
	least := d.Scores[0].Cost
	for _, s := range d.Scores[1:] {
		if d.dearer(s.Cost, least) < 1 {
			least = s.Cost
		}
	}
	return least
}

func estimate(metric string, samples []results.Sample) stat.Estimate {
	return view.TuneEstimate(metric, samples)
}

// weigh fills in the scores.
func (d *Decision) weigh(w float64) {
	least, shortest := d.cheapest(), map[int64]float64{}
	for _, s := range d.Scores {
		for drain, e := range s.Waits {
			if so, ok := shortest[drain]; !ok || e.Median < so {
				shortest[drain] = e.Median
			}
		}
	}
	share := w / float64(len(d.Slow))
	all := []*Score{d.Whole}
	for i := range d.Scores {
		all = append(all, &d.Scores[i])
	}
	for _, s := range all {
		if s == nil {
			continue
		}
		s.Value = -math.Log(d.dearer(s.Cost, least))
		variance := math.Pow(s.costHalfWidth, 2)
		for _, drain := range d.Slow { // in one order: sums of the same records are the same
			e := s.Waits[drain]
			s.Value -= share * math.Log(e.Median/shortest[drain])
			variance += math.Pow(share*s.waitHalfWidth[drain], 2)
		}
		s.HalfWidth = math.Sqrt(variance)
	}
}

// unknownHalfWidth is what a figure may be off, as a logarithm, that too few samples have to tell:
// a quarter, and less with each of them.
const unknownHalfWidth = 0.25

// halfWidth returns half of the interval of a metric's median, as a logarithm; with too few samples
// for one half of their range, or what that is at least.
func halfWidth(metric string, samples []results.Sample) float64 {
	values := stat.MustMetric(metric).Values(samples)
	e := estimate(metric, samples)
	if e.Interval != nil && e.Interval.Lo > 0 {
		return math.Log(e.Interval.Hi/e.Interval.Lo) / 2
	}
	unknown := unknownHalfWidth / math.Sqrt(float64(max(1, len(values))))
	if len(values) < 2 || slices.Min(values) <= 0 {
		return unknown
	}
	return max(unknown, math.Log(slices.Max(values)/slices.Min(values))/2)
}

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
	if best, _ := d.Of(d.Best); d.Unchunked {
		d.Samples = d.Whole.samples
	} else {
		d.Samples = best.samples
	}
}

// Contenders returns the sizes that may yet turn out to be the best, the likeliest first.
func (d Decision) Contenders() []int {
	best, ok := d.Of(d.Top)
	if !ok {
		return nil
	}
	scores := slices.DeleteFunc(slices.Clone(d.Scores), func(s Score) bool {
		return s.Chunk != best.Chunk && s.Value+s.HalfWidth < best.Value-best.HalfWidth
	})
	slices.SortStableFunc(scores, func(a, b Score) int { return cmp.Compare(b.Value+b.HalfWidth, a.Value+a.HalfWidth) })
	var out []int
	for _, s := range scores {
		out = append(out, s.Chunk)
	}
	return out
}

// Predicted returns the wait of a small message by the rule of thumb, in nanoseconds: the bytes in
// the pipe and the rest of the chunk, at the reader's rate. It is false where the reader has no
// rate of its own.
func Predicted(r results.Tune) (ns float64, ok bool) {
	if r.Cell.Drain <= 0 || len(r.Samples) == 0 {
		return 0, false
	}
	s, err := parseSender(r.Cell.Sender)
	if err != nil {
		return 0, false
	}
	ahead := r.Samples[0].Capacity
	if s.watermark > 0 {
		ahead = min(ahead, s.watermark)
	}
	frame := chunkOf(r.Cell)
	switch {
	case s.wait > 0:
		return (float64(ahead)/float64(r.Cell.Drain))*1e9 + float64(s.wait.Nanoseconds()), true
	case frame == 0:
		frame = r.Cell.Size
	}
	return float64(ahead+frame) / float64(r.Cell.Drain) * 1e9, true
}
