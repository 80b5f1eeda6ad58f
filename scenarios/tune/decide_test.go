package tune

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pipebench/pipebench/results"
)

// A model is a pipe whose figures are known: a frame costs a fixed time beside that of its bytes,
// and a probe waits for the bytes before it.
type model struct {
	frameNS  float64 // for each frame
	byteNS   float64 // for each byte
	capacity float64
	noise    float64 // of each figure, as a share
	load     float64 // what other programs do to the time that passes; CPU time, which is known where this is not 0, they leave alone
}

var (
	quiet  = model{frameNS: 500, byteNS: 0.5, capacity: 65536, noise: 0.01}
	loaded = model{frameNS: 500, byteNS: 0.5, capacity: 65536, noise: 0.01, load: 0.6}
)

// sample is what a cell's would be.
func (m model) sample(c results.Cell, r *rand.Rand) results.Sample {
	chunk := float64(chunkOf(c))
	if chunk == 0 {
		chunk = float64(c.Size)
	}
	noisy := func(v float64) float64 { return v * math.Exp(m.noise*r.NormFloat64()) }
	rate := 1e9 / (m.byteNS + m.frameNS/chunk)
	goodput := noisy(rate)
	if c.Drain > 0 {
		goodput = min(goodput, noisy(float64(c.Drain)))
		rate = min(rate, float64(c.Drain))
	}
	capacity := m.capacity
	if c.Capacity > 0 {
		capacity = float64(c.Capacity)
	}
	cpu := 1e9 / goodput
	if c.Drain == 0 {
		goodput *= math.Exp(-m.load * math.Abs(r.NormFloat64()))
	}
	after := func(share float64) *int64 { return new(int64(noisy((capacity + chunk*share) / rate * 1e9))) }
	l := results.Latency{Count: 1000, P50NS: after(0.5), P90NS: after(0.9), P99NS: after(0.99)}
	s := results.Sample{
		ElapsedNS: 1e9, Messages: 1000, PayloadBytes: int64(goodput), WireBytes: int64(goodput), Capacity: int(capacity),
		Latency: map[string]results.Latency{"due": l}, Load: &results.Load{Due: 1000, Sent: 1000},
	}
	if m.load > 0 {
		s.Writer.CPUNS, s.Reader.CPUNS = new(int64(0.7*cpu*goodput)), new(int64(0.3*cpu*goodput))
	}
	return s
}

// best is the size that the model's own figures make best.
func (m model) best(chunks []int, drains []int64, weight float64) int {
	value := func(chunk int) float64 {
		c := float64(chunk)
		v := -math.Log(m.byteNS + m.frameNS/c)
		for _, d := range drains {
			v -= weight / float64(len(drains)) * math.Log((m.capacity+0.9*c)/min(float64(d), 1e9/(m.byteNS+m.frameNS/c)))
		}
		return v
	}
	return slices.MaxFunc(chunks, func(a, b int) int { return int(math.Copysign(1, value(a)-value(b))) })
}

// records are n samples of every cell of a grid.
func (m model) records(o Options, n int, seed uint64) []results.Tune {
	r := rand.New(rand.NewPCG(seed, 1))
	var out []results.Tune
	for _, drain := range o.Drains {
		for _, chunk := range o.Chunks {
			out = append(out, m.record(plain(o.Cell, chunk, drain), n, r))
		}
		out = append(out, m.record(plain(o.Cell, 0, drain), n, r))
	}
	return out
}

func (m model) record(c results.Cell, n int, r *rand.Rand) results.Tune {
	t := results.Tune{Run: "test", Cell: c}
	for range n {
		t.Samples = append(t.Samples, m.sample(c, r))
	}
	return t
}

var slowReaders = []int64{200e6, 20e6}

func TestAKnownOptimumIsFound(t *testing.T) {
	for _, row := range []struct {
		name      string
		m         model
		objective Objective
	}{
		{"frames of a usual price, balanced", quiet, Balanced},
		{"the same for throughput: large chunks", quiet, Throughput},
		{"the same for latency: small chunks", quiet, Latency},
		{"dear frames", model{frameNS: 20_000, byteNS: 0.5, capacity: 65536, noise: 0.01}, Balanced},
		{"cheap frames in a small pipe", model{frameNS: 100, byteNS: 0.5, capacity: 4096, noise: 0.01}, Balanced},
		{"a busy machine", loaded, Balanced},
		{"a large pipe, where the chunk hardly counts", model{frameNS: 500, byteNS: 0.5, capacity: 1 << 20, noise: 0.01}, Balanced},
	} {
		for seed := range uint64(5) {
			t.Run(fmt.Sprintf("%s, seed %d", row.name, seed), func(t *testing.T) {
				o := Default()
				d := Decide(row.m.records(o, 12, seed), row.objective)
				want := row.m.best(o.Chunks, slowReaders, weights[row.objective])
				if d.Best != want && !slices.Contains(d.Alike, want) {
					t.Errorf("best %d, alike %v, the model's is %d", d.Best, d.Alike, want)
				}
				if !d.Converged() || d.Fast != 0 || !slices.Equal(d.Slow, slowReaders) {
					t.Errorf("margin %.3f, fast %d, slow %v", d.Margin, d.Fast, d.Slow)
				}
			})
		}
	}
}

// What other programs take of the CPU is no cost of a chunk size, as far as CPU time is known:
// without it the same records decide nothing.
func TestTheLoadOfAMachineIsNoCost(t *testing.T) {
	o := Default()
	records := loaded.records(o, 9, 1)
	if d := Decide(records, Balanced); d.Cost != "cpu" || !d.Converged() {
		t.Errorf("by %s: %d ±%.3f", d.Cost, d.Best, d.Margin)
	}
	for i := range records {
		records[i].Cell.Placement = "apart" // where CPU time is not what an end waits for
	}
	if d := Decide(records, Balanced); d.Cost != "goodput" || d.Converged() {
		t.Errorf("by %s: %d ±%.3f", d.Cost, d.Best, d.Margin)
	}
}

// The margin is a promise: no size is better than those worth the same by more.
func TestTheMarginIsKept(t *testing.T) {
	o := Default()
	m := model{frameNS: 500, byteNS: 0.5, capacity: 65536, noise: 0.08}
	truth := Decide(model{frameNS: 500, byteNS: 0.5, capacity: 65536}.records(o, 6, 1), Balanced)
	broken := 0
	const trials = 40
	for seed := range uint64(trials) {
		d := Decide(m.records(o, 9, seed), Balanced)
		chosen, _ := truth.Of(d.Best)
		best, _ := truth.Of(truth.Top)
		if best.Value-chosen.Value > alike+math.Log1p(d.Margin) {
			broken++
		}
	}
	if broken > trials/20+2 {
		t.Errorf("%d of %d recommendations were further from the best than their margin", broken, trials)
	}
}

func TestWhatRecordsCannotDecide(t *testing.T) {
	o := Default()
	noisy := model{frameNS: 500, byteNS: 0.5, capacity: 65536, noise: 0.9}
	flat := model{frameNS: 0.001, byteNS: 0.5, capacity: 64 << 20, noise: 0.001}
	incomplete := slices.DeleteFunc(quiet.records(o, 6, 1), func(r results.Tune) bool { return r.Cell.Drain == 20e6 && chunkOf(r.Cell) > 0 })
	for _, row := range []struct {
		name                     string
		records                  []results.Tune
		inconclusiveMargin, flat bool
		found                    bool
	}{
		{"no records at all", nil, true, false, false},
		{"records without samples", []results.Tune{{Cell: plain(o.Cell, 4096, 0)}}, true, false, false},
		{"figures that noise drowns", noisy.records(o, 6, 3), true, false, true},
		{"sizes that make no difference", flat.records(o, 8, 1), false, true, true},
		{"a reader's rate that was not measured: the others decide", incomplete, false, false, true},
		{"baselines alone", []results.Tune{quiet.record(plain(o.Cell, 0, 0), 6, rand.New(rand.NewPCG(1, 1)))}, true, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := Decide(row.records, Balanced)
			if d.Inconclusive() != row.inconclusiveMargin || d.Flat != row.flat || (d.Best > 0) != row.found {
				t.Errorf("inconclusiveMargin %t, flat %t, best %d, margin %.2f", d.Inconclusive(), d.Flat, d.Best, d.Margin)
			}
		})
	}
}

// A variant's record must not pass for a candidate's.
func TestLeversAreNoCandidates(t *testing.T) {
	o := Default()
	records := quiet.records(o, 8, 1)
	want := Decide(records, Balanced)
	free := model{frameNS: 0, byteNS: 0.01, capacity: 1, noise: 0.01}
	for _, c := range o.variants(512) {
		records = append(records, free.record(c, 8, rand.New(rand.NewPCG(2, 2))))
	}
	if got := Decide(records, Balanced); got.Best != want.Best || got.Margin != want.Margin {
		t.Errorf("best %d ±%.3f with variants, %d ±%.3f without", got.Best, got.Margin, want.Best, want.Margin)
	}
}

func TestTheWaitIsPredictedFromBytesAhead(t *testing.T) {
	o := Default()
	of := func(chunk int, drain int64, s sender) results.Tune {
		c := plain(o.Cell, chunk, drain)
		c.Sender = s.String()
		return results.Tune{Cell: c, Samples: []results.Sample{{Capacity: 65536}}}
	}
	whole := of(1, 200e6, sender{})
	whole.Cell.Framing = "ndjson"
	for _, row := range []struct {
		name string
		r    results.Tune
		want float64 // nanoseconds
		ok   bool
	}{
		{"a chunk and a full pipe", of(4096, 200e6, sender{}), (65536 + 4096) / 0.2, true},
		{"a slower reader", of(4096, 20e6, sender{}), (65536 + 4096) / 0.02, true},
		{"a watermark in place of the capacity", of(4096, 200e6, sender{watermark: 16384}), (16384 + 4096) / 0.2, true},
		{"frames that take a known time", of(1<<20, 200e6, sender{wait: variantWait}), 65536/0.2 + 200_000, true},
		{"a message that is not cut", whole, (65536 + 1<<20) / 0.2, true},
		{"a reader without a rate", of(4096, 0, sender{}), 0, false},
		{"no samples", results.Tune{Cell: plain(o.Cell, 4096, 20e6)}, 0, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got, ok := Predicted(row.r); ok != row.ok || math.Abs(got-row.want) > 1 {
				t.Errorf("%.0f ns, %t; want %.0f, %t", got, ok, row.want, row.ok)
			}
		})
	}
}
