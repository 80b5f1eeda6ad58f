package faults

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"github.com/pipebench/pipebench/scenarios/faults/actor"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
	"github.com/pipebench/pipebench/syspipe"
)

var nonBlockingStdout = Scenario{
	Misbehaviour: catalogue.Must(catalogue.Program, "nonblocking-stdout"),
	Deadline:     time.Minute,
	run:          runNonBlockingStdout,
}

const carelessBytes = 1 << 20

func runNonBlockingStdout(ctx context.Context, s *stage) error {
	if err := setSupported(syspipe.Anonymous); err != nil {
		return s.unsupported("", err)
	}
	e := Output{Pipe: string(syspipe.Anonymous), Sent: carelessBytes}
	for _, c := range []struct {
		part                           string
		nonBlocking, late, looksAtSize bool
	}{
		{"blocking", false, false, false},
		{"ignores-short-writes", true, true, false},
		{"retries", true, false, true},
	} {
		s.step("%s", c.part)
		e.Program, e.NonBlocking, e.Late = c.part, c.nonBlocking, c.late
		got, err := collectActor(ctx, "careless", c.looksAtSize, e)
		if err != nil {
			return err
		}
		if err := s.output(c.part, got, adviseNonBlocking); err != nil {
			return err
		}
	}
	path, err := exec.LookPath("python3")
	if err != nil {
		return nil // not installed: the actor has shown the same
	}
	s.step("python3")
	e.Program, e.NonBlocking, e.Late = "python3 print", true, true
	got, err := collectProgram(ctx, e, path, "-c", fmt.Sprintf("print('x'*%d, end='')", carelessBytes))
	if err != nil {
		return err
	}
	return s.output("python3", got, adviseNonBlocking)
}

func adviseNonBlocking(v Verdict, e Output) string {
	switch v {
	case Sound:
		return "All of it arrived: the pipe was blocking, or the program tried again until the count was complete."
	case Noticed:
		return "The program failed where the pipe had no room for the moment. EAGAIN is no failure: wait until the pipe is writable and go on at the byte where it stopped."
	}
	return fmt.Sprintf("%d of %d bytes arrived, and the program exited with 0. Give children a blocking standard output: open its pipe for "+
		"them alone, and leave O_NONBLOCK off the end they get. In a program that cannot choose, look at the count of every write.", e.Delivered, e.Sent)
}

// playCareless writes with one call, and looks at the count or does not.
func playCareless(s *actor.Stage) error {
	var looks bool
	if err := s.Args(&looks); err != nil {
		return err
	}
	p := make([]byte, carelessBytes)
	n, _, err := writeStdoutOnce(p)
	if err != nil || !looks {
		return err
	}
	if err := setStdoutBlocking(true); err != nil {
		return err
	}
	for p = p[n:]; len(p) > 0 && err == nil; p = p[n:] {
		n, _, err = writeStdoutOnce(p)
	}
	return err
}
