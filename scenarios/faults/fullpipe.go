package faults

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/syspipe"
)

// FullPipe is the evidence of full-pipe: the goodput of one way to wait.
type FullPipe struct {
	Summarised
	IO       string `json:"io"` // of the writer
	Pipe     string `json:"pipe"`
	Capacity int    `json:"capacity"` // bytes, read back
	Size     int    `json:"size"`     // bytes of a message

	Goodput map[string]stat.Estimate `json:"goodput"` // B/s, by framing

	// ToBest is the goodput over that of a blocking writer of the same framing, round by round.
	ToBest map[string]stat.Estimate `json:"to_blocking"`

	PauseNS  int64          `json:"pause_ns,omitempty"` // if the writer sleeps
	CeilingB float64        `json:"ceiling,omitempty"`  // B/s: a pipe's worth per pause
	Curve    *results.Curve `json:"curve,omitempty"`
}

// slowAt is the share of a blocking writer's goodput below which a way to wait counts as slow: what
// placement alone does to a pipe is less than that.
const slowAt = 0.2

// judge calls a way to wait slow when for every framing the ratio's median lies below a fifth and
// its whole interval below one. (With six rounds one disturbed round is an end of the interval.)
func (e *FullPipe) judge() (Verdict, string) {
	var goodput, ratio []float64
	for f, g := range e.Goodput {
		goodput = append(goodput, g.Median)
		ratio = append(ratio, e.ToBest[f].Median)
	}
	e.Summary = fmt.Sprintf("%s, ×%.3g of a blocking writer",
		results.FormatGoodput(stat.Median(goodput).Median), stat.Median(ratio).Median)
	if e.CeilingB > 0 {
		e.Summary += ", a pipe's worth per pause being " + results.FormatGoodput(e.CeilingB)
	}
	slow := len(e.ToBest) > 0
	for _, ratio := range e.ToBest {
		if ratio.Median >= slowAt || !ratio.Below(1) {
			slow = false
		}
	}
	switch {
	case slow && e.CeilingB > 0:
		return Slow, advise("full-pipe, paused", results.FormatSize(int64(e.Capacity)),
			time.Duration(e.PauseNS), results.FormatGoodput(e.CeilingB))
	case slow:
		return Slow, advise("full-pipe, slow")
	}
	return Sound, advise("full-pipe, busy")
}

var fullPipeFramings = []string{"ndjson", "chunked:4096", "chunked:16384", "chunked:61440"}

// fullPipeSize is that of a message, in bytes.
var fullPipeSize = 1 << 20

func runFullPipe(ctx context.Context, r *recorder) error {
	place, err := steadyPlacement()
	if err != nil {
		return err
	}
	records, err := r.MeasurePlan(ctx, fullPipePlan(place, fullPipeFramings), r.keep)
	if err != nil {
		return err
	}
	all := fullPipesOf(records)
	curve := curveOfFullPipes(all)
	for _, e := range all {
		if e.PauseNS > 0 {
			e.Curve = curve
		}
		if err := r.record(e.IO, e); err != nil {
			return err
		}
	}
	return nil
}

// curveOfFullPipes shows goodput by chunk size, a line for each way to wait.
func curveOfFullPipes(all []*FullPipe) *results.Curve {
	c := &results.Curve{
		Title: "A full pipe: goodput by chunk size and way to wait",
		X:     "chunk size, B",
		Y:     "goodput, B/s",
	}
	for _, e := range all {
		t := results.Trace{Name: "io=" + e.IO}
		for _, f := range fullPipeFramings {
			chunk := results.ChunkSize(f) // bare lines have none
			g, ok := e.Goodput[f]
			if ok && chunk > 0 {
				t.Points = append(t.Points, pointOf(float64(chunk), g))
			}
		}
		c.Series = append(c.Series, t)
	}
	return c
}

// fullPipePlan measures every way to wait that this system has, for a writer of large messages in
// each of the framings.
func fullPipePlan(place string, framings []string) bench.Plan {
	p := bench.Plan{Samples: stat.LeastSamples, Duration: 25 * time.Millisecond}
	for _, wait := range syspipe.IOs() {
		if wait.Supported() != nil {
			continue
		}
		for _, f := range framings {
			cell := streamCell(place, f, fullPipeSize, wait.String()+"/blocking")
			p.Cells = append(p.Cells, cell)
		}
	}
	return p
}

// fullPipesOf makes the evidence of full-pipe from the records of a [fullPipePlan], in the order of
// [syspipe.IOs].
func fullPipesOf(records []results.Record) []*FullPipe {
	var out []*FullPipe
	for _, wait := range syspipe.IOs() {
		e := fullPipeOf(records, wait)
		if len(e.Goodput) > 0 {
			out = append(out, e)
		}
	}
	return out
}

// fullPipeOf makes the evidence for one way to wait. It has no goodput if that was not measured.
func fullPipeOf(records []results.Record, wait syspipe.IO) *FullPipe {
	goodput := stat.MustMetric("goodput")
	e := &FullPipe{
		IO:      wait.String(),
		Pipe:    string(syspipe.Anonymous),
		Size:    fullPipeSize,
		Goodput: map[string]stat.Estimate{},
		ToBest:  map[string]stat.Estimate{},
	}
	for _, f := range fullPipeFramings {
		mine := recordOf(records, f, fullPipeSize, wait.String()+"/blocking")
		best := recordOf(records, f, fullPipeSize, syspipe.Blocking.String()+"/blocking")
		if mine == nil || best == nil {
			continue
		}
		e.Capacity = mine[0].Samples[0].Capacity
		e.Goodput[f] = goodput.Estimate(mine[0])
		e.ToBest[f] = stat.PairedRatio(goodput, mine, best)
	}
	pause, err := time.ParseDuration(strings.TrimPrefix(e.IO, "sleep="))
	if err == nil && pause > 0 {
		e.PauseNS = pause.Nanoseconds()
		e.CeilingB = float64(e.Capacity) / pause.Seconds()
	}
	return e
}
