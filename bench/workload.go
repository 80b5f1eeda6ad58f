package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// An Workload is a workload of a scenario's own: what the two ends of a pipe do,
// where that is neither a stream nor a round trip. Give it to [Worker], and
// run it with [Plan.Perform].
//
// Each of the two functions runs in a fresh worker process that is bound to
// its CPU, and so are the goroutines that it starts. What it returns is
// marshalled to JSON and handed to the controller.
type Workload struct {
	Name   string
	Writer func(*WorkloadContext) (any, error) // at the end that is written to
	Reader func(*WorkloadContext) (any, error) // at the other
}

// A WorkloadContext is what an end of an act has to work with. It belongs to the
// goroutine that the act's function runs on.
type WorkloadContext struct{ endpoint *endpoint }

// Params decodes what [Plan.Perform] was given for the ends.
func (s *WorkloadContext) Params(into any) error {
	if err := json.Unmarshal(s.endpoint.job.Params, into); err != nil {
		return fmt.Errorf("read the brief of %s: %w", s.endpoint.Workload, err)
	}
	return nil
}

// Cell is the cell that is measured.
func (s *WorkloadContext) Cell() results.Cell { return s.endpoint.Cell }

// Framing is the cell's.
func (s *WorkloadContext) Framing() framers.Framing { return s.endpoint.framing }

// Options are what a framing has to know of the cell's messages.
func (s *WorkloadContext) Options() []framers.Option { return s.endpoint.options() }

// Source makes the cell's messages, the same at both ends.
func (s *WorkloadContext) Source() *payload.Source { return s.endpoint.source }

// Pipe is this end of the pipe.
func (s *WorkloadContext) Pipe() *syspipe.End { return s.endpoint.dataPipe() }

// Barrier waits until both ends have called it. The reading end leaves first, the
// writing end within the time that a byte takes through a pipe.
func (s *WorkloadContext) Barrier() error {
	tell := func() error { return s.endpoint.signalPeer(0) }
	listen := func() error { _, err := s.endpoint.awaitPeer(); return err }
	steps := []func() error{tell, listen}
	if s.endpoint.isTimer() {
		slices.Reverse(steps)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return explain("meet the other end", err)
		}
	}
	return nil
}

// A Clock is the system's monotonic clock, which both ends of an act read
// alike. It may be used concurrently.
type Clock struct{ shared *sharedClock }

// NewClock makes a view of the clock.
func NewClock() (*Clock, error) {
	shared, err := newSharedClock()
	return &Clock{shared}, err
}

// Now is in nanoseconds since a moment that is the same for all processes.
func (c *Clock) Now() int64 { return c.shared.now() }

// Await returns when Now is moment or more. To be less late it may spin for
// the last microseconds, where the CPU is the end's own.
func (c *Clock) Await(moment int64, spin bool) {
	minimiseTimerSlack() // of the thread, which may be another each time
	c.shared.await(moment, spin)
}

// SampleCPU notes the CPU that the end runs on now, for its counters.
func (s *WorkloadContext) SampleCPU() { s.endpoint.sampleCPU() }

// Count begins to count what the end does. The function that it returns gives
// the counters from then on; call it when the goroutines that the act started
// have ended, since it stops the world.
func (s *WorkloadContext) Count() func() results.Counters {
	s.endpoint.sampleCPU()
	before := s.endpoint.snapshot(s.endpoint.heap())
	return func() results.Counters {
		s.endpoint.sampleCPU()
		return s.endpoint.countersSince(before, s.endpoint.snapshot(s.endpoint.heap()))
	}
}

// RunWorkload runs an act once on a cell's pipe, and decodes into writer and
// reader what its ends returned. Brief is what they are told. Of the plan it
// uses the seed, the recording, and the duration: an act that takes more than
// twenty times that and half a minute is killed.
func (p Plan) RunWorkload(ctx context.Context, act string, c results.Cell, brief, writer, reader any) error {
	if err := p.validate(c); err != nil {
		return err
	}
	if err := Unsupported(c); err != nil {
		return err
	}
	if c.Peer != "process" {
		return fmt.Errorf("%s: an act needs a process for each end, not peer %s", act, c.Peer)
	}
	told, err := json.Marshal(brief)
	if err != nil {
		return fmt.Errorf("tell %s its brief: %w", act, err)
	}
	r, err := newRunner(p, nil)
	if err != nil {
		return err
	}
	cpus, err := r.topology.Choose(c.Placement)
	if err != nil {
		return err
	}
	return r.runWorkload(ctx, c, cpus, job{Workload: act, Params: told}, writer, reader)
}

func (r *runner) runWorkload(ctx context.Context, c results.Cell, cpus placement.CPUs, j job, writer, reader any) error {
	got, err := r.runSample(ctx, &cellRun{record: results.Record{Cell: c}, cpus: cpus}, j)
	if err != nil {
		return fmt.Errorf("%s: %w", Label(c), err)
	}
	for _, half := range []struct {
		role role
		into any
	}{{sender, writer}, {receiver, reader}} {
		if err := json.Unmarshal(got.of(half.role).Returned, half.into); err != nil {
			return fmt.Errorf("%s: read what the %s returned: %w", Label(c), half.role, err)
		}
	}
	return nil
}

// runWorkload plays this end's half of the job's act.
func (e *endpoint) runWorkload(acts []Workload) error {
	i := slices.IndexFunc(acts, func(a Workload) bool { return a.Name == e.Workload })
	if i < 0 {
		return fmt.Errorf("this program's worker does not know the act %q; give it to bench.Worker", e.Workload)
	}
	half := acts[i].Writer
	if e.Role == receiver {
		half = acts[i].Reader
	}
	returned, err := half(&WorkloadContext{e})
	if err != nil {
		return explain(e.Workload, err)
	}
	if e.report.Returned, err = json.Marshal(returned); err != nil {
		return fmt.Errorf("%s: %w", e.Workload, err)
	}
	return nil
}
