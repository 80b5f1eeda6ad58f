package bench

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A Result is the record of one finished measurement.
type Result struct{ results.Record }

// Goodput returns payload bytes per second, the median of the samples.
func (r Result) Goodput() float64 { return r.median("goodput") }

// Time returns how long one message or one round trip takes, the median of the samples.
func (r Result) Time() time.Duration { return time.Duration(r.median("time")) }

func (r Result) median(metric string) float64 {
	return stat.MustMetric(metric).Estimate(r.Record).Median
}

// Measure makes the measurement that c describes. Empty fields of c have their usual values, so
// Framing and Size are often enough. If this machine cannot make the measurement, Measure returns
// an error.
func Measure(ctx context.Context, c results.Cell) (Result, error) {
	var result Result
	plan := Plan{Cells: []results.Cell{c}}
	err := Run(ctx, plan, func(r results.Record) error {
		result.Record = r
		return nil
	})
	if err == nil && result.Unsupported != "" {
		err = errors.New(result.Unsupported)
	}
	return result, err
}

// SliceTime is the default length of one timed run. It is so long that the clock is exact enough,
// and so short that most runs are undisturbed.
const SliceTime = 3 * time.Millisecond

// usualSamples is the default number of samples per cell.
const usualSamples = 24

// withDefaults fills in what the plan and its cells leave empty, except Forks.
func (p Plan) withDefaults() Plan {
	p.Samples = cmp.Or(p.Samples, usualSamples)
	p.Duration = cmp.Or(p.Duration, SliceTime)
	p.Cells = slices.Clone(p.Cells)
	for i, c := range p.Cells {
		p.Cells[i] = Complete(c)
	}
	return p
}

// Complete returns c with its empty fields filled in, as [Measure] and [Run] do. The usual values
// are: a stream of JSON messages in the framing "raw", through an anonymous pipe whose ends block,
// at the first placement that [Placed] returns.
func Complete(c results.Cell) results.Cell {
	c.Framing = cmp.Or(c.Framing, results.FramingRaw)
	c.Pipe = cmp.Or(c.Pipe, "anonymous")
	c.IO = cmp.Or(c.IO, "blocking")
	c.Pattern = cmp.Or(c.Pattern, "stream")
	c.Payload = cmp.Or(c.Payload, "json")
	if c.Placement == "" {
		c.Placement = Placed(c)[0].Placement
	}
	if c.Source == results.SourceHot { // the default, which records leave empty
		c.Source = ""
	}
	return c
}

// Placed returns copies of c that differ in the placement of the two processes on CPUs: one copy
// for each placement that is worth comparing on this machine. See [placement.Topology.Best].
func Placed(c results.Cell) []results.Cell {
	topology, err := placement.Read()
	if err != nil {
		topology = placement.Topology{} // its Best is "free" alone: the scheduler chooses
	}
	var cells []results.Cell
	for _, place := range topology.Best() {
		c.Placement = place
		cells = append(cells, c)
	}
	return cells
}
