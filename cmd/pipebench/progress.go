package main

import (
	"fmt"
	"io"
	"os"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A reporter tells the person who waits how far a run is.
type reporter interface {
	observe(bench.Progress)
	kept(results.Record)
	stop()
}

// progress is bars where stderr is a terminal, else a plain line a finished
// cell: a log keeps neither bars nor the codes that draw them.
func (f *sharedFlags) progress(stderr io.Writer, p bench.Plan) reporter {
	switch {
	case f.quiet || f.noProgress:
		return silence{}
	case isTerminal(stderr):
		return newBars(stderr, p)
	}
	return &lines{stderr: stderr, cells: len(p.Cells)}
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

type silence struct{}

func (silence) observe(bench.Progress) {}
func (silence) kept(results.Record)    {}
func (silence) stop()                  {}

// lines prints a line for each cell whose record is kept.
type lines struct {
	stderr      io.Writer
	cells, done int
}

func (l *lines) observe(bench.Progress) {}

func (l *lines) kept(r results.Record) {
	l.done++
	fmt.Fprintf(l.stderr, "%d/%d %s: %s\n", l.done, l.cells, bench.Label(r.Cell), outcome(r))
}

func (l *lines) stop() {}

// outcome is a record in a few words.
func outcome(r results.Record) string {
	switch {
	case r.Unsupported != "":
		return "not here: " + r.Unsupported
	case r.Failed != "":
		return "failed: " + r.Failed
	}
	name := "goodput"
	if r.Cell.Pattern == "roundtrip" {
		name = "time"
	}
	m, err := stat.MetricByName(name)
	if err != nil || len(r.Samples) == 0 {
		return fmt.Sprintf("%d samples", len(r.Samples))
	}
	estimate := stat.Median(m.Values(r.Samples))
	return fmt.Sprintf("%d samples, %s", len(r.Samples), m.Format(estimate.Median))
}

// steps a cell takes before its samples: the untimed one and the short one.
const rehearsals = 2

// bars are one bar a framing, counting the samples of its cells.
type bars struct {
	container *mpb.Progress
	byFraming map[string]*mpb.Bar
	left      map[string]int // steps to come, by framing
	planned   map[string]int // steps to come, by cell
}

func newBars(stderr io.Writer, p bench.Plan) *bars {
	b := &bars{
		container: mpb.New(mpb.WithOutput(stderr), mpb.WithWidth(48)),
		byFraming: map[string]*mpb.Bar{},
		left:      map[string]int{},
		planned:   map[string]int{},
	}
	var order []string
	for _, c := range p.Cells {
		if b.left[c.Framing] == 0 {
			order = append(order, c.Framing)
		}
		b.planned[c.Key()] = p.Samples + rehearsals
		b.left[c.Framing] += p.Samples + rehearsals
	}
	for _, name := range order {
		b.byFraming[name] = b.container.AddBar(int64(b.left[name]),
			mpb.PrependDecorators(decor.Name(name, decor.WC{W: widest(order) + 1, C: decor.DindentRight})),
			mpb.AppendDecorators(decor.CountersNoUnit("%d of %d samples"), decor.OnComplete(decor.AverageETA(decor.ET_STYLE_GO, decor.WC{W: 6}), "")))
	}
	return b
}

func widest(names []string) int {
	w := 0
	for _, n := range names {
		w = max(w, len(n))
	}
	return w
}

// observe moves the bar of the cell's framing. A finished cell takes along
// what steps it did not need.
func (b *bars) observe(p bench.Progress) {
	key, step := p.Cell.Key(), 1
	if p.Step == bench.Finished {
		step = b.planned[key]
	}
	step = min(step, b.planned[key]) // with a precision to reach, samples go on beyond the plan
	b.planned[key] -= step
	b.byFraming[p.Cell.Framing].IncrBy(step)
}

func (b *bars) kept(results.Record) {}

// stop leaves the finished bars on the screen and takes the others away: one
// that is short of its total would be waited for for ever.
func (b *bars) stop() {
	for _, bar := range b.byFraming {
		if !bar.Completed() {
			bar.Abort(true)
		}
	}
	b.container.Wait()
}
