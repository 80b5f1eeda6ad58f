package faults

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
	"github.com/pipebench/pipebench/syspipe"
)

var growth = Scenario{
	Misbehaviour: catalogue.Must(catalogue.Program, "growth"),
	Deadline:     5 * time.Minute,
	run:          runGrowth,
}

// A Growing is the evidence of growth for one reader.
type Growing struct {
	Framing string `json:"framing"`

	PerByte []Sized     `json:"per_byte"` // ns for a byte, by message size
	Calls   float64     `json:"calls"`    // reader's system calls for a KiB, largest size
	Slope   stat.Growth `json:"slope"`    // of the time a message over its size, from SlopeFrom on
	ToOurs  []Sized     `json:"to_ours"`  // time a message over that of our reader, round by round
	Beyond  []Sized     `json:"beyond,omitempty"`
	Curve   *Curve      `json:"curve,omitempty"`
}

// A Sized is a figure for one message size. One that was not measured but
// follows from the slope says so.
type Sized struct {
	Size         int           `json:"size"` // bytes
	Figure       stat.Estimate `json:"figure"`
	Extrapolated bool          `json:"extrapolated,omitempty"`
}

// extrapolateTo is the largest size that the slope is followed to, in bytes.
const extrapolateTo = 64 << 20

const (
	// SlopeFrom is the smallest message whose time says something about
	// growth: below it, the fixed cost of a message flattens the curve.
	SlopeFrom = 256 << 10
	// quadraticFrom is the slope from which growth is called out of
	// proportion. A linear reader that leaves the caches comes near 1.15.
	quadraticFrom = 1.3
	// slowFrom is how many times our reader's time counts as slow.
	slowFrom = 3
)

// judgeGrowing is the rule of growth: out of proportion where the slope is
// above 1.3 and its interval above 1; slow where some size takes three times
// as long as with our reader.
func judgeGrowing(e Growing) Verdict {
	if e.Slope.Slope > quadraticFrom && (e.Slope.Interval == nil || e.Slope.Interval.Lo > 1) {
		return Grows
	}
	for _, s := range e.ToOurs {
		if s.Figure.Above(slowFrom) {
			return Slow
		}
	}
	return Sound
}

func adviseGrowing(v Verdict, e Growing) string {
	switch v {
	case Grows:
		return fmt.Sprintf("Time grows with size to the power of %.2f: twice the message takes %.1f times as long. Remember how far the buffer has been "+
			"searched, and search only what is new; give a reader that you cannot change smaller messages.", e.Slope.Slope, math.Pow(2, e.Slope.Slope))
	case Slow:
		return fmt.Sprintf("The cost of a byte stays the same, but it is %.0f system calls for a KiB. Read what there is into a buffer and look for the newline there.", e.Calls)
	}
	return "Time grows as the message does."
}

func runGrowth(ctx context.Context, s *stage) error {
	largest := growthSizes[len(growthSizes)-1]
	records, err := s.measure(ctx, GrowthPlan(largest/2))
	if err != nil {
		return err
	}
	// One pass over the largest takes a rescanning reader seconds: one sample,
	// hence no interval there.
	large, err := s.measure(ctx, bench.Plan{Samples: 1, Duration: time.Millisecond,
		Cells: []results.Cell{growthCell("ndjson-rescan", largest), growthCell("ndjson", largest)}})
	if err != nil {
		return err
	}
	all := Growings(append(records, large...))
	for i, e := range all {
		if i == 0 {
			e.Curve = curveOfGrowth(all) // of all readers, and so with the first, whatever is found
		}
		v := judgeGrowing(e)
		if err := s.fault(e.Framing, v, e, adviseGrowing(v, e)); err != nil {
			return err
		}
	}
	return nil
}

var growthFramings = []string{"ndjson", "ndjson-bytewise", "ndjson-rescan"}

func growthCell(framing string, size int) results.Cell {
	return results.Cell{
		Framing: framing, Size: size, Pipe: string(syspipe.Anonymous), IO: "blocking",
		Placement: steady(), Peer: "process", Pattern: "stream", Payload: "json",
	}
}

// bytewiseUpTo keeps a reader of single bytes under a second for a message.
const bytewiseUpTo = 1 << 20

// growthSizes are one size below [SlopeFrom], to show what comes before,
// doubled ones from there on, and 16 MiB.
var growthSizes = []int{64 << 10, SlopeFrom, 2 * SlopeFrom, 4 * SlopeFrom, 8 * SlopeFrom, 16 * SlopeFrom, 64 * SlopeFrom}

// GrowthPlan measures the three readers with messages of growing size up to
// the given one; byte by byte up to 1 MiB.
func GrowthPlan(upTo int) bench.Plan {
	p := bench.Plan{Samples: stat.LeastSamples, Duration: 15 * time.Millisecond}
	for _, size := range growthSizes {
		if size > upTo {
			break
		}
		for _, f := range growthFramings {
			if f == "ndjson-bytewise" && size > bytewiseUpTo {
				continue
			}
			p.Cells = append(p.Cells, growthCell(f, size))
		}
	}
	return p
}

// Growings makes the evidence of growth from the records of a [GrowthPlan].
func Growings(records []results.Record) []Growing {
	elapsed, err := stat.MetricByName("time")
	if err != nil {
		return nil
	}
	calls, err := stat.MetricByName("reader-calls")
	if err != nil {
		return nil
	}
	bySize := map[string]results.Record{}
	key := func(framing string, size int) string { return fmt.Sprint(framing, size) }
	for _, r := range records {
		bySize[key(r.Cell.Framing, r.Cell.Size)] = r
	}
	var out []Growing
	for _, framing := range growthFramings {
		e := Growing{Framing: framing}
		var sizes, times []float64
		for _, size := range growthSizes {
			r, ok := bySize[key(framing, size)]
			if !ok || len(r.Samples) == 0 {
				continue
			}
			t := stat.Median(elapsed.Values(r.Samples))
			e.PerByte = append(e.PerByte, Sized{Size: size, Figure: scaled(t, 1/float64(size))})
			e.Calls = stat.Median(calls.Values(r.Samples)).Median / float64(size) * 1024
			if size >= SlopeFrom {
				sizes, times = append(sizes, float64(size)), append(times, t.Median)
			}
			if ours, ok := bySize[key("ndjson", size)]; ok {
				e.ToOurs = append(e.ToOurs, Sized{Size: size, Figure: stat.PairedRatio(elapsed, []results.Record{r}, []results.Record{ours})})
			}
		}
		if e.Slope, err = stat.FitGrowth(sizes, times); err != nil {
			continue // too few sizes to tell
		}
		e.extrapolate(extrapolateTo)
		out = append(out, e)
	}
	return out
}

// extrapolate says what the slope makes of sizes that were not measured.
func (e *Growing) extrapolate(upTo int) {
	last := e.PerByte[len(e.PerByte)-1]
	for size := last.Size * 4; size <= upTo; size *= 4 {
		perByte := last.Figure.Median * math.Pow(float64(size)/float64(last.Size), e.Slope.Slope-1)
		e.Beyond = append(e.Beyond, Sized{Size: size, Figure: stat.Estimate{Median: perByte}, Extrapolated: true})
	}
}

// scaled multiplies an estimate by a constant.
func scaled(e stat.Estimate, by float64) stat.Estimate {
	e.Median *= by
	if e.Interval != nil {
		e.Interval = &stat.Interval{Lo: e.Interval.Lo * by, Hi: e.Interval.Hi * by, Confidence: e.Interval.Confidence}
	}
	return e
}

// curveOfGrowth shows ns for a byte by size, a line for each reader.
func curveOfGrowth(all []Growing) *Curve {
	c := &Curve{Title: "Readers of lines: time for a byte by message size", X: "message size, B", Y: "ns/B"}
	for _, e := range all {
		t := Trace{Name: e.Framing}
		for _, s := range append(e.PerByte, e.Beyond...) {
			p := estimated(float64(s.Size), s.Figure)
			p.Extrapolated = s.Extrapolated
			t.Points = append(t.Points, p)
		}
		c.Series = append(c.Series, t)
	}
	return c
}
