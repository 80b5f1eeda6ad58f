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
	e.Summary = fmt.Sprintf("still there after %s", time.Duration(e.GiveUpNS))
	switch {
	case e.Exited:
		e.Summary = "left " + results.FormatDuration(float64(e.ExitNS)) + " after its client"
		return Sound, advise("orphan, left")
	case e.FailedWrites > 0:
		e.Summary += fmt.Sprintf(", %.1f million failed writes a second", e.FailedWrites/1e6)
		return Orphaned, advise("orphan, busy", e.FailedWrites)
	}
	return Orphaned, advise("orphan, not reading")
}

func runOrphan(ctx context.Context, r *recorder) error {
	for _, server := range []string{"reads", "deaf", "busy"} {
		err := r.try(server, func() (finding, error) { return killClient(ctx, server) })
		if err != nil {
			return err
		}
	}
	return nil
}

// killClient starts a client that starts a server, kills the client, and watches the server, whose
// leash and reports are held here.
func killClient(ctx context.Context, kind string) (*Orphan, error) {
	server, leash, report, err := proc.Remote("the server")
	if err != nil {
		return nil, err
	}
	defer server.Close()
	client, err := start(ctx, "faults/client", kind, leash, report)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var ready float64
	if err := server.Report(&ready); err != nil {
		return nil, err
	}
	killed := time.Now()
	client.Close()
	return watchOrphan(server, kind, killed)
}

// watchOrphan waits for a server to leave after its client was killed, and ends it if it does not.
func watchOrphan(server *proc.Process, kind string, killed time.Time) (*Orphan, error) {
	limit := giveUp
	if kind == "reads" {
		limit = 10 * giveUp // it is about to leave, however slow the machine is
	}
	e := &Orphan{Server: kind, GiveUpNS: limit.Nanoseconds()}
	var failedWrites float64 // per second
	last := make(chan error, 1)
	go func() { last <- server.Report(&failedWrites) }()
	select {
	case err := <-last:
		e.Exited = true
		e.ExitNS = time.Since(killed).Nanoseconds()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	case <-time.After(limit):
		server.Release() // its last report tells what it did meanwhile
		if err := <-last; err != nil {
			return nil, err
		}
		e.FailedWrites = failedWrites
	}
	return e, nil
}

// startServer starts the server on the leash and reports that it was given, and waits to be killed.
func startServer(w *proc.Work, kind string) error {
	server, err := proc.SelfOn(w.Ends[0], w.Ends[1], "faults/server", kind)
	if err != nil {
		return err
	}
	if _, err := server.Pipe(0); err != nil {
		return err
	}
	out, err := server.Pipe(1)
	if err != nil {
		return err
	}
	if err := server.Start(context.Background()); err != nil {
		return err
	}
	io.Copy(io.Discard, out) // as a client does, as long as it lives
	select {}
}

// serveLines is the server: it reads and answers lines, reads nothing ("deaf"), or writes without
// end whatever comes of it ("busy").
func serveLines(w *proc.Work, kind string) error {
	switch kind {
	case "deaf":
		w.OnRelease(func() { w.Report(0.0) })
		if err := w.Report(0); err != nil { // ready
			return err
		}
		select {}
	case "busy":
		return writeForEver(w)
	}
	if err := w.Report(0); err != nil { // ready
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println(lines.Text())
	}
	return lines.Err()
}

// writeForEver writes to standard output whatever comes of it. When its leash is let go it reports
// how many writes failed per second.
func writeForEver(w *proc.Work) error {
	var failed atomic.Int64
	var first time.Time // of a failed write
	w.OnRelease(func() {
		rate := 0.0
		if n := failed.Load(); n > 0 {
			rate = float64(n) / time.Since(first).Seconds()
		}
		w.Report(rate)
	})
	signal.Ignore(syscall.SIGPIPE)
	if err := w.Report(0); err != nil { // ready
		return err
	}
	for {
		if _, err := fmt.Println("still here"); err != nil {
			if failed.Load() == 0 {
				first = time.Now()
			}
			failed.Add(1)
		}
	}
}
