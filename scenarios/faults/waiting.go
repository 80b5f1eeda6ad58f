package faults

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
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

// HeadOfLine is the evidence of head-of-line for one framing.
type HeadOfLine struct {
	Summarised
	Framing    string        `json:"framing"`
	Large      int           `json:"large"`       // bytes of the message that is under way
	Small      int           `json:"small"`       // bytes of the one that waits
	Drain      float64       `json:"drain"`       // bytes a second that the reader takes
	Capacity   int           `json:"capacity"`    // bytes the pipe holds
	Wait       stat.Estimate `json:"wait"`        // ns from sending the small one to its arrival
	WholeNS    float64       `json:"whole_ns"`    // what the reader takes for the large message
	ExpectedNS float64       `json:"expected_ns"` // what the pipe's content and one frame take it
	Share      stat.Estimate `json:"share"`       // the wait over WholeNS
}

// judge calls a small message stuck behind a large one when it waits for at least half of it, in
// every plausible case.
func (e *HeadOfLine) judge() (Verdict, string) {
	e.Summary = "waited " + results.FormatDuration(e.Wait.Median)
	if i := e.Wait.Interval; i != nil {
		e.Summary += fmt.Sprintf(" [%s, %s]",
			results.FormatDuration(i.Lo), results.FormatDuration(i.Hi))
	}
	e.Summary += fmt.Sprintf(", n = %d; the large message takes the reader %s",
		e.Wait.N, results.FormatDuration(e.WholeNS))
	wait := time.Duration(e.Wait.Median).Round(time.Millisecond)
	if e.Share.Above(0.5) {
		return Slow, advise("head-of-line, behind all", wait)
	}
	return Sound, advise("head-of-line, behind a part", wait)
}

const (
	smallBytes = 200                  // of the message that waits
	perByte    = 47 * time.Nanosecond // of a real server, measured
)

// largeBytes are those of the message that is under way.
var largeBytes = 4 << 20

var headOfLineFramings = []string{"ndjson", "chunked:61440", "chunked:4096"}

func runHeadOfLine(ctx context.Context, r *recorder) error {
	p, err := start(ctx, "faults/head-of-line", largeBytes)
	if err != nil {
		return err
	}
	defer p.Close()
	waits := map[string][]float64{} // ns
	capacity := 0
	for round := range stat.LeastSamples {
		r.step("round %d of %d", round+1, stat.LeastSamples)
		for _, spec := range headOfLineFramings {
			var got waitReport
			if err := p.Report(&got); err != nil {
				return err
			}
			waits[spec] = append(waits[spec], float64(got.Wait))
			capacity = got.Capacity
		}
	}
	for _, spec := range headOfLineFramings {
		if err := r.record(spec, headOfLineOf(spec, waits[spec], capacity)); err != nil {
			return err
		}
	}
	return p.Wait()
}

// headOfLineOf makes the evidence for one framing from the waits in ns.
func headOfLineOf(spec string, waits []float64, capacity int) *HeadOfLine {
	e := &HeadOfLine{
		Framing:  spec,
		Large:    largeBytes,
		Small:    smallBytes,
		Capacity: capacity,
		Drain:    1 / perByte.Seconds(),
		Wait:     stat.Median(waits),
		WholeNS:  float64(largeBytes) * float64(perByte),
	}
	frame := results.ChunkSize(spec)
	if frame == 0 {
		frame = largeBytes
	}
	e.ExpectedNS = float64(min(frame+capacity, largeBytes)) * float64(perByte)
	e.Share = scaled(e.Wait, 1/e.WholeNS)
	return e
}

type waitReport struct {
	Wait     time.Duration
	Capacity int
}

// timeSmallMessages times a small message behind a large one, the framings in turn.
func timeSmallMessages(w *proc.Work, large int) error {
	for range stat.LeastSamples {
		for _, spec := range headOfLineFramings {
			got, err := timeSmallMessage(spec, large)
			if err != nil {
				return err
			}
			if err := w.Report(got); err != nil {
				return err
			}
		}
	}
	return nil
}

func timeSmallMessage(spec string, large int) (waitReport, error) {
	f, err := framers.Parse(spec)
	if err != nil {
		return waitReport{}, err
	}
	w, r, err := OpenPipe(syspipe.Anonymous)
	if err != nil {
		return waitReport{}, err
	}
	defer r.Close()
	defer w.Close()
	if err := PollEnds(w, r); err != nil {
		return waitReport{}, err
	}
	capacity, err := w.Capacity()
	if err != nil {
		return waitReport{}, err
	}
	slow := &slowReader{r: r, begun: make(chan struct{})}
	arrived := make(chan time.Time, 1)
	failed := make(chan error, 2)
	go func() { failed <- receiveTwo(f.NewReader(slow), arrived) }()
	mux := framers.NewMux(w, f)
	go func() { failed <- mux.Send(context.Background(), 0, letters(large)) }()
	<-slow.begun // so the large message is under way
	sent := time.Now()
	if err := mux.Send(context.Background(), 1, letters(smallBytes)); err != nil {
		return waitReport{}, err
	}
	for range 2 {
		if err := <-failed; err != nil {
			return waitReport{}, err
		}
	}
	return waitReport{Wait: (<-arrived).Sub(sent), Capacity: capacity}, nil
}

// receiveTwo receives the two messages, and tells when the small one arrived.
func receiveTwo(in framers.Reader, arrived chan<- time.Time) error {
	for range 2 {
		msg, err := in.ReadMessage()
		if err != nil {
			return err
		}
		if len(msg) == smallBytes {
			arrived <- time.Now()
		}
	}
	return nil
}

// A slowReader takes perByte for each byte, as a program does that parses them.
type slowReader struct {
	r     io.Reader
	begun chan struct{} // closed at the first bytes
	due   time.Time     // when the work on what was read is done
}

// readAtOnce is small against a pipe's content, so that the reader takes it piece by piece as a
// slow one does.
const readAtOnce = 8 << 10

func (s *slowReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p[:min(len(p), readAtOnce)])
	if n > 0 && s.due.IsZero() {
		close(s.begun)
		s.due = time.Now()
	}
	s.due = s.due.Add(time.Duration(n) * perByte)
	time.Sleep(time.Until(s.due))
	return n, err
}

// letters is a message of n bytes that every framing carries.
func letters(n int) []byte {
	return bytes.Repeat([]byte("abcdefghijklmnopqrstuvwxyz"), n/26+1)[:n]
}
