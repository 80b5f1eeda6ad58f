package tune

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
)

// Priorities in the Mux: what is small goes first.
const (
	largePriority = 0
	probePriority = 1
)

// A writer is the writing end: one goroutine that sends large messages without
// pause, one that sees what falls due, and one for each probe that waits.
type writer struct {
	stage *bench.WorkloadContext
	clock *bench.Clock
	mux   *framers.Mux
	brief brief

	large    int64 // sent so far, the warm-up's among them
	late     int64
	lateness []int64
}

// write is the writing half of the act.
func write(s *bench.WorkloadContext) (any, error) {
	w, err := newWriter(s)
	if err != nil {
		return nil, err
	}
	if err := w.phase(w.brief.Warmup, warmupProbes); err != nil {
		return nil, fmt.Errorf("warm-up: %w", err)
	}
	w.late, w.lateness = 0, w.lateness[:0]
	count := s.Count()
	if err := s.Barrier(); err != nil {
		return nil, err
	}
	if err := w.phase(w.brief.Large, w.brief.Probes); err != nil {
		return nil, err
	}
	return w.report(count())
}

// warmupProbes go along with the warm-up, so that what sends them is warm too.
const warmupProbes = 16

func newWriter(s *bench.WorkloadContext) (*writer, error) {
	w := &writer{stage: s}
	var err error
	if err = s.Params(&w.brief); err != nil {
		return nil, err
	}
	if w.clock, err = bench.NewClock(); err != nil {
		return nil, err
	}
	behaves, err := parseSender(s.Cell().Sender)
	if err != nil {
		return nil, err
	}
	var out io.Writer = s.Pipe()
	if behaves.watermark > 0 {
		out = &watermark{pipe: s.Pipe(), clock: w.clock, below: behaves.watermark}
	}
	opts := append(s.Options(), framers.WithQueue(int(w.brief.Probes)+warmupProbes), framers.WithWait(behaves.wait))
	w.mux = framers.NewMux(out, s.Framing(), opts...)
	w.lateness = make([]int64, 0, max(w.brief.Probes, warmupProbes))
	return w, nil
}

// phase sends large messages until all probes have fallen due and at least as
// many large ones as asked for are sent. It returns when all is on the wire.
func (w *writer) phase(large, probes int64) error {
	var due atomic.Bool // all of them
	failed := make(chan error, 1)
	go func() { failed <- w.stream(large, &due) }()
	err := w.fall(probes)
	due.Store(true)
	if err := errors.Join(err, <-failed); err != nil {
		return err
	}
	return w.mux.Send(context.Background(), largePriority, endOf(w.large, probes))
}

// stream sends large messages, one after the other. It runs on a goroutine of
// its own, since the stage's is bound to its thread: the turn would pass from
// thread to thread.
func (w *writer) stream(atLeast int64, due *atomic.Bool) error {
	for sent := int64(0); sent < atLeast || !due.Load(); sent++ {
		w.stage.SampleCPU()
		if err := w.mux.Send(context.Background(), largePriority, w.stage.Source().Message(w.large)); err != nil {
			return fmt.Errorf("send large message %d: %w", w.large, err)
		}
		w.large++
	}
	return nil
}

// fall sends each probe when it is due, whether those before it are out or
// not. One that finds this goroutine late is sent at once, and waited from
// when it was due.
func (w *writer) fall(probes int64) error {
	msgs := newProbes(int(probes))
	period := 1e9 / w.stage.Cell().Rate
	start := w.clock.Now()
	var waiting sync.WaitGroup
	var broken failure
	for i := range probes {
		due := start + int64(float64(i)*period)
		w.clock.Await(due, false)
		now := w.clock.Now()
		if w.lateness = append(w.lateness, now-due); float64(now-due) > period {
			w.late++
		}
		probe{uint64(i), due, now}.stamp(msgs[i])
		waiting.Go(func() { broken.note(w.mux.Send(context.Background(), probePriority, msgs[i])) })
		runtime.Gosched() // else it would wait behind this goroutine, which sleeps without the scheduler's knowledge
	}
	waiting.Wait()
	return broken.err
}

// A failure keeps the first error of several goroutines.
type failure struct {
	once sync.Once
	err  error
}

func (f *failure) note(err error) {
	if err != nil {
		f.once.Do(func() { f.err = fmt.Errorf("send a probe: %w", err) })
	}
}

func (w *writer) report(c results.Counters) (written, error) {
	lateness, err := results.NewLatency(w.lateness)
	if err != nil {
		return written{}, err
	}
	r := written{Counters: c, Bytes: c.Bytes, Late: w.late, Lateness: lateness, Frame: w.mux.FrameSize()}
	if capacity, err := w.stage.Pipe().Capacity(); err == nil { // what cannot be told stays 0
		r.Capacity = capacity
	}
	return r, nil
}
