package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// Output is the evidence of exit-before-drain and nonblocking-stdout: what of a program's output
// arrived.
type Output struct {
	Summarised
	Program string `json:"program"`
	Pipe    string `json:"pipe"`

	// NonBlocking says that standard output was non-blocking when the program started.
	NonBlocking bool   `json:"non_blocking"`
	Late        bool   `json:"late"`      // nothing was read before the program had exited
	Sent        int64  `json:"sent"`      // bytes the program meant to write
	Delivered   int64  `json:"delivered"` // bytes that could be read
	ExitCode    int    `json:"exit_code"` // -1: killed by a signal
	Stderr      string `json:"stderr,omitempty"`
}

func (e *Output) verdict() Verdict {
	e.Summary = fmt.Sprintf("%s of %s arrived, exit code %d",
		Size(e.Delivered), Size(e.Sent), e.ExitCode)
	switch {
	case e.Delivered >= e.Sent:
		return Sound
	case e.ExitCode == 0:
		return SilentLoss
	}
	return Noticed
}

// A queuedOutput is that of a program which exits while its output waits in its own queue.
type queuedOutput struct{ *Output }

func (e queuedOutput) judge() (Verdict, string) {
	if e.verdict() == Sound {
		return Sound, advise("exit-before-drain, whole")
	}
	return e.verdict(), advise("exit-before-drain, cut", e.Delivered, e.Sent, e.ExitCode)
}

// A nonBlockingOutput is that of a program whose standard output is non-blocking.
type nonBlockingOutput struct{ *Output }

func (e nonBlockingOutput) judge() (Verdict, string) {
	switch e.verdict() {
	case Sound:
		return Sound, advise("nonblocking-stdout, whole")
	case Noticed:
		return Noticed, advise("nonblocking-stdout, failed")
	}
	return SilentLoss, advise("nonblocking-stdout, cut", e.Delivered, e.Sent)
}

// outputBytes is what a program means to write: more than any pipe holds.
const outputBytes = 1 << 20

func runExitBeforeDrain(ctx context.Context, r *recorder) error {
	for _, kind := range []syspipe.Kind{syspipe.Anonymous, syspipe.SocketPair} {
		err := setSupported(kind)
		if err != nil {
			err = r.recordUnsupported(string(kind), err)
		} else {
			err = exitBeforeDrain(ctx, r, kind)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// exitBeforeDrain runs programs that exit, or wait, while their output is in their own queue.
func exitBeforeDrain(ctx context.Context, r *recorder, kind syspipe.Kind) error {
	exits, err := proc.Self("faults/queued-exit", false)
	if err != nil {
		return err
	}
	if err := tryQueued(ctx, r, kind, "exits", "exits at once", exits); err != nil {
		return err
	}
	waits, err := proc.Self("faults/queued-exit", true)
	if err != nil {
		return err
	}
	if err := tryQueued(ctx, r, kind, "waits", "waits for its output", waits); err != nil {
		return err
	}
	path, err := exec.LookPath("node")
	if err != nil {
		return nil // this program has shown the same
	}
	text := fmt.Sprintf("process.stdout.write('x'.repeat(%d)); process.exit(0)", outputBytes)
	node := proc.Command(path, "-e", text)
	return tryQueued(ctx, r, kind, "node", "node process.exit", node)
}

// tryQueued records what arrives of the output of one program with a queue of its own.
func tryQueued(
	ctx context.Context, r *recorder, kind syspipe.Kind, part, program string, p *proc.Process,
) error {
	return r.try(string(kind)+"/"+part, func() (finding, error) {
		e, err := collect(ctx, Output{Program: program, Pipe: string(kind), Late: true}, p)
		if err != nil {
			return nil, err
		}
		return queuedOutput{e}, nil
	})
}

func runNonBlockingStdout(ctx context.Context, r *recorder) error {
	if err := setSupported(syspipe.Anonymous); err != nil {
		return r.recordUnsupported("", err)
	}
	for _, row := range []struct {
		output       Output
		looksAtCount bool
	}{
		{Output{Program: "blocking"}, false},
		{Output{Program: "ignores-short-writes", NonBlocking: true, Late: true}, false},
		{Output{Program: "retries", NonBlocking: true}, true},
	} {
		p, err := proc.Self("faults/one-write", row.looksAtCount)
		if err != nil {
			return err
		}
		if err := tryNonBlocking(ctx, r, row.output.Program, row.output, p); err != nil {
			return err
		}
	}
	path, err := exec.LookPath("python3")
	if err != nil {
		return nil // this program has shown the same
	}
	python := proc.Command(path, "-c", fmt.Sprintf("print('x'*%d, end='')", outputBytes))
	e := Output{Program: "python3 print", NonBlocking: true, Late: true}
	return tryNonBlocking(ctx, r, "python3", e, python)
}

// tryNonBlocking records what arrives of the output of one program.
func tryNonBlocking(
	ctx context.Context, r *recorder, part string, e Output, p *proc.Process,
) error {
	e.Pipe = string(syspipe.Anonymous)
	return r.try(part, func() (finding, error) {
		got, err := collect(ctx, e, p)
		if err != nil {
			return nil, err
		}
		return nonBlockingOutput{got}, nil
	})
}

// setSupported tells whether a kind of pipe can be a child's standard output in any mode.
func setSupported(kind syspipe.Kind) error {
	return errors.Join(kind.Supported(), syspipe.Poll.Supported())
}

// patience is how long a late reader waits for a program to exit, unless it is at work then.
var patience = time.Second

// collect runs a program with one end of a pipe as its standard output. A late reader begins when
// the program has exited, or after patience, since a program that waits for room never exits by
// itself.
func collect(ctx context.Context, e Output, p *proc.Process) (*Output, error) {
	defer p.Close()
	e.Sent = outputBytes
	p.Stderr().Limit = 500 // bytes, of evidence
	r, err := p.Connect(1, syspipe.Kind(e.Pipe), 0, e.NonBlocking)
	if err != nil {
		return nil, err
	}
	if err := p.Start(ctx); err != nil {
		return nil, err
	}
	e.Late = e.Late && hasEnded(p)
	e.Delivered, err = io.Copy(io.Discard, r)
	if err != nil {
		return nil, err
	}
	if err := awaitExit(p); err != nil {
		return nil, err
	}
	e.ExitCode = p.Cmd.ProcessState.ExitCode()
	e.Stderr = p.Stderr().String()
	return &e, nil
}

// hasEnded reports whether a program ends within patience. One that can run is given more time: it
// may wait for a CPU.
func hasEnded(p *proc.Process) bool {
	for range 9 {
		if p.Ended(patience) || !p.Runnable() {
			break
		}
	}
	return p.Ended(0)
}

// exitWithQueue writes what fits, and exits with or without the rest.
func exitWithQueue(_ *proc.Work, drains bool) error {
	if err := setStdoutBlocking(false); err != nil {
		return err
	}
	queue := make([]byte, outputBytes)
	for len(queue) > 0 {
		n, refused, err := writeStdoutOnce(queue)
		if err != nil {
			return err
		}
		if refused && !drains {
			return nil
		}
		if refused {
			if err := setStdoutBlocking(true); err != nil {
				return err
			}
		}
		queue = queue[n:]
	}
	return nil
}

// writeStdout writes with one call, and looks at the count or does not.
func writeStdout(_ *proc.Work, looks bool) error {
	p := make([]byte, outputBytes)
	for len(p) > 0 {
		n, _, err := writeStdoutOnce(p)
		if err != nil || !looks {
			return err
		}
		if err := setStdoutBlocking(true); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}
