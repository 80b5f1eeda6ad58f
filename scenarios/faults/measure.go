package faults

import (
	"context"
	"fmt"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/syspipe"
)

// MeasurePlan runs a plan, gives its records to keep as they come, and returns them.
func (o Options) MeasurePlan(
	ctx context.Context, p bench.Plan, keep func(results.Line) error,
) ([]results.Record, error) {
	p.Run = o.Run
	p.Seed = o.Seed
	p.Observe = func(progress bench.Progress) {
		if o.Observe != nil {
			o.Observe(fmt.Sprintf("%s: %s", progress.Step, bench.Label(progress.Cell)))
		}
	}
	var records []results.Record
	err := bench.Run(ctx, p, func(r results.Record) error {
		records = append(records, r)
		return keep(r)
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

// recordOf returns the record of a cell of lines, if it has samples, as a list of one.
func recordOf(records []results.Record, framing string, size int, io string) []results.Record {
	for i, r := range records {
		c := r.Cell
		if c.Framing == framing && c.Size == size && c.IO == io && len(r.Samples) > 0 {
			return records[i : i+1]
		}
	}
	return nil
}

// steadyPlacement returns the placement whose figures vary least: one CPU for both ends, where the
// system lets a process choose its CPUs.
func steadyPlacement() (string, error) {
	topology, err := placement.Read()
	if err != nil {
		return "", err
	}
	return topology.Best()[0], nil
}

// streamCell is a cell of a stream of JSON from one process to another.
func streamCell(place, framing string, size int, io string) results.Cell {
	return results.Cell{
		Framing:   framing,
		Size:      size,
		Pipe:      string(syspipe.Anonymous),
		IO:        io,
		Placement: place,
		Pattern:   "stream",
		Payload:   "json",
	}
}

// pointOf returns a point with the interval of an estimate.
func pointOf(x float64, e stat.Estimate) results.CurvePoint {
	p := results.CurvePoint{X: x, Y: e.Median, Low: e.Median, High: e.Median}
	if e.Interval != nil {
		p.Low, p.High = e.Interval.Lo, e.Interval.Hi
	}
	return p
}

// scaled multiplies an estimate by a constant.
func scaled(e stat.Estimate, by float64) stat.Estimate {
	e.Median *= by
	if e.Interval != nil {
		i := *e.Interval
		i.Lo *= by
		i.Hi *= by
		e.Interval = &i
	}
	return e
}
