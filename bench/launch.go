package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// grace is what a sample may take beyond twenty times its planned duration:
// the slowest cells (a 16 MiB message, searched again after every read) take
// seconds for one message.
const grace = 30 * time.Second

// stderrTail is how much of a worker's standard error is kept, in bytes.
const stderrTail = 4096

// An errSlow is a sample that did not finish within its limit.
type errSlow struct{ limit time.Duration }

func (e errSlow) Error() string {
	return fmt.Sprintf("did not finish within %s and was killed", e.limit)
}

// runSample runs one sample of a cell in fresh workers, and returns the reports of
// both parts. None of the workers is left when it returns.
func (r *runner) runSample(ctx context.Context, c *cellRun, j job) (reports, error) {
	j.Cell, j.Seed, j.Recording = c.record.Cell, r.Seed, r.Recording
	limit := r.grace + 20*r.Duration
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSlow{limit})
	defer cancel()
	crew, err := r.startWorkers(ctx, c, j)
	if err != nil {
		return nil, err
	}
	return crew.collect(ctx)
}

// startWorkers opens the cell's pipes and starts its workers with them.
func (r *runner) startWorkers(ctx context.Context, c *cellRun, j job) (workerGroup, error) {
	pipes, err := openPipes(j.Cell)
	if err != nil {
		return nil, err
	}
	defer pipes.close() // the workers have their own by then
	first, second := pipes.endpointSpecs(j.Cell, c.cpus)
	if j.Cell.Peer == "thread" {
		w, err := r.startWorker(ctx, j, first, second)
		return workerGroup{w}, err
	}
	a, err := r.startWorker(ctx, j, first)
	if err != nil {
		return nil, err
	}
	b, err := r.startWorker(ctx, j, second)
	if err != nil {
		a.kill()
		return nil, err
	}
	return workerGroup{a, b}, nil
}

// A worker is a process that plays one or two parts.
type worker struct {
	cmd       *exec.Cmd
	control   io.WriteCloser // its end tells the worker to leave
	answers   io.ReadCloser
	stderr    *tail
	endpoints int
	roles     string
}

// startWorker starts a worker and tells it its job.
func (r *runner) startWorker(ctx context.Context, j job, casts ...endpointSpec) (*worker, error) {
	cmd := exec.CommandContext(ctx, r.program)
	cmd.Env = workerEnviron()
	cmd.WaitDelay = time.Second
	detach(cmd)
	w := &worker{cmd: cmd, stderr: &tail{limit: stderrTail}, endpoints: len(casts)}
	cmd.Stderr = w.stderr
	var names []string
	for _, cast := range casts {
		p, err := cast.pass(cmd)
		if err != nil {
			return nil, err
		}
		p.Pin = pinProcess
		if len(casts) > 1 {
			p.Pin = pinThread
		}
		j.Endpoints = append(j.Endpoints, p)
		names = append(names, string(p.Role))
	}
	w.roles = strings.Join(names, " and ")
	return w, w.start(j)
}

// start starts the process and hands over the job.
func (w *worker) start(j job) (err error) {
	if w.control, err = w.cmd.StdinPipe(); err != nil {
		return err
	}
	if w.answers, err = w.cmd.StdoutPipe(); err != nil {
		return err
	}
	if err := w.cmd.Start(); err != nil {
		return fmt.Errorf("start a worker: %w", err)
	}
	if err := json.NewEncoder(w.control).Encode(j); err != nil {
		w.kill()
		return fmt.Errorf("tell the %s its job: %w: %s", w.roles, err, w.stderr)
	}
	return nil
}

// kill ends the worker and waits until it is gone.
func (w *worker) kill() {
	w.control.Close()
	w.cmd.Process.Kill()
	w.cmd.Wait() // killed: its status says no more than that
}

// readReports reads the worker's reports and waits for its end.
func (w *worker) readReports(ctx context.Context) (reports, error) {
	var got reports
	decoder := json.NewDecoder(w.answers)
	var err error
	for range w.endpoints {
		var r report
		if err = decoder.Decode(&r); err != nil {
			break
		}
		got = append(got, r)
	}
	exit := w.cmd.Wait() // closes control, too
	switch {
	case ctx.Err() != nil:
		return got, fmt.Errorf("the %s %w", w.roles, context.Cause(ctx))
	case err != nil || exit != nil:
		return got, fmt.Errorf("the %s died: %w: %s", w.roles, errors.Join(exit, explainReport(err)), w.stderr)
	}
	return got, nil
}

// explainReport is the error of reading a report. What is no report at all comes
// from a program that runs on where a worker's ends.
func explainReport(err error) error {
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return fmt.Errorf("its report: %w; main, or TestMain, has to call bench.Worker first", err)
	}
	return ignoreEOF(err)
}

// A workerGroup is the workers of one sample.
type workerGroup []*worker

// collect collects the reports of all workers. When one dies, those that wait
// for it find their pipes closed and end too.
func (c workerGroup) collect(ctx context.Context) (reports, error) {
	type outcome struct {
		reports reports
		err     error
	}
	outcomes := make(chan outcome, len(c))
	for _, w := range c {
		go func() {
			got, err := w.readReports(ctx)
			outcomes <- outcome{got, err}
		}()
	}
	var all reports
	var errs []error
	for range c {
		o := <-outcomes
		all = append(all, o.reports...)
		errs = append(errs, o.err)
	}
	if ctx.Err() == nil {
		if r, failed := all.failure(); failed && !(r.PeerGone && errors.Join(errs...) != nil) {
			return nil, fmt.Errorf("%s: %s", r.Role, r.Error)
		}
	}
	return all, errors.Join(errs...)
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// A tail keeps the last bytes written to it.
type tail struct {
	limit int
	last  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.last = append(t.last, p...)
	if over := len(t.last) - t.limit; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	if len(t.last) == 0 {
		return "it wrote nothing to standard error"
	}
	return strings.TrimSpace(string(t.last))
}
