package faults

import (
	"context"
	"fmt"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
	"github.com/pipebench/pipebench/syspipe"
)

var fullPipe = Scenario{
	Misbehaviour: catalogue.Must(catalogue.Program, "full-pipe"),
	Deadline:     3 * time.Minute,
	run:          runFullPipe,
}

// A Waiting is the evidence of full-pipe: the goodput of one way to wait.
type Waiting struct {
	IO       string `json:"io"` // of the writer
	Pipe     string `json:"pipe"`
	Capacity int    `json:"capacity"` // bytes, read back
	Size     int    `json:"size"`     // bytes of a message

	Goodput  map[string]stat.Estimate `json:"goodput"`            // B/s, by framing
	ToBest   map[string]stat.Estimate `json:"to_blocking"`        // goodput over that of a blocking writer of the same framing, round by round
	PauseNS  int64                    `json:"pause_ns,omitempty"` // where the writer sleeps
	CeilingB float64                  `json:"ceiling,omitempty"`  // B/s: a pipe's worth per pause
	Curve    *Curve                   `json:"curve,omitempty"`
}

// slowAt is the share of a blocking writer's goodput below which a way to wait
// counts as slow: what placement alone does to a pipe is less than that.
const slowAt = 0.2

// judgeWaiting is the rule of full-pipe: a way to wait is slow when for every
// framing the ratio's median lies below a fifth and its whole interval below
// one. (With six rounds one disturbed round is an end of the interval.)
func judgeWaiting(e Waiting) Verdict {
	if len(e.ToBest) == 0 {
		return Sound
	}
	for _, ratio := range e.ToBest {
		if ratio.Median >= slowAt || !ratio.Below(1) {
			return Sound
		}
	}
	return Slow
}

func adviseWaiting(v Verdict, e Waiting) string {
	if v == Slow && e.CeilingB > 0 {
		return fmt.Sprintf("The pipe holds %s and is looked at again only %s after it was found full: a pipe's worth per pause is %s, and a reader "+
			"that drains while the writer is at it makes it a few of them, whatever the chunk size. Wait with poll(2), an event loop or a "+
			"blocking descriptor; chunks do not help.", results.FormatSize(int64(e.Capacity)), time.Duration(e.PauseNS), results.FormatGoodput(e.CeilingB))
	}
	if v == Slow {
		return "This way to wait costs more than four fifths of the goodput on this machine: wait in the kernel instead."
	}
	return "This way to wait keeps the pipe busy."
}

var fullPipeFramings = []string{"ndjson", "chunked:4096", "chunked:16384", "chunked:61440"}

const fullPipeSize = 1 << 20

func runFullPipe(ctx context.Context, s *stage) error {
	records, err := s.measure(ctx, FullPipePlan(fullPipeFramings))
	if err != nil {
		return err
	}
	waits := Waits(records)
	for i, e := range waits {
		if e.PauseNS > 0 {
			waits[i].Curve = curveOfWaits(waits)
		}
	}
	for _, e := range waits {
		v := judgeWaiting(e)
		if err := s.fault(e.IO, v, e, adviseWaiting(v, e)); err != nil {
			return err
		}
	}
	return nil
}

// FullPipePlan measures every way to wait that this system has, for a writer
// of large messages in each of the framings.
func FullPipePlan(framings []string) bench.Plan {
	p := bench.Plan{Samples: stat.LeastSamples, Duration: 25 * time.Millisecond}
	for _, wait := range syspipe.IOs() {
		if wait.Supported() != nil {
			continue
		}
		for _, f := range framings {
			p.Cells = append(p.Cells, results.Cell{
				Framing: f, Size: fullPipeSize, Pipe: string(syspipe.Anonymous), IO: wait.String() + "/blocking",
				Placement: steady(), Peer: "process", Pattern: "stream", Payload: "json",
			})
		}
	}
	return p
}

// Waits makes the evidence of full-pipe from the records of a [FullPipePlan],
// in the order of [syspipe.IOs].
func Waits(records []results.Record) []Waiting {
	goodput, err := stat.MetricByName("goodput")
	if err != nil {
		return nil
	}
	find := func(wait syspipe.IO, framing string) []results.Record {
		for _, r := range records {
			if r.Cell.IO == wait.String()+"/blocking" && r.Cell.Framing == framing && len(r.Samples) > 0 {
				return []results.Record{r}
			}
		}
		return nil
	}
	var out []Waiting
	for _, wait := range syspipe.IOs() {
		e := Waiting{IO: wait.String(), Pipe: string(syspipe.Anonymous), Size: fullPipeSize,
			Goodput: map[string]stat.Estimate{}, ToBest: map[string]stat.Estimate{}}
		for _, f := range framingsOf(records) {
			mine, best := find(wait, f), find(syspipe.Blocking, f)
			if mine == nil || best == nil {
				continue
			}
			e.Capacity = mine[0].Samples[0].Capacity
			e.Goodput[f] = stat.Median(goodput.Values(mine[0].Samples))
			e.ToBest[f] = stat.PairedRatio(goodput, mine, best)
		}
		if len(e.Goodput) == 0 {
			continue
		}
		var pause time.Duration
		if _, err := fmt.Sscanf(e.IO, "sleep=%s", &pauseText{&pause}); err == nil {
			e.PauseNS = pause.Nanoseconds()
			e.CeilingB = float64(e.Capacity) / pause.Seconds()
		}
		out = append(out, e)
	}
	return out
}

// pauseText scans a duration.
type pauseText struct{ d *time.Duration }

func (p *pauseText) Scan(state fmt.ScanState, _ rune) error {
	text, err := state.Token(true, nil)
	if err != nil {
		return err
	}
	*p.d, err = time.ParseDuration(string(text))
	return err
}

func framingsOf(records []results.Record) []string {
	var out []string
	seen := map[string]bool{}
	for _, r := range records {
		if !seen[r.Cell.Framing] {
			seen[r.Cell.Framing] = true
			out = append(out, r.Cell.Framing)
		}
	}
	return out
}

// curveOfWaits shows goodput by chunk size, a line for each way to wait.
func curveOfWaits(waits []Waiting) *Curve {
	c := &Curve{Title: "A full pipe: goodput by chunk size and way to wait", X: "chunk size, B", Y: "goodput, B/s"}
	for _, e := range waits {
		t := Trace{Name: "io=" + e.IO}
		for _, f := range fullPipeFramings {
			var chunk float64
			if _, err := fmt.Sscanf(f, "chunked:%f", &chunk); err != nil {
				continue // bare lines have no chunk size
			}
			if g, ok := e.Goodput[f]; ok {
				t.Points = append(t.Points, estimated(chunk, g))
			}
		}
		c.Series = append(c.Series, t)
	}
	return c
}
