package faults

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// ReaderGrowth is the evidence of growth for one reader.
type ReaderGrowth struct {
	Summarised
	Framing string `json:"framing"`

	PerByte []Sized     `json:"per_byte"` // ns per byte, by message size
	Calls   float64     `json:"calls"`    // the reader's system calls per KiB, at the largest size
	Slope   stat.Growth `json:"slope"`    // of the time per message over its size

	// ToOurs is the time per message over that of our reader, round by round.
	ToOurs []Sized        `json:"to_ours"`
	Beyond []Sized        `json:"beyond,omitempty"` // larger sizes, by the slope
	Curve  *results.Curve `json:"curve,omitempty"`
}

// A Sized is a figure for one message size. One that was not measured but follows from the slope
// says so.
type Sized struct {
	Size         int           `json:"size"` // bytes
	Figure       stat.Estimate `json:"figure"`
	Extrapolated bool          `json:"extrapolated,omitempty"`
}

// extrapolateTo is the largest size that the slope is followed to, in bytes.
const extrapolateTo = 64 << 20

const (
	// quadraticFrom is the slope from which growth is called out of proportion. A linear reader
	// that leaves the caches comes near 1.15.
	quadraticFrom = 1.3
	// slowFrom is how many times our reader's time counts as slow.
	slowFrom = 3
)

// judge calls growth out of proportion where the slope is above 1.3 and its interval above 1, and a
// reader slow where some size takes three times as long as with our reader.
func (e *ReaderGrowth) judge() (Verdict, string) {
	e.Summary = e.Slope.String()
	if n := len(e.PerByte); n > 0 {
		last := e.PerByte[n-1]
		e.Summary += fmt.Sprintf(", %.3g ns/B at %s", last.Figure.Median, Size(last.Size))
	}
	if n := len(e.ToOurs); n > 0 && e.Framing != "ndjson" {
		last := e.ToOurs[n-1]
		e.Summary += fmt.Sprintf(", ×%.3g of our reader at %s",
			last.Figure.Median, Size(last.Size))
	}
	if e.Slope.Slope > quadraticFrom && (e.Slope.Interval == nil || e.Slope.Interval.Lo > 1) {
		return Grows, advise("growth, fast", e.Slope.Slope, math.Pow(2, e.Slope.Slope))
	}
	for _, s := range e.ToOurs {
		if s.Figure.Above(slowFrom) {
			return Slow, advise("growth, slow", e.Calls)
		}
	}
	return Sound, advise("growth, linear")
}

// Sizes of messages whose time says something about growth, in bytes: below the smallest, the fixed
// cost of a message flattens the curve.
var (
	growthFrom    = 256 << 10
	growthTo      = 4 << 20
	growthLargest = 16 << 20
)

func runGrowth(ctx context.Context, r *recorder) error {
	plan, err := PlanGrowth(growthFrom, growthTo)
	if err != nil {
		return err
	}
	records, err := r.MeasurePlan(ctx, plan, r.keep)
	if err != nil {
		return err
	}
	plan, err = planLargest()
	if err != nil {
		return err
	}
	large, err := r.MeasurePlan(ctx, plan, r.keep)
	if err != nil {
		return err
	}
	all := GrowthOf(append(records, large...), growthFrom)
	for i, e := range all {
		if i == 0 {
			e.Curve = curveOfGrowth(all) // of all readers, and so with the first, whatever is found
		}
		if err := r.record(e.Framing, e); err != nil {
			return err
		}
	}
	return nil
}

// planLargest measures the largest size. One pass over it takes a rescanning reader seconds, so
// there is one sample, hence no interval.
func planLargest() (bench.Plan, error) {
	place, err := steadyPlacement()
	if err != nil {
		return bench.Plan{}, err
	}
	return bench.Plan{
		Samples:  1,
		Duration: time.Millisecond,
		Cells: []results.Cell{
			streamCell(place, "ndjson-rescan", growthLargest, "blocking"),
			streamCell(place, "ndjson", growthLargest, "blocking"),
		},
	}, nil
}

var growthFramings = []string{"ndjson", "ndjson-bytewise", "ndjson-rescan"}

// PlanGrowth measures the three readers with messages of a quarter of from, to show what comes
// before, and of doubled sizes from there up to to; byte by byte up to 4 times from, which keeps
// that reader under a second for a message.
func PlanGrowth(from, to int) (bench.Plan, error) {
	place, err := steadyPlacement()
	if err != nil {
		return bench.Plan{}, err
	}
	p := bench.Plan{Samples: stat.LeastSamples, Duration: 15 * time.Millisecond}
	for size := from / 4; size <= to; size *= 2 {
		if size == from/2 {
			continue
		}
		for _, f := range growthFramings {
			if f == "ndjson-bytewise" && size > 4*from {
				continue
			}
			p.Cells = append(p.Cells, streamCell(place, f, size, "blocking"))
		}
	}
	return p, nil
}

// GrowthOf makes the evidence of growth from the records of a plan by [PlanGrowth]; sizes from the
// given one on make the slope. Readers with too few sizes to tell are left out.
func GrowthOf(records []results.Record, from int) []*ReaderGrowth {
	var sizes []int
	for _, r := range records {
		if !slices.Contains(sizes, r.Cell.Size) {
			sizes = append(sizes, r.Cell.Size)
		}
	}
	slices.Sort(sizes)
	var out []*ReaderGrowth
	for _, framing := range growthFramings {
		e, err := growthOfReader(records, framing, sizes, from)
		if err == nil {
			out = append(out, e)
		}
	}
	return out
}

// growthOfReader makes the evidence for one reader. It fails if there are too few sizes for a
// slope.
func growthOfReader(
	records []results.Record, framing string, sizes []int, from int,
) (*ReaderGrowth, error) {
	elapsed := stat.MustMetric("time")
	calls := stat.MustMetric("reader-calls")
	e := &ReaderGrowth{Framing: framing}
	var fitSizes, fitTimes []float64
	for _, size := range sizes {
		mine := recordOf(records, framing, size, "blocking")
		if mine == nil {
			continue
		}
		t := elapsed.Estimate(mine[0])
		e.PerByte = append(e.PerByte, Sized{Size: size, Figure: scaled(t, 1/float64(size))})
		e.Calls = calls.Estimate(mine[0]).Median / float64(size) * 1024
		if size >= from {
			fitSizes = append(fitSizes, float64(size))
			fitTimes = append(fitTimes, t.Median)
		}
		if ours := recordOf(records, "ndjson", size, "blocking"); ours != nil {
			ratio := stat.PairedRatio(elapsed, mine, ours)
			e.ToOurs = append(e.ToOurs, Sized{Size: size, Figure: ratio})
		}
	}
	var err error
	e.Slope, err = stat.FitGrowth(fitSizes, fitTimes)
	if err != nil {
		return nil, err
	}
	e.extrapolate()
	return e, nil
}

// extrapolate follows the slope beyond the largest size that was measured.
func (e *ReaderGrowth) extrapolate() {
	last := e.PerByte[len(e.PerByte)-1]
	for size := last.Size * 4; size <= extrapolateTo; size *= 4 {
		growth := math.Pow(float64(size)/float64(last.Size), e.Slope.Slope-1)
		e.Beyond = append(e.Beyond, Sized{
			Size:         size,
			Figure:       stat.Estimate{Median: last.Figure.Median * growth},
			Extrapolated: true,
		})
	}
}

// curveOfGrowth shows ns for a byte by size, a line for each reader.
func curveOfGrowth(all []*ReaderGrowth) *results.Curve {
	c := &results.Curve{
		Title: "Readers of lines: time for a byte by message size",
		X:     "message size, B",
		Y:     "ns/B",
	}
	for _, e := range all {
		t := results.Trace{Name: e.Framing}
		for _, s := range slices.Concat(e.PerByte, e.Beyond) {
			p := pointOf(float64(s.Size), s.Figure)
			p.Extrapolated = s.Extrapolated
			t.Points = append(t.Points, p)
		}
		c.Series = append(c.Series, t)
	}
	return c
}
