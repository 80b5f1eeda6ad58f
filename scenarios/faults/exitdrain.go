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

var exitBeforeDrain = Scenario{
	Misbehaviour: catalogue.Must(catalogue.Program, "exit-before-drain"),
	Deadline:     time.Minute,
	run:          runExitBeforeDrain,
}

const hastyBytes = 1 << 20

func runExitBeforeDrain(ctx context.Context, s *stage) error {
	for _, kind := range []syspipe.Kind{syspipe.Anonymous, syspipe.SocketPair} {
		if err := exitsOver(ctx, s, kind); err != nil {
			return err
		}
	}
	return nil
}

func exitsOver(ctx context.Context, s *stage, kind syspipe.Kind) error {
	if err := setSupported(kind); err != nil {
		return s.unsupported(string(kind), err)
	}
	for _, drains := range []bool{false, true} {
		e := Output{Program: "exits at once", Pipe: string(kind), Late: true, Sent: hastyBytes}
		if drains {
			e.Program = "waits for its output"
		}
		s.step("%s: %s", kind, e.Program)
		e, err := collectActor(ctx, "hasty", drains, e)
		if err != nil {
			return err
		}
		part := fmt.Sprintf("%s/%s", kind, map[bool]string{false: "exits", true: "waits"}[drains])
		if err := s.output(part, e, adviseExit); err != nil {
			return err
		}
	}
	path, err := exec.LookPath("node")
	if err != nil {
		return nil // not installed: the actor has shown the same
	}
	s.step("%s: node", kind)
	e := Output{Program: "node process.exit", Pipe: string(kind), Late: true, Sent: hastyBytes}
	e, err = collectProgram(ctx, e, path, "-e", fmt.Sprintf("process.stdout.write('x'.repeat(%d)); process.exit(0)", hastyBytes))
	if err != nil {
		return err
	}
	return s.output(string(kind)+"/node", e, adviseExit)
}

// output keeps the record of a program's output.
func (s *stage) output(part string, e Output, advise func(Verdict, Output) string) error {
	v := judgeOutput(e)
	return s.fault(part, v, e, advise(v, e))
}

func adviseExit(v Verdict, e Output) string {
	if v == Sound {
		return "All of it arrived: the program let its output drain before it exited, or its writes waited."
	}
	return fmt.Sprintf("%d of %d bytes arrived and the exit code is %d: what was in the program's own queue died with it. "+
		"Exit by returning from the event loop, or when the stream says that it has drained; and let the reader treat a stream "+
		"that ends inside a message as an error.", e.Delivered, e.Sent, e.ExitCode)
}

// setSupported tells whether a kind of pipe can be a child's standard output
// in any mode.
func setSupported(kind syspipe.Kind) error {
	if err := kind.Supported(); err != nil {
		return err
	}
	return syspipe.Poll.Supported()
}

// playHasty writes what fits, and exits with or without the rest.
func playHasty(s *actor.Stage) error {
	var drains bool
	if err := s.Args(&drains); err != nil {
		return err
	}
	if err := setStdoutBlocking(false); err != nil {
		return err
	}
	queue := make([]byte, hastyBytes)
	for len(queue) > 0 {
		n, refused, err := writeStdoutOnce(queue)
		switch {
		case err != nil:
			return err
		case refused && !drains:
			return nil
		case refused:
			if err := setStdoutBlocking(true); err != nil {
				return err
			}
		}
		queue = queue[n:]
	}
	return nil
}
