package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A Workload is a scenario's own: what the two ends of a pipe do, where that is neither a stream
// nor a round trip. Register it with [RegisterWorkload], and run it with [Plan.RunWorkload].
//
// Each of the two functions runs in a fresh worker process that is bound to its CPU, and so are the
// goroutines that it starts. What it returns is marshalled to JSON and handed to the controller.
type Workload struct {
	Name   string
	Writer func(*WorkloadContext) (any, error) // at the end that is written to
	Reader func(*WorkloadContext) (any, error) // at the other
}

// workloads holds those that are registered, by their names.
var workloads sync.Map

// RegisterWorkload makes a workload known to this process and to the workers it starts. Call it
// last in an init function: a worker does its work there, and nothing behind it is initialised.
func RegisterWorkload(w Workload) {
	workloads.Store(w.Name, w)
	proc.Register(workloadWork+w.Name, serveJobs)
}

// A WorkloadContext is what an end of a workload has to work with. It belongs to the goroutine that
// the workload's function runs on.
type WorkloadContext struct {
	Cell    results.Cell     // that is measured
	Framing framers.Framing  // of the cell
	Options []framers.Option // what a framing has to know of the cell's messages
	Source  *payload.Source  // makes the cell's messages, the same at both ends
	Pipe    *syspipe.End     // this end of it

	endpoint *endpoint
}

// Params decodes what [Plan.RunWorkload] was given for the ends.
func (w *WorkloadContext) Params(into any) error {
	if err := json.Unmarshal(w.endpoint.job.Params, into); err != nil {
		return fmt.Errorf("read the parameters of %s: %w", w.endpoint.Workload, err)
	}
	return nil
}

// Barrier waits until both ends have called it. The reading end leaves first, the writing end
// within the time that a byte takes through a pipe.
func (w *WorkloadContext) Barrier() error {
	_, err := w.endpoint.meet(new(usage)) // which a workload counts from where it wants to
	return explain("meet the other end", err)
}

// SampleCPU notes the CPU that the end runs on now, for its counters.
func (w *WorkloadContext) SampleCPU() { w.endpoint.sampleCPU() }

// Count begins to count what the end does. The function that it returns gives the counters from
// then on; call it when the goroutines that the workload started have ended, since it stops the
// world.
func (w *WorkloadContext) Count() func() results.Counters {
	e := w.endpoint
	e.sampleCPU()
	before, after := usage{heap: e.heap()}, usage{}
	e.snapshot(&before)
	return func() results.Counters {
		e.sampleCPU()
		e.snapshot(&after)
		after.heap = e.heap()
		return e.countersSince(before, after)
	}
}

// RunWorkload runs a workload once on a cell's pipe, and decodes into writer and reader what its
// ends returned. Both get params. Of the plan it uses the seed, the recording, and the duration: a
// workload that takes more than twenty times that and half a minute is killed.
func (p Plan) RunWorkload(ctx context.Context, workload string, c results.Cell, params, writer, reader any) error {
	if _, known := workloads.Load(workload); !known {
		return fmt.Errorf("the workload %q is unknown: give it to bench.RegisterWorkload in an init function", workload)
	}
	j := p.jobOf(c)
	j.Workload = workload
	var err error
	if j.Params, err = json.Marshal(params); err != nil {
		return fmt.Errorf("write the parameters of %s: %w", workload, err)
	}
	got, err := p.runAlone(ctx, j)
	if err != nil {
		return err
	}
	for role, into := range map[role]any{sender: writer, receiver: reader} {
		if err := json.Unmarshal(got.of(role).Returned, into); err != nil {
			return fmt.Errorf("%s: read what the %s returned: %w", Label(c), role, err)
		}
	}
	return nil
}

// runWorkload runs this endpoint's half of a workload.
func (e *endpoint) runWorkload() error {
	found, _ := workloads.Load(e.Workload) // a worker is started for one that it knows
	w := found.(Workload)
	half := w.Writer
	if e.Role == receiver {
		half = w.Reader
	}
	returned, err := half(&WorkloadContext{e.Cell, e.framing, e.options(), e.source, e.data, e})
	if err != nil {
		return explain(w.Name, err)
	}
	if e.report.Returned, err = json.Marshal(returned); err != nil {
		return fmt.Errorf("%s: %w", w.Name, err)
	}
	return nil
}
