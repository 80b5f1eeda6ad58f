package drive

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// gonePatience is how long a server may take to leave, in patiences: 5 s unless another patience is
// asked for, which is what clients wait at least before they kill.
const gonePatience = 5

func (o Options) gone() time.Duration { return gonePatience * o.Patience }

// markServer gives the server a mark and a folder for temporary files of its own. The mark counts
// where the system tells who has it. What remove finds by it is ended.
func (o *Options) markServer(mark string) (remove func(), err error) {
	if o.scratch, err = os.MkdirTemp("", "pipebench-server-"); err != nil {
		return nil, fmt.Errorf("drive: a folder for temporary files: %w", err)
	}
	if o.Env == nil {
		o.Env = os.Environ()
	}
	o.Env = append(
		slices.Clone(o.Env),
		mark,
		"TMPDIR="+o.scratch,
		"TMP="+o.scratch,
		"TEMP="+o.scratch,
	)
	if _, known := proc.EndMarked(mark, 0); known {
		o.mark = mark
	}
	folder := o.scratch
	return func() {
		proc.EndMarked(mark, 0)
		os.RemoveAll(folder) // what a server made unremovable is no failure of ours
	}, nil
}

// left waits for what the server started to end, ends the rest, and lists it. Where nobody is
// marked nothing is known to be left.
func (r *faultRun) left(limit time.Duration) (processes []string) {
	if r.d.o.mark != "" {
		processes, _ = proc.EndMarked(r.d.o.mark, limit)
	}
	return processes
}

// leaves waits for a server that has a reason to leave, and judges how it does. It may die of the
// signal that it was sent.
func (r *faultRun) leaves(limit time.Duration, after string, signals ...string) {
	r.awaitExit(limit)
	waited := results.FormatDuration(float64(r.Evidence.LeftAfterNS))
	ended := Verdict(r.Evidence.Ended)
	switch signal, killed := strings.CutPrefix(string(ended), signalPrefix); {
	case ended == "":
		r.Found = fmt.Sprintf("%s: still there %s after %s", r.Verdict, waited, after)
	case killed && !slices.Contains(signals, signal):
		r.judge(ended, "ended by %s after %s", signal, after)
	default:
		r.Found = fmt.Sprintf("left %s after %s: %s", waited, after, ended)
	}
}

// inFlight is how many requests are under way when the input ends.
const inFlight = 8

func endInFlight(_ context.Context, r *faultRun) error {
	var heard atomic.Int64
	count := receiver(func(_ []byte, e jsonrpc.Envelope, _ time.Time) {
		if !r.d.protocol.jsonRPC || e.Kind().Answers() {
			heard.Add(1)
		}
	})
	r.c.receiver.Store(&count)
	t := r.d.smallest(toolRequest)
	for i := range int64(inFlight) {
		r.send(t.number(i))
	}
	r.c.stdin.Close()
	r.leaves(
		r.d.o.gone(),
		fmt.Sprintf("the end of its input, with %d requests in flight", inFlight),
	)
	closedWithin(r.c.closed, r.d.o.Patience)
	r.Evidence.Answered = new(min(heard.Load(), inFlight))
	r.Found += fmt.Sprintf("; %d of %d were answered", *r.Evidence.Answered, inFlight)
	return nil
}

// beside is how long a server may take to start while others start beside it.
func (d *Driver) beside() time.Duration { return 4 * d.ready }

// signal asks the server alone to end, as a client does that has its number, and leaves its input
// open.
func (r *faultRun) signal(s syscall.Signal, name string) error {
	err := r.c.Cmd.Process.Signal(s)
	if err != nil {
		return untried("%s cannot be sent: %v", name, err)
	}
	r.leaves(r.d.o.gone(), name, name)
	if r.Verdict != OK {
		return nil
	}
	if left := r.left(r.d.o.gone()); len(left) > 0 {
		r.judge(
			"leaves processes",
			"it left, and what it started stays: %s",
			strings.Join(left, ", "),
		)
	}
	return nil
}

// clientWork starts a server as its client would, with the streams that it has itself, and waits
// for it.
const clientWork = "drive/client"

// Jobs is the work of the processes that faults start: main gives it to [proc.Main].
func Jobs() map[string]proc.Job { return map[string]proc.Job{clientWork: startServer} }

func startServer(w *proc.Work) error {
	var command []string
	if err := w.Args(&command); err != nil {
		return err
	}
	os.Unsetenv("GOMAXPROCS") // which is ours
	server := exec.Command(command[0], command[1:]...)
	server.Stdin, server.Stdout, server.Stderr = os.Stdin, os.Stdout, os.Stderr
	return server.Run()
}

// clientKilled kills the process that started the server, and it alone, and lets go of the pipes as
// the kernel does for one that is killed.
func clientKilled(_ context.Context, r *faultRun) error {
	r.c.Cmd.Process.Kill()
	<-r.c.Done()
	r.c.Close()
	began, limit := time.Now(), r.d.o.gone()
	left := r.left(limit)
	r.Evidence.LeftAfterNS = int64(time.Since(began))
	if len(left) > 0 {
		r.judge("orphaned", "still there %s after its client was killed: %s",
			limit, strings.Join(left, ", "))
		return nil
	}
	waited := results.FormatDuration(float64(r.Evidence.LeftAfterNS))
	r.Found = fmt.Sprintf("gone %s after its client was killed", waited)
	return nil
}

// heldOutput looks at what is left of a server that ended by itself: who reads its output to the
// end waits for all who hold it.
func heldOutput(_ context.Context, r *faultRun) error {
	r.c.stdin.Close()
	if !r.c.Ended(r.d.o.gone()) {
		return untried("it does not leave at the end of its input")
	}
	open, limit := "", r.d.o.gone()
	until := time.Now().Add(r.d.o.Patience)
	for _, stream := range []struct {
		name string
		ends chan struct{}
	}{{"standard error", r.c.drained}, {"standard output", r.c.closed}} {
		if !closedWithin(stream.ends, time.Until(until)) {
			open, limit = stream.name, 0
		}
	}
	left := r.left(limit)
	switch {
	case open != "":
		r.judge(
			"output held open",
			"%s is still open %s after it ended: %s holds it",
			open,
			r.d.o.Patience,
			strings.Join(left, ", "),
		)
	case len(left) > 0:
		r.judge(
			"leaves processes",
			"still there %s after it ended: %s",
			limit,
			strings.Join(left, ", "),
		)
	default:
		r.Found = "its output ends with it, and nothing that it started is left"
	}
	return nil
}

// StartsEvidence is what many starts of a server took and left.
type StartsEvidence struct {
	ReadyNS []float64 `json:"ready_ns"` // from each start to the end of the handshake
	// until the last program of a chain of them was run
	WrapperNS []float64 `json:"wrapper_ns,omitempty"`
	Chain     []string  `json:"chain,omitempty"` // those programs
	// of the starts, that did not end at the end of input
	Forced int `json:"forced,omitempty"`
	// in its folder for temporary files, after each
	Files []int `json:"files"`
	// descriptors that each had open when it was ready, where that is known
	Open   []int    `json:"open"`
	Memory []int64  `json:"memory_bytes"`   // that each had in use then
	Left   []string `json:"left,omitempty"` // processes, of all starts
}

// MemoryEvidence is how memory grew with the later half of the requests.
type MemoryEvidence struct {
	Requests int64   `json:"requests"`
	From     int64   `json:"from_bytes"`
	To       int64   `json:"to_bytes"`
	Slope    float64 `json:"slope"` // bytes a request, and its interval
	SlopeLo  float64 `json:"slope_lo"`
	SlopeHi  float64 `json:"slope_hi"`

	after, resident []float64 // requests, and bytes in use then, from the first
}

const (
	startsTime   = 10 * time.Second // that starts take at most, if there are enough
	enoughStarts = 5
	// starts whose chain of programs is followed, which takes CPU time
	watched   = 3
	slowStart = 5 * time.Second // the shortest time that a client is known to wait for
)

// manyStarts starts the server again and again, and ends it as a good client does.
func manyStarts(ctx context.Context, r *faultRun) error {
	e := &StartsEvidence{}
	r.Evidence.Starts = e
	began := time.Now()
	for n := range r.d.o.Starts {
		if n >= enoughStarts && time.Since(began) > startsTime {
			break
		}
		if err := e.start(ctx, r.d, n < watched); err != nil {
			return fmt.Errorf("start %d: %w", n+1, err)
		}
	}
	e.Left = r.left(r.d.o.gone())
	r.judgeStarts(e)
	ready := stat.Median(e.ReadyNS).Median
	text := fmt.Sprintf(
		"ready after %s in the median of %d starts (%s to %s)",
		results.FormatDuration(ready),
		len(e.ReadyNS),
		results.FormatDuration(slices.Min(e.ReadyNS)),
		results.FormatDuration(slices.Max(e.ReadyNS)),
	)
	if len(e.Chain) > 0 {
		wrapper := results.FormatDuration(stat.Median(e.WrapperNS).Median)
		text += fmt.Sprintf(", %s of it until %s runs", wrapper, strings.Join(e.Chain, " → "))
	}
	if ready > float64(slowStart) {
		r.judge(Slow, "%s", text)
	}
	if r.Verdict == OK {
		r.Found = text + "; none left files or processes"
	}
	return nil
}

// start starts a server, follows its chain of programs if it is to be watched, and ends it.
func (e *StartsEvidence) start(ctx context.Context, d *Driver, watch bool) error {
	began := time.Now()
	c, err := connect(d.o, d.protocol.wire)
	if err != nil {
		return err
	}
	var took time.Duration
	var chain []string
	var following sync.WaitGroup
	starting, started := context.WithCancel(ctx)
	if watch {
		following.Go(func() { took, chain = followExecs(starting, c.Cmd.Process.Pid, began) })
	}
	err = d.greet(ctx, c)
	started()
	following.Wait()
	if err != nil {
		return err
	}
	e.ReadyNS = append(e.ReadyNS, float64(time.Since(began)))
	if len(chain) > 1 {
		e.WrapperNS, e.Chain = append(e.WrapperNS, float64(took)), chain
	}
	e.look(c, d.o.scratch)
	return nil
}

// judgeStarts judges what starts left, and whether each takes more than the one before.
func (r *faultRun) judgeStarts(e *StartsEvidence) {
	n, half := len(e.Files), float64(len(e.Files))/2
	if grows(e.Files, half) {
		r.judge(
			"leaves files",
			"%d starts left %d files in its folder for temporary files",
			n,
			e.Files[n-1],
		)
	}
	if len(e.Left) > 0 {
		r.judge(
			"leaves processes",
			"%d starts left processes: %s",
			n,
			strings.Join(e.Left[:min(3, len(e.Left))], ", "),
		)
	}
	if grows(e.Open, half) {
		r.judge(
			"opens more",
			"start %d had %d descriptors open, the first %d",
			n,
			e.Open[len(e.Open)-1],
			e.Open[0],
		)
	}
	if len(e.Memory) == n && grows(e.Memory, float64(e.Memory[0])/2) {
		r.judge("takes more memory", "start %d had %s of memory in use, the first %s",
			n, results.FormatSize(e.Memory[n-1]), results.FormatSize(e.Memory[0]))
	}
}

// look notes what a server has that is ready, ends it, and notes what it left.
func (e *StartsEvidence) look(c *conn, scratch string) {
	if open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.Cmd.Process.Pid)); err == nil {
		e.Open = append(e.Open, len(open))
	}
	if n, known := c.Resident(); known {
		e.Memory = append(e.Memory, n)
	}
	ask := time.Duration(0)
	if e.Forced < watched { // else it has shown that it does not leave
		c.stdin.Close()
		ask = leaveAtEOF
	}
	if c.Stop(ask, leaveAtTerm) {
		e.Forced = min(e.Forced+1, watched)
	}
	c.shutdown(false)
	e.Files = append(e.Files, FilesIn(scratch))
}

// FilesIn counts the files below a folder, as far as it can be read.
func FilesIn(folder string) (n int) {
	filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return nil
	})
	return n
}

// grows reports whether a figure goes up with the starts, beyond its scatter, by so much in all of
// them.
func grows[N int | int64](figures []N, least float64) bool {
	if len(figures) < enoughStarts {
		return false
	}
	var x, y []float64
	for i, n := range figures {
		x, y = append(x, float64(i)), append(y, float64(n))
	}
	g, err := stat.FitLine(x, y)
	return err == nil && g.Interval.Lo*float64(len(x)-1) >= least
}

// followExecs follows which programs are run one after another with the standard input of a
// process, as by a wrapper, until ctx ends, and returns when the last of them was, since began.
func followExecs(
	ctx context.Context,
	pid int,
	began time.Time,
) (last time.Duration, names []string) {
	stdin, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", pid))
	seen := map[string]bool{}
	for tick := time.Tick(2 * time.Millisecond); ctx.Err() == nil; {
		for _, pid := range proc.Tree(pid) {
			program, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
			in, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", pid))
			if id := fmt.Sprint(pid, program); program != "" && in == stdin && !seen[id] {
				seen[id], last = true, time.Since(began)
				if name := filepath.Base(program); len(names) == 0 || names[len(names)-1] != name {
					names = append(names, name)
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-tick:
		}
	}
	return last, names
}

const (
	memoryPoints = 20
	memoryTime   = 10 * time.Second // that requests take at most, for one slope
	memoryMinor  = 100              // bytes a request that allocators come to by themselves
	memoryShare  = 50               // of what is in use, one part of this is no growth
)

// memoryGrowth takes the slope of memory over requests. A heap that is collected, and a compiler at
// work, make memory grow at first and not for ever: so where it grows, it is looked at for longer,
// until it has doubled, as Go's and other heaps do before they are collected, or the time is up.
func memoryGrowth(ctx context.Context, r *faultRun) error {
	if _, known := r.c.Resident(); !known {
		return untried("this system does not tell how much memory a process has")
	}
	t := r.d.smallest(toolRequest)
	e, first, from, began := &MemoryEvidence{}, 0.0, int64(0), time.Now()
	for n := 0; ; n++ {
		undecided := e.SlopeLo < first/2 || e.To < 2*from
		if n >= 3 && (!undecided || time.Since(began) > 3*memoryTime) {
			break
		}
		served, err := r.watchMemory(ctx, t, e)
		if err != nil || !served {
			return err
		}
		r.Evidence.Memory, first, from = e, cmp.Or(first, e.Slope), cmp.Or(from, e.From)
		r.Found = fmt.Sprintf(
			"memory changes by %.0f B a request [%.0f, %.0f] up to request %s",
			e.Slope,
			e.SlopeLo,
			e.SlopeHi,
			results.FormatGrouped(e.Requests),
		)
		if e.SlopeLo < memoryMinor || e.To-e.From < e.From/memoryShare {
			return nil
		}
	}
	if e.SlopeLo < first/2 || e.To < 2*from {
		return untried("%s, by %.0f B at first, and by %s in all: whether it stops cannot be told",
			r.Found, first, results.FormatSize(e.To-from))
	}
	r.judge(
		"memory grows",
		"memory grows by %.0f B a request [%.0f, %.0f], to %s after %s requests",
		e.Slope,
		e.SlopeLo,
		e.SlopeHi,
		results.FormatSize(e.To),
		results.FormatGrouped(e.Requests),
	)
	return nil
}

// watchMemory makes more requests, and fits a line through the memory in use between the later half
// of all: a heap that stays as it is for a while after it was collected does not fill so many. It
// reports whether all were served.
func (r *faultRun) watchMemory(
	ctx context.Context, t *requestTemplate, e *MemoryEvidence,
) (served bool, err error) {
	each, sent := max(int64(r.d.o.Requests)/memoryPoints, 1), e.Requests
	began := time.Now()
	for n := range memoryPoints {
		if n >= memoryPoints/2 && time.Since(began) > memoryTime {
			break
		}
		s, out, err := r.d.sample(ctx, t, each, sent)
		if err != nil {
			return false, err
		}
		if out.verdict != OK {
			r.found(out)
			return false, nil
		}
		sent += s.Messages
		resident, _ := r.c.Resident()
		e.after, e.resident = append(e.after, float64(sent)), append(e.resident, float64(resident))
	}
	half := len(e.after) / 2
	g, err := stat.FitLine(e.after[half:], e.resident[half:])
	if err != nil {
		return false, err
	}
	e.Requests, e.From, e.To = sent, int64(e.resident[half]), int64(e.resident[len(e.resident)-1])
	e.Slope, e.SlopeLo, e.SlopeHi = g.Slope, g.Interval.Lo, g.Interval.Hi
	return true, nil
}
