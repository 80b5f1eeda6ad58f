package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// grace is how long a sample may take beyond twenty times its planned duration. The slowest
// framings take seconds for a message of 16 MiB.
const grace = 30 * time.Second

// An errSlow says that a sample did not finish within its time limit.
type errSlow struct{ limit time.Duration }

func (e errSlow) Error() string {
	return fmt.Sprintf("did not finish within %s and was killed", e.limit)
}

// pipeEnds are the ends of pipes that one endpoint uses.
type pipeEnds struct {
	toPeer, fromPeer *syspipe.End // for signals: ready, go
	data             *syspipe.End // of the measured pipe
	back             *syspipe.End // of the pipe for replies; nil in a stream
}

// endsOf says what each pipe end of an endpoint is for. The ends must be in the order in which
// openPipes opens the pipes.
func endsOf(r role, ends []*syspipe.End) pipeEnds {
	p := pipeEnds{toPeer: ends[0], fromPeer: ends[1], data: ends[2]}
	if !r.isOrigin() {
		p.toPeer, p.fromPeer = p.fromPeer, p.toPeer
	}
	if r == client || r == server {
		p.back = ends[3]
	}
	return p
}

// pipes holds the ends of all pipes between the two worker processes. Only these processes read and
// write at the ends.
type pipes struct {
	origin []*syspipe.End // for the endpoint that messages come from
	other  []*syspipe.End
	err    error // the first error of open
}

// openPipes opens the pipes that the measurement c needs, in this order: two pipes for signals, one
// in each direction; the measured pipe; and, for round trips, a pipe for the replies.
func openPipes(c results.Cell) (*pipes, error) {
	const fromOrigin, toOrigin = true, false
	const usual = 0 // the system's default capacity
	var p pipes
	p.open(syspipe.Anonymous, usual, fromOrigin)
	p.open(syspipe.Anonymous, usual, toOrigin)
	p.open(syspipe.Kind(c.Pipe), c.Capacity, fromOrigin)
	if c.Pattern == results.PatternRoundtrip {
		p.open(syspipe.Kind(c.Pipe), c.Capacity, toOrigin)
	}
	if p.err != nil {
		p.close()
		return nil, p.err
	}
	return &p, nil
}

// open opens a pipe that leads from the origin, where messages come from, to the other endpoint, or
// back if fromOrigin is false. It does nothing if an earlier call failed.
func (p *pipes) open(kind syspipe.Kind, capacity int, fromOrigin bool) {
	if p.err != nil {
		return
	}
	w, r, err := syspipe.Open(kind, syspipe.Options{Capacity: capacity, IO: syspipe.Blocking})
	if err != nil {
		p.err = err
		return
	}
	if !fromOrigin {
		w, r = r, w
	}
	p.origin = append(p.origin, w)
	p.other = append(p.other, r)
}

func (p *pipes) close() {
	proc.CloseAll(p.origin)
	proc.CloseAll(p.other)
}

// A worker is a process that sends or receives messages at one end of the measured pipe.
type worker struct {
	*proc.Process
	jobs *os.File // takes one job per line; when it is closed, the worker exits
	role role
}

// startWorker starts a worker process and hands it the pipe ends. In this process the ends are then
// closed, even if startWorker returns an error.
func startWorker(
	ctx context.Context, c endpointConfig, ends []*syspipe.End,
) (*worker, error) {
	defer proc.CloseAll(ends)
	p, err := proc.Self(cellWork, c, ends...)
	if err != nil {
		return nil, err
	}
	w := &worker{Process: p, role: c.Role}
	if w.jobs, err = w.Pipe(0); err != nil { // standard input
		return nil, err
	}
	if err := w.Start(ctx); err != nil {
		return nil, err
	}
	return w, nil
}

func (w *worker) do(ctx context.Context, j job) (report, error) {
	sent := json.NewEncoder(w.jobs).Encode(j)
	var r report
	if err := w.Report(&r); err != nil {
		return r, w.explain(ctx, errors.Join(err, sent))
	}
	return r, nil
}

// explain ends a worker that sent no report, and returns an error that says why there is none.
func (w *worker) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("the %s %w", w.role, context.Cause(ctx))
	}
	w.Stop(time.Second, 0) // give it a second to exit by itself
	if exit := w.Wait(); exit != nil {
		return fmt.Errorf("the %s died: %w", w.role, exit)
	}
	if errors.Is(err, proc.ErrNotBegun) { // its main did not call Worker
		err = errors.New("ended before it began to work: main and TestMain have to call " +
			"bench.Worker first")
	}
	return fmt.Errorf("the %s: %w", w.role, err)
}

// A fork is one start of two worker processes that make measurements, with the pipes between them.
type fork struct {
	ctx     context.Context // ends the workers
	cancel  context.CancelCauseFunc
	limit   func() time.Duration // how long a job that begins now may take
	offset  int                  // where in a page messages begin, if job.Cell does not say
	workers []*worker            // the one that messages come from is first
}

// startFork starts two workers and opens the pipes between them. The job j may be of any
// measurement that these workers are to make.
func startFork(
	ctx context.Context, j job, cpus placement.CPUs, limit func() time.Duration,
) (*fork, error) {
	p, err := openPipes(j.Cell)
	if err != nil {
		return nil, err
	}
	closes := j.Cell.ClosesAfter > 0
	origin := endpointConfig{Role: sender, CPU: cpus.Writer, Closes: closes}
	other := endpointConfig{Role: receiver, CPU: cpus.Reader, Closes: closes}
	if j.Cell.Pattern == results.PatternRoundtrip {
		origin.Role = client
		other.Role = server
	}
	f := &fork{limit: limit, offset: j.Offset}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	first, err := startWorker(f.ctx, origin, p.origin)
	if err != nil {
		proc.CloseAll(p.other)
		f.close()
		return nil, err
	}
	f.workers = append(f.workers, first)
	second, err := startWorker(f.ctx, other, p.other)
	if err != nil {
		f.close()
		return nil, err
	}
	f.workers = append(f.workers, second)
	return f, nil
}

// close ends the workers and waits until they are gone.
func (f *fork) close() {
	for _, w := range f.workers {
		w.Close()
	}
	f.cancel(nil)
}

// run gives both workers a job and returns their reports. If the job takes longer than f.limit
// allows, the workers are killed, and the error wraps an errSlow.
func (f *fork) run(j job) (reports, error) {
	j.Offset = f.offset
	limit := f.limit()
	alarm := time.AfterFunc(limit, func() { f.cancel(errSlow{limit}) })
	defer alarm.Stop()
	all := make(reports, len(f.workers))
	errs := make([]error, len(f.workers))
	var done sync.WaitGroup
	for i, w := range f.workers {
		done.Go(func() { all[i], errs[i] = w.do(f.ctx, j) })
	}
	done.Wait()
	err := errors.Join(errs...)
	blamed, failed := all.failure()
	// If the workers were killed or one of them died, err says more than any report.
	if !failed || f.ctx.Err() != nil || blamed.PeerGone && err != nil {
		return all, err
	}
	return nil, fmt.Errorf("%s: %s", blamed.Role, blamed.Error)
}
