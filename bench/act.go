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

// An Act is a workload of a scenario's own: what the two ends of a pipe do,
// where that is neither a stream nor a round trip. Give it to [Worker], and
// run it with [Plan.Perform].
//
// Each of the two functions runs in a fresh worker process that is bound to
// its CPU, and so are the goroutines that it starts. What it returns is
// marshalled to JSON and handed to the controller.
type Act struct {
	Name   string
	Writer func(*Stage) (any, error) // at the end that is written to
	Reader func(*Stage) (any, error) // at the other
}

// A Stage is what an end of an act has to work with. It belongs to the
// goroutine that the act's function runs on.
type Stage struct{ end *end }

// Brief decodes what [Plan.Perform] was given for the ends.
func (s *Stage) Brief(into any) error {
	if err := json.Unmarshal(s.end.job.Brief, into); err != nil {
		return fmt.Errorf("read the brief of %s: %w", s.end.Act, err)
	}
	return nil
}

// Cell is the cell that is measured.
func (s *Stage) Cell() results.Cell { return s.end.Cell }

// Framing is the cell's.
func (s *Stage) Framing() framers.Framing { return s.end.framing }

// Options are what a framing has to know of the cell's messages.
func (s *Stage) Options() []framers.Option { return s.end.options() }

// Source makes the cell's messages, the same at both ends.
func (s *Stage) Source() *payload.Source { return s.end.source }

// Pipe is this end of the pipe.
func (s *Stage) Pipe() *syspipe.End { return s.end.carrier() }

// Meet waits until both ends have called it. The reading end leaves first, the
// writing end within the time that a byte takes through a pipe.
func (s *Stage) Meet() error {
	tell := func() error { return s.end.say(0) }
	listen := func() error { _, err := s.end.hear(); return err }
	steps := []func() error{tell, listen}
	if s.end.holdsClock() {
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
	sharpenTimers() // of the thread, which may be another each time
	c.shared.await(moment, spin)
}

// Look notes the CPU that the end runs on now, for its counters.
func (s *Stage) Look() { s.end.look() }

// Count begins to count what the end does. The function that it returns gives
// the counters from then on; call it when the goroutines that the act started
// have ended, since it stops the world.
func (s *Stage) Count() func() results.Counters {
	s.end.look()
	before := s.end.usage(s.end.heap())
	return func() results.Counters {
		s.end.look()
		return s.end.counted(before, s.end.usage(s.end.heap()))
	}
}

// Perform runs an act once on a cell's pipe, and decodes into writer and
// reader what its ends returned. Brief is what they are told. Of the plan it
// uses the seed, the recording, and the duration: an act that takes more than
// twenty times that and half a minute is killed.
func (p Plan) Perform(ctx context.Context, act string, c results.Cell, brief, writer, reader any) error {
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
	return r.perform(ctx, c, cpus, job{Act: act, Brief: told}, writer, reader)
}

func (r *runner) perform(ctx context.Context, c results.Cell, cpus placement.CPUs, j job, writer, reader any) error {
	got, err := r.play(ctx, &progress{record: results.Record{Cell: c}, cpus: cpus}, j)
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

// act plays this end's half of the job's act.
func (e *end) act(acts []Act) error {
	i := slices.IndexFunc(acts, func(a Act) bool { return a.Name == e.Act })
	if i < 0 {
		return fmt.Errorf("this program's worker does not know the act %q; give it to bench.Worker", e.Act)
	}
	half := acts[i].Writer
	if e.Role == receiver {
		half = acts[i].Reader
	}
	returned, err := half(&Stage{e})
	if err != nil {
		return explain(e.Act, err)
	}
	if e.report.Returned, err = json.Marshal(returned); err != nil {
		return fmt.Errorf("%s: %w", e.Act, err)
	}
	return nil
}
