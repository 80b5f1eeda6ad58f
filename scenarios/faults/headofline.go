package faults

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

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
