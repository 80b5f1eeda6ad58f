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

	"github.com/pipebench/pipebench/scenarios/faults/actor"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
)

var orphan = Scenario{
	Misbehaviour: catalogue.Must(catalogue.Program, "orphan"),
	Deadline:     time.Minute,
	run:          runOrphan,
}

// A Survivor is the evidence of orphan.
type Survivor struct {
	Server       string  `json:"server"` // "reads", "deaf" or "busy"
	Exited       bool    `json:"exited"` // by itself, within GiveUpNS of its client's death
	ExitNS       int64   `json:"exit_ns,omitempty"`
	GiveUpNS     int64   `json:"give_up_ns"`
	FailedWrites float64 `json:"failed_writes_per_s,omitempty"` // since the client's death
}

func judgeSurvivor(e Survivor) Verdict {
	if e.Exited {
		return Sound
	}
	return Orphaned
}

func adviseSurvivor(v Verdict, e Survivor) string {
	switch {
	case v == Sound:
		return "The end of standard input told the server that its client was gone. A server needs nothing more: read it all the time, and exit at its end."
	case e.FailedWrites > 0:
		return fmt.Sprintf("The server failed to write %.0f times a second and went on: a CPU is busy with it until somebody kills it. "+
			"Exit at the first EPIPE, and never answer a failed write with another one.", e.FailedWrites)
	}
	return "A server that does not read its standard input does not learn that its client died, and stays. Read it even while there is work; " +
		"where that is impossible, have the system tell of the parent's death (prctl PR_SET_PDEATHSIG, a job object)."
}

func runOrphan(ctx context.Context, s *stage) error {
	for _, server := range []string{"reads", "deaf", "busy"} {
		s.step("%s", server)
		e, err := outlive(ctx, server)
		if err != nil {
			return err
		}
		v := judgeSurvivor(e)
		if err := s.fault(server, v, e, adviseSurvivor(v, e)); err != nil {
			return err
		}
	}
	return nil
}

type childReport struct {
	Ready        bool
	FailedWrites float64 // a second
}

// outlive starts a client that starts a server, kills the client, and watches
// the server over lines of its own.
func outlive(ctx context.Context, server string) (Survivor, error) {
	e := Survivor{Server: server, GiveUpNS: giveUp.Nanoseconds()}
	lines, err := actor.NewLines()
	if err != nil {
		return e, err
	}
	leash, report := lines.Ends()
	child := lines.Director("the server")
	defer child.Dismiss()
	parent, err := actor.Prepare(ctx, "parent", server, leash, report)
	if err != nil {
		return e, err
	}
	defer parent.Dismiss()
	if err := parent.Start(); err != nil {
		return e, err
	}
	var got childReport
	if err := child.Report(&got); err != nil {
		return e, err
	}
	killed := time.Now()
	parent.Dismiss()

	last := make(chan error, 1)
	go func() { last <- child.Report(&got) }()
	timer := time.NewTimer(giveUp)
	defer timer.Stop()
	select {
	case err = <-last:
		e.Exited, e.ExitNS = true, time.Since(killed).Nanoseconds()
	case <-timer.C:
		child.Release() // the last word is what it did meanwhile
		err = <-last
		e.FailedWrites = got.FailedWrites
	}
	if errors.Is(err, io.EOF) && e.Exited {
		err = nil
	}
	return e, err
}

// playParent starts the server on the lines it was given, and waits to be
// killed.
func playParent(s *actor.Stage) error {
	var server string
	if err := s.Args(&server); err != nil {
		return err
	}
	child, err := actor.PrepareOn(context.Background(), s.Ends[0], s.Ends[1], "child", server)
	if err != nil {
		return err
	}
	if _, err := child.Cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := child.Cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	io.Copy(io.Discard, out) // as a client does, as long as it lives
	s.Linger()
	return nil
}

// playChild is the server.
func playChild(s *actor.Stage) error {
	var server string
	if err := s.Args(&server); err != nil {
		return err
	}
	if server == "busy" {
		return beBusy(s)
	}
	if err := s.Report(childReport{Ready: true}); err != nil {
		return err
	}
	if server == "deaf" {
		s.OnRelease(func() { s.Report(childReport{}) })
		s.Linger()
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println(lines.Text())
	}
	return lines.Err()
}

// beBusy writes without end, whatever comes of it.
func beBusy(s *actor.Stage) error {
	signal.Ignore(syscall.SIGPIPE)
	var failed atomic.Int64
	var first time.Time
	s.OnRelease(func() {
		if n := failed.Load(); n > 0 {
			s.Report(childReport{FailedWrites: float64(n) / time.Since(first).Seconds()})
		}
	})
	if err := s.Report(childReport{Ready: true}); err != nil {
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
