package faults

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe/proc"
	"github.com/pipebench/pipebench/syspipe/script"
)

// Orphan is the evidence of orphan.
type Orphan struct {
	Summarised
	Server       string  `json:"server"` // "reads", "deaf" or "busy"
	Exited       bool    `json:"exited"` // by itself, within GiveUpNS of its client's death
	ExitNS       int64   `json:"exit_ns,omitempty"`
	GiveUpNS     int64   `json:"give_up_ns"`
	FailedWrites float64 `json:"failed_writes_per_s,omitempty"` // since the client's death
}

func (e *Orphan) judge() (Verdict, string) {
	switch {
	case e.Exited:
		return Sound, "The end of standard input told the server that its client was gone. A server needs nothing more: read it all the time, and exit at its end."
	case e.FailedWrites > 0:
		return Orphaned, fmt.Sprintf("The server failed to write %.0f times a second and went on: a CPU is busy with it until somebody kills it. "+
			"Exit at the first EPIPE, and never answer a failed write with another one.", e.FailedWrites)
	}
	return Orphaned, "A server that does not read its standard input does not learn that its client died, and stays. Read it even while there is work; " +
		"where that is impossible, have the system tell of the parent's death (prctl PR_SET_PDEATHSIG, a job object)."
}

func (e *Orphan) summarise() {
	e.Summary = fmt.Sprintf("still there after %s", time.Duration(e.GiveUpNS))
	switch {
	case e.Exited:
		e.Summary = "left " + results.FormatDuration(float64(e.ExitNS)) + " after its client"
	case e.FailedWrites > 0:
		e.Summary += fmt.Sprintf(", %.1f million failed writes a second", e.FailedWrites/1e6)
	}
}

func runOrphan(ctx context.Context, r *recorder) {
	for _, server := range []string{"reads", "deaf", "busy"} {
		r.try(server, func() finding { return killClient(ctx, server) })
	}
}

type serverReport struct {
	Ready        bool
	FailedWrites float64 // a second
}

// killClient starts a client that starts a server, kills the client, and watches the server, whose
// leash and reports are held here.
func killClient(ctx context.Context, kind string) *Orphan {
	limit := giveUp
	if kind == "reads" {
		limit = 10 * giveUp // it is about to leave, however slow the machine is
	}
	e := &Orphan{Server: kind, GiveUpNS: limit.Nanoseconds()}
	server, leash, report, err := proc.Remote("the server")
	script.Check(err)
	defer server.Close()
	client := start(ctx, "faults/client", kind, leash, report)
	defer client.Close()
	var got serverReport
	script.Check(server.Report(&got))
	killed := time.Now()
	client.Close()

	last := make(chan error, 1)
	go func() { last <- server.Report(&got) }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err = <-last:
		e.Exited, e.ExitNS = true, time.Since(killed).Nanoseconds()
		if errors.Is(err, io.EOF) {
			return e
		}
	case <-timer.C:
		server.Release() // its last report tells what it did meanwhile
		err = <-last
		e.FailedWrites = got.FailedWrites
	}
	script.Check(err)
	return e
}

// startServer starts the server on the leash and reports that it was given, and waits to be killed.
func startServer(w *proc.Work, kind string) {
	server := script.Must(proc.SelfOn(w.Ends[0], w.Ends[1], "faults/server", kind))
	script.Must(server.Pipe(0))
	out := script.Must(server.Pipe(1))
	script.Check(server.Start(context.Background()))
	io.Copy(io.Discard, out) // as a client does, as long as it lives
	w.Linger()
}

// serveLines is the server: it reads and answers lines, reads nothing ("deaf"), or writes without
// end whatever comes of it ("busy").
func serveLines(w *proc.Work, kind string) {
	var failed atomic.Int64
	var first time.Time // failed write
	if kind != "reads" {
		w.OnRelease(func() {
			var r serverReport
			if n := failed.Load(); n > 0 {
				r.FailedWrites = float64(n) / time.Since(first).Seconds()
			}
			w.Report(r)
		})
	}
	if kind == "busy" {
		signal.Ignore(syscall.SIGPIPE)
	}
	script.Check(w.Report(serverReport{Ready: true}))
	switch kind {
	case "deaf":
		w.Linger()
	case "busy":
		for {
			if _, err := fmt.Println("still here"); err != nil {
				if failed.Load() == 0 {
					first = time.Now()
				}
				failed.Add(1)
			}
		}
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println(lines.Text())
	}
	script.Check(lines.Err())
}
