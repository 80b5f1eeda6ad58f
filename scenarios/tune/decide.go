package tune

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
)

const (
	// settled is the margin at which a recommendation stands: no other size is
	// better by more, as far as the samples can tell.
	settled = 0.05
	// hidden is the margin from which noise hides the answer.
	hidden = 0.25
	// alike is how far the best and the worst size may lie apart for the size
	// not to matter.
	alike = 0.05
)

// A Decision is what records say about chunk sizes.
type Decision struct {
	Objective Objective
	Best      int     // chunk size in bytes; 0 if nothing was measured in full
	Margin    float64 // no other size is better by more than this share, with 95 % confidence
	Alike     []int   // sizes that do as well within 5 %, Best among them, ascending
	Flat      bool    // all sizes do: the size does not matter
	Scores    []Score // of all sizes that were measured in full, ascending
	Fast      int64   // the reader's rate at which goodput counts; 0 is as fast as it can
	Slow      []int64 // the reader's rates at which waits count
}

// A Score is what a chunk size is worth: the logarithm of goodput ÷ waitʷ,
// relative to the best goodput and the shortest waits.
type Score struct {
	Chunk   int
	Value   float64
	Doubt   float64                    // half of the interval that the true value lies in
	Goodput results.Estimate           // at the fast rate, bytes a second
	Waits   map[int64]results.Estimate // p90 of probes by the reader's rate, nanoseconds
}

// Settled reports whether the decision is known well enough to stand.
func (d Decision) Settled() bool { return d.Best > 0 && d.Margin <= settled }

// Hidden reports whether noise hides the answer. A flat curve has one.
func (d Decision) Hidden() bool { return d.Best == 0 || d.Margin > hidden && !d.Flat }

// Of is the score of a chunk size.
func (d Decision) Of(chunk int) (Score, bool) {
	i := slices.IndexFunc(d.Scores, func(s Score) bool { return s.Chunk == chunk })
	if i < 0 {
		return Score{}, false
	}
	return d.Scores[i], true
}

// Decide weighs the sizes of the chunked framing in the records. Records with
// another capacity or sender than the first are levers, not candidates; so
// are unchunked framings.
func Decide(records []results.Tune, o Objective) Decision {
	d := Decision{Objective: o}
	plain := candidates(records)
	d.Fast, d.Slow = rates(plain)
	for _, chunk := range chunksOf(plain) {
		if s, ok := measured(plain, chunk, d.Fast, d.Slow); ok {
			d.Scores = append(d.Scores, s)
		}
	}
	if len(d.Scores) == 0 {
		return d
	}
	d.weigh(weights[o])
	d.choose()
	return d
}

// candidates are the records that differ in chunk size and reader's rate alone.
func candidates(records []results.Tune) []results.Tune {
	var out []results.Tune
	for _, r := range records {
		if chunkOf(r.Cell) == 0 || r.Cell.Sender != "" || len(r.Samples) == 0 {
			continue
		}
		if len(out) > 0 && r.Cell.Capacity != out[0].Cell.Capacity {
			continue
		}
		out = append(out, r)
	}
	return out
}

// chunkOf is the frame size of a chunked cell, 0 of any other.
func chunkOf(c results.Cell) int {
	name, size, _ := strings.Cut(c.Framing, ":")
	if name != "chunked" {
		return 0
	}
	n, err := strconv.Atoi(size)
	if err != nil {
		return 0
	}
	return n
}

// rates are the readers' rates: the fastest, and those that are limited. Where
// none is, the waits at the fastest count.
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

func chunksOf(records []results.Tune) []int {
	var out []int
	for _, r := range records {
		if c := chunkOf(r.Cell); !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	slices.Sort(out)
	return out
}

// measured collects what is known of a size; false if a part is missing.
func measured(records []results.Tune, chunk int, fast int64, slow []int64) (Score, bool) {
	s := Score{Chunk: chunk, Waits: map[int64]results.Estimate{}}
	for _, r := range records {
		if chunkOf(r.Cell) != chunk {
			continue
		}
		if r.Cell.Drain == fast {
			s.Goodput = estimate("goodput", r.Samples)
		}
		if slices.Contains(slow, r.Cell.Drain) {
			s.Waits[r.Cell.Drain] = wait(r.Samples)
		}
	}
	for _, drain := range slow {
		if e := s.Waits[drain]; e.N == 0 || e.Median <= 0 {
			return s, false
		}
	}
	return s, s.Goodput.N > 0 && s.Goodput.Median > 0
}

func estimate(metric string, samples []results.Sample) results.Estimate {
	m, err := results.MetricByName(metric)
	if err != nil {
		panic("tune: " + err.Error()) // the names are written in this package
	}
	return results.Median(m.Values(samples))
}

// wait is the p90 of probes, from when they were due. It is what sizes are
// judged by: one hiccup of the machine in a sample decides its p99, and the
// bytes ahead of a probe decide this. Samples too short for one give their
// median.
func wait(samples []results.Sample) results.Estimate {
	if e := estimate("due.p90", samples); e.N == len(samples) {
		return e
	}
	return estimate("due.p50", samples)
}

// weigh fills in the scores.
func (d *Decision) weigh(w float64) {
	best, shortest := 0.0, map[int64]float64{}
	for _, s := range d.Scores {
		best = max(best, s.Goodput.Median)
		for _, drain := range d.Slow {
			e := s.Waits[drain]
			if least, ok := shortest[drain]; !ok || e.Median < least {
				shortest[drain] = e.Median
			}
		}
	}
	for i := range d.Scores {
		s := &d.Scores[i]
		s.Value = math.Log(s.Goodput.Median / best)
		variance := square(doubt(s.Goodput))
		share := w / float64(len(d.Slow))
		for _, drain := range d.Slow { // in one order: sums of the same records are the same
			e := s.Waits[drain]
			s.Value -= share * math.Log(e.Median/shortest[drain])
			variance += square(share * doubt(e))
		}
		s.Doubt = math.Sqrt(variance)
	}
}

func square(x float64) float64 { return x * x }

// unknownDoubt is what a figure may be off, as a logarithm, that too few
// samples have to tell: a quarter, and less with each of them.
const unknownDoubt = 0.25

// doubt is half of an estimate's interval, as a logarithm.
func doubt(e results.Estimate) float64 {
	if e.Interval == nil || e.Interval.Lo <= 0 {
		return unknownDoubt / math.Sqrt(float64(max(1, e.N)))
	}
	return math.Log(e.Interval.Hi/e.Interval.Lo) / 2
}

// choose finds the best, and how sure that is.
func (d *Decision) choose() {
	best := slices.MaxFunc(d.Scores, func(a, b Score) int { return cmp.Compare(a.Value, b.Value) })
	worst := slices.MinFunc(d.Scores, func(a, b Score) int { return cmp.Compare(a.Value, b.Value) })
	d.Best = best.Chunk
	lead := 0.0
	for _, s := range d.Scores {
		if s.Chunk != best.Chunk {
			lead = max(lead, s.Value-best.Value+math.Hypot(s.Doubt, best.Doubt))
		}
		if best.Value-s.Value <= settled {
			d.Alike = append(d.Alike, s.Chunk)
		}
	}
	if len(d.Scores) == 1 {
		lead = best.Doubt
	}
	d.Margin = math.Expm1(lead)
	d.Flat = len(d.Scores) > 1 && best.Value-worst.Value <= alike
}

// Contenders are the sizes that may yet turn out to be the best, the likeliest
// first.
func (d Decision) Contenders() []int {
	best, ok := d.Of(d.Best)
	if !ok {
		return nil
	}
	scores := slices.DeleteFunc(slices.Clone(d.Scores), func(s Score) bool {
		return s.Chunk != best.Chunk && s.Value+s.Doubt < best.Value-best.Doubt
	})
	slices.SortStableFunc(scores, func(a, b Score) int { return cmp.Compare(b.Value+b.Doubt, a.Value+a.Doubt) })
	var out []int
	for _, s := range scores {
		out = append(out, s.Chunk)
	}
	return out
}

// Predicted is the wait of a small message by the rule of thumb, in
// nanoseconds: the bytes in the pipe and the rest of the chunk, at the
// reader's rate. It is false where the reader has no rate of its own.
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
