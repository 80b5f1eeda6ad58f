package faults

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/faults/actor"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
	"github.com/pipebench/pipebench/syspipe"
)

var headOfLine = Scenario{
	Misbehaviour: catalogue.Must(catalogue.Program, "head-of-line"),
	Deadline:     time.Minute,
	run:          runHeadOfLine,
}

// A Queueing is the evidence of head-of-line for one framing.
type Queueing struct {
	Framing    string        `json:"framing"`
	Large      int           `json:"large"`       // bytes of the message that is under way
	Small      int           `json:"small"`       // bytes of the one that waits
	Drain      float64       `json:"drain"`       // bytes a second that the reader takes
	Capacity   int           `json:"capacity"`    // bytes the pipe holds
	Wait       stat.Estimate `json:"wait"`        // ns from sending the small message to its arrival
	WholeNS    float64       `json:"whole_ns"`    // what the reader takes for the large message
	ExpectedNS float64       `json:"expected_ns"` // what the pipe's content and one frame take it
	Share      stat.Estimate `json:"share"`       // the wait over WholeNS
	Curve      *Curve        `json:"curve,omitempty"`
}

// judgeQueueing is the rule of head-of-line: a small message is stuck behind a
// large one when it waits for at least half of it, in every plausible case.
func judgeQueueing(e Queueing) Verdict {
	if e.Share.Above(0.5) {
		return Slow
	}
	return Sound
}

func adviseQueueing(v Verdict, e Queueing) string {
	wait := time.Duration(e.Wait.Median).Round(time.Millisecond)
	if v == Slow {
		return fmt.Sprintf("The small message waited %s, as long as the reader took for the large one. Nothing is lost, but a ping or a "+
			"cancellation comes too late. Send large messages in chunks and let small ones in between, or keep a second pipe for them.", wait)
	}
	return fmt.Sprintf("The small message waited %s: the reader had to take what was in the pipe and one frame, and that is the least "+
		"a single pipe gives. A smaller pipe shortens it further; a faster reader makes it vanish.", wait)
}

const (
	queueLarge = 4 << 20
	queueSmall = 200
	perByte    = 47 * time.Nanosecond // of a real server, measured
	queueRuns  = stat.LeastSamples
)

func runHeadOfLine(ctx context.Context, s *stage) error {
	a, err := actor.Prepare(ctx, "queue", queueFramings())
	if err != nil {
		return err
	}
	defer a.Dismiss()
	if err := a.Start(); err != nil {
		return err
	}
	waits := map[string][]time.Duration{}
	capacity := 0
	for round := range queueRuns {
		for range queueFramings() {
			s.step("round %d of %d", round+1, queueRuns)
			var got queueReport
			if err := a.Report(&got); err != nil {
				return err
			}
			waits[got.Framing] = append(waits[got.Framing], got.Wait)
			capacity = got.Capacity
		}
	}
	for _, spec := range queueFramings() {
		e := queueing(spec, waits[spec], capacity)
		v := judgeQueueing(e)
		if err := s.fault(spec, v, e, adviseQueueing(v, e)); err != nil {
			return err
		}
	}
	return a.Wait()
}

func queueFramings() []string { return []string{"ndjson", "chunked:61440", "chunked:4096"} }

// queueing works the evidence out.
func queueing(spec string, waits []time.Duration, capacity int) Queueing {
	e := Queueing{Framing: spec, Large: queueLarge, Small: queueSmall, Capacity: capacity,
		Drain: 1 / perByte.Seconds(), Wait: medianOf(waits), WholeNS: float64(queueLarge * perByte)}
	frame := queueLarge
	if f, err := framers.Parse(spec); err == nil {
		if c, ok := f.(framers.Chunker); ok {
			frame = largestFrame(c)
		}
	}
	e.ExpectedNS = float64(time.Duration(min(frame+capacity, queueLarge)) * perByte)
	shares := make([]float64, len(waits))
	for i, w := range waits {
		shares[i] = float64(w) / e.WholeNS
	}
	e.Share = stat.Median(shares)
	return e
}

func largestFrame(c framers.Chunker) int {
	largest := 0
	for frame := range c.Frames(make([]byte, queueLarge)) {
		n := 0
		for _, piece := range frame {
			n += len(piece)
		}
		largest = max(largest, n)
	}
	return largest
}

type queueReport struct {
	Framing  string
	Wait     time.Duration
	Capacity int
}

// playQueue times a small message behind a large one, the framings in turn.
func playQueue(s *actor.Stage) error {
	var specs []string
	if err := s.Args(&specs); err != nil {
		return err
	}
	for range queueRuns {
		for _, spec := range specs {
			r, err := queueBehind(spec)
			if err != nil {
				return err
			}
			if err := s.Report(r); err != nil {
				return err
			}
		}
	}
	return nil
}

func queueBehind(spec string) (queueReport, error) {
	report := queueReport{Framing: spec}
	f, err := framers.Parse(spec)
	if err != nil {
		return report, err
	}
	w, r, err := syspipe.Open(syspipe.Anonymous, 0)
	if err != nil {
		return report, err
	}
	defer w.Close()
	defer r.Close()
	if err := actor.Park(w, r); err != nil {
		return report, err
	}
	if report.Capacity, err = w.Capacity(); err != nil {
		return report, err
	}
	slow := &slowReader{r: r, begun: make(chan struct{})}
	arrived := make(chan time.Time, 1)
	failed := make(chan error, 2)
	go receiveBoth(f.NewReader(slow), arrived, failed)
	mux := framers.NewMux(w, f)
	go func() { failed <- mux.Send(context.Background(), 0, letters(queueLarge)) }()
	<-slow.begun // so the large message is under way
	sent := time.Now()
	if err := mux.Send(context.Background(), 1, letters(queueSmall)); err != nil {
		return report, err
	}
	for range 2 {
		if err := <-failed; err != nil {
			return report, err
		}
	}
	report.Wait = (<-arrived).Sub(sent)
	return report, nil
}

// receiveBoth reads two messages and says when the small one was there.
func receiveBoth(r framers.Reader, arrived chan<- time.Time, done chan<- error) {
	for range 2 {
		msg, err := r.ReadMessage()
		if err != nil {
			done <- err
			return
		}
		if len(msg) == queueSmall {
			arrived <- time.Now()
		}
	}
	done <- nil
}

// A slowReader takes perByte for each byte, as a program does that parses them.
type slowReader struct {
	r     io.Reader
	begun chan struct{} // closed at the first bytes
	due   time.Time     // when the work on what was read is done
}

// readAtOnce is small against a pipe's content, so that the reader takes it
// piece by piece as a slow one does.
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
	p := make([]byte, n)
	for i := range p {
		p[i] = 'a' + byte(i%26)
	}
	return p
}
