package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// grace is what a slice may take beyond twenty times its planned duration: the slowest cells (a 16
// MiB message, searched again after every read) take seconds for one message.
const grace = 30 * time.Second

// An errSlow is a slice that did not finish within its limit.
type errSlow struct{ limit time.Duration }

func (e errSlow) Error() string {
	return fmt.Sprintf("did not finish within %s and was killed", e.limit)
}

// An endpointSpec is an endpoint that is about to be handed to a worker.
type endpointSpec struct {
	endpointConfig
	ends []*syspipe.End
}

// openPipes opens what joins the two endpoints of a cell: two pipes over which they say that they are
// ready, the measured one, one for each job whose reader leaves, and the one back for replies. The ends
// are in the controller's hands only to be passed on.
func openPipes(c results.Cell, cpus placement.CPUs, leaving int) (origin, other endpointSpec, err error) {
	origin.Role, origin.CPU = sender, cpus.Writer
	other.Role, other.CPU = receiver, cpus.Reader
	open := func(from, to *endpointSpec, kind syspipe.Kind, capacity int) {
		if err != nil {
			return
		}
		var w, r *syspipe.End
		if w, r, err = syspipe.Open(kind, capacity); err == nil {
			from.ends, to.ends = append(from.ends, w), append(to.ends, r)
		}
	}
	open(&origin, &other, syspipe.Anonymous, 0)
	open(&other, &origin, syspipe.Anonymous, 0)
	for range 1 + leaving {
		open(&origin, &other, syspipe.Kind(c.Pipe), c.Capacity)
	}
	if c.Pattern == "roundtrip" {
		origin.Role, other.Role = client, server
		open(&other, &origin, syspipe.Kind(c.Pipe), c.Capacity)
	}
	if err != nil {
		proc.CloseAll(append(origin.ends, other.ends...))
	}
	return origin, other, err
}

// A worker is a process that runs one endpoint or both.
type worker struct {
	*proc.Process
	jobs  *os.File // takes a job a line; its end tells the worker to leave
	roles []string
}

// startWorker starts a worker with its endpoints, whose pipe ends are closed here in any case.
func startWorker(ctx context.Context, work string, specs ...endpointSpec) (*worker, error) {
	w := &worker{}
	var configs []endpointConfig
	var ends []*syspipe.End
	for _, s := range specs {
		s.Alone, s.Ends = len(specs) == 1, len(s.ends)
		configs, ends = append(configs, s.endpointConfig), append(ends, s.ends...)
		w.roles = append(w.roles, string(s.Role))
	}
	var err error
	if w.Process, err = proc.Self(work, configs, ends...); err != nil {
		return nil, err
	}
	if w.jobs, err = w.Pipe(0); err != nil {
		return nil, err
	}
	if err := w.Start(ctx); err != nil {
		return nil, err
	}
	return w, nil
}

// explain says why a worker does not report as it should, and ends it.
func (w *worker) explain(ctx context.Context, err error) error {
	who := strings.Join(w.roles, " and ")
	if ctx.Err() != nil {
		return fmt.Errorf("the %s %w", who, context.Cause(ctx))
	}
	w.Stop(time.Second, 0) // it said the last it had to say, so it is about to end
	if exit := w.Wait(); exit != nil {
		return fmt.Errorf("the %s died: %w", who, exit)
	}
	if errors.Is(err, proc.ErrNotBegun) { // a program that runs on where a worker ends
		err = fmt.Errorf("%w; main, or TestMain, has to call bench.Worker first", err)
	}
	return fmt.Errorf("the %s: %w", who, err)
}

// A fork is the workers that share the pipes of a group of cells, started once. They do jobs until
// it is closed, and wait in between for the next, each in a read.
type fork struct {
	ctx     context.Context // ends the workers
	cancel  context.CancelCauseFunc
	limit   func() time.Duration // that a job which begins now may take
	workers []*worker
}

// startFork opens pipes for cells such as a job's and starts their workers. In so many of their jobs
// the reader may leave.
func startFork(ctx context.Context, j job, cpus placement.CPUs, limit func() time.Duration, leaving int) (*fork, error) {
	origin, other, err := openPipes(j.Cell, cpus, leaving)
	if err != nil {
		return nil, err
	}
	f := &fork{limit: limit}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	ends := [][]endpointSpec{{origin}, {other}}
	if j.Cell.Peer == "thread" {
		ends = [][]endpointSpec{{origin, other}}
	}
	for i, specs := range ends {
		w, err := startWorker(f.ctx, j.work(), specs...)
		if err != nil {
			for _, later := range ends[i+1:] {
				proc.CloseAll(later[0].ends)
			}
			f.close()
			return nil, err
		}
		f.workers = append(f.workers, w)
	}
	return f, nil
}

// close ends the workers and waits until they are gone.
func (f *fork) close() {
	for _, w := range f.workers {
		w.Close()
	}
	f.cancel(nil)
}

// run has the workers do a job together, and returns the reports of both endpoints. When one dies,
// those that wait for it find their pipes closed and report that. One that takes longer than the
// limit is killed, and the other with it.
func (f *fork) run(j job) (reports, error) {
	limit := f.limit()
	alarm := time.AfterFunc(limit, func() { f.cancel(errSlow{limit}) })
	defer alarm.Stop()
	var done sync.WaitGroup
	parts, errs := make([]reports, len(f.workers)), make([]error, len(f.workers))
	for i, w := range f.workers {
		done.Go(func() {
			sent := json.NewEncoder(w.jobs).Encode(j)
			for range w.roles {
				var r report
				if err := w.Report(&r); err != nil {
					errs[i] = w.explain(f.ctx, errors.Join(err, sent))
					return
				}
				parts[i] = append(parts[i], r)
			}
		})
	}
	done.Wait()
	all, err := slices.Concat(parts...), errors.Join(errs...)
	if r, failed := all.failure(); failed && f.ctx.Err() == nil && !(r.PeerGone && err != nil) {
		return nil, fmt.Errorf("%s: %s", r.Role, r.Error)
	}
	return all, err
}

// work names the work of the processes that do this job.
func (j job) work() string {
	if j.Workload != "" {
		return workloadWork + j.Workload
	}
	if _, err := framers.Parse(j.Cell.Framing); err != nil {
		return registeredWork
	}
	return cellWork
}
