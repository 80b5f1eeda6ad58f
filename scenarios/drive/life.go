package drive

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/results"
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
	o.Env = append(slices.Clone(o.Env), mark, "TMPDIR="+o.scratch, "TMP="+o.scratch, "TEMP="+o.scratch)
	if _, known := proc.EndMarked(mark, 0); known {
		o.mark = mark
	}
	folder := o.scratch
	return func() {
		proc.EndMarked(mark, 0)
		os.RemoveAll(folder) // what a server made unremovable is no failure of ours
	}, nil
}

const noMarks = notTried("this system does not tell which processes others started")

// leaves waits for a server that has a reason to leave, and judges how it does. It may die of the
// signal that it was sent.
func (r *faultRun) leaves(limit time.Duration, after string, signals ...string) {
	r.awaitExit(limit, 2)
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

func endIdle(_ context.Context, r *faultRun) error {
	r.c.stdin.Close()
	r.leaves(r.d.o.gone(), "the end of its input")
	return nil
}

// inFlight is how many requests are under way when the input ends.
const inFlight = 8

func endInFlight(_ context.Context, r *faultRun) error {
	heard := r.c.listen(inFlight)
	t := r.d.smallest(toolRequest)
	for i := range int64(inFlight) {
		r.send(t.number(i))
	}
	r.c.stdin.Close()
	r.leaves(r.d.o.gone(), fmt.Sprintf("the end of its input, with %d requests in flight", inFlight))
	closedWithin(r.c.closed, r.d.o.Patience)
	r.Evidence.Answered = new(int64(len(heard)))
	r.Found += fmt.Sprintf("; %d of %d were answered", *r.Evidence.Answered, inFlight)
	return nil
}

func endAtStart(_ context.Context, r *faultRun) (err error) {
	if r.c, err = connect(r.d.o, r.d.protocol.wire); err != nil {
		return err
	}
	defer r.c.shutdown(false)
	r.c.stdin.Close()
	busy := 4 * r.d.ready // it has to start first, and others start beside it
	r.leaves(r.d.o.gone()+busy, "the end of its input, before anything was said")
	return nil
}

// signal asks the server alone to end, as a client does that has its number, and leaves its input
// open.
func (r *faultRun) signal(s syscall.Signal) error {
	name := map[syscall.Signal]string{syscall.SIGTERM: "SIGTERM", syscall.SIGINT: "SIGINT"}[s]
	if err := r.c.Cmd.Process.Signal(s); err != nil {
		return notTried(fmt.Sprintf("%s cannot be sent: %v", name, err))
	}
	r.leaves(r.d.o.gone(), name, name)
	if r.Verdict == OK && r.d.o.mark != "" {
		if left, _ := proc.EndMarked(r.d.o.mark, r.d.o.gone()); len(left) > 0 {
			r.judge("leaves processes", "it left, and what it started stays: %s", strings.Join(left, ", "))
		}
	}
	return nil
}

// clientWork starts a server as its client would, with the streams that it has itself, and waits for
// it.
const clientWork = "drive/client"

func init() {
	proc.Register(clientWork, func(w *proc.Work) error {
		var command []string
		if err := w.Args(&command); err != nil {
			return err
		}
		os.Unsetenv("GOMAXPROCS") // which is ours
		server := exec.Command(command[0], command[1:]...)
		server.Stdin, server.Stdout, server.Stderr = os.Stdin, os.Stdout, os.Stderr
		return server.Run()
	})
}

// clientKilled kills the process that started the server, and it alone, and lets go of the pipes as
// the kernel does for one that is killed.
func clientKilled(_ context.Context, r *faultRun) error {
	if r.d.o.mark == "" {
		return noMarks
	}
	r.c.Cmd.Process.Kill()
	<-r.c.Done()
	closeEnds(r.c.stdin, r.c.stdout, r.c.stderr)
	began, limit := time.Now(), r.d.o.gone()
	left, _ := proc.EndMarked(r.d.o.mark, limit)
	r.Evidence.LeftAfterNS = int64(time.Since(began))
	if len(left) > 0 {
		r.judge("orphaned", "still there %s after its client was killed: %s", limit, strings.Join(left, ", "))
		return nil
	}
	r.Found = fmt.Sprintf("gone %s after its client was killed", results.FormatDuration(float64(r.Evidence.LeftAfterNS)))
	return nil
}

// heldOutput looks at what is left of a server that ended by itself: who reads its output to the end
// waits for all who hold it.
func heldOutput(_ context.Context, r *faultRun) error {
	if r.d.o.mark == "" {
		return noMarks
	}
	r.c.stdin.Close()
	if !r.c.Ended(r.d.o.gone()) {
		return notTried("it does not leave at the end of its input")
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
	left, _ := proc.EndMarked(r.d.o.mark, limit)
	switch {
	case open != "":
		r.judge("output held open", "%s is still open %s after it ended: %s holds it", open, r.d.o.Patience, strings.Join(left, ", "))
	case len(left) > 0:
		r.judge("leaves processes", "still there %s after it ended: %s", limit, strings.Join(left, ", "))
	default:
		r.Found = "its output ends with it, and nothing that it started is left"
	}
	return nil
}
