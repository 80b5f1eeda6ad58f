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
	Program     string `json:"program"`
	Pipe        string `json:"pipe"`
	NonBlocking bool   `json:"non_blocking"` // standard output was non-blocking when the program started
	Late        bool   `json:"late"`         // nothing was read before the program had exited
	Sent        int64  `json:"sent"`         // bytes the program meant to write
	Delivered   int64  `json:"delivered"`    // bytes that could be read
	ExitCode    int    `json:"exit_code"`    // -1: killed by a signal
	Stderr      string `json:"stderr,omitempty"`
}

func (e *Output) verdict() Verdict {
	switch {
	case e.Delivered >= e.Sent:
		return Sound
	case e.ExitCode == 0:
		return SilentLoss
	}
	return Noticed
}

func (e *Output) summarise() {
	e.Summary = fmt.Sprintf("%s of %s arrived, exit code %d", Size(e.Delivered), Size(e.Sent), e.ExitCode)
}

// A queuedOutput is that of a program which exits while its output waits in its own queue.
type queuedOutput struct{ *Output }

func (e queuedOutput) judge() (Verdict, string) {
	if e.verdict() == Sound {
		return Sound, "All of it arrived: the program let its output drain before it exited, or its writes waited."
	}
	return e.verdict(), fmt.Sprintf("%d of %d bytes arrived and the exit code is %d: what was in the program's own queue died with it. "+
		"Exit by returning from the event loop, or when the stream says that it has drained; and let the reader treat a stream "+
		"that ends inside a message as an error.", e.Delivered, e.Sent, e.ExitCode)
}

// A nonBlockingOutput is that of a program whose standard output is non-blocking.
type nonBlockingOutput struct{ *Output }

func (e nonBlockingOutput) judge() (Verdict, string) {
	switch e.verdict() {
	case Sound:
		return Sound, "All of it arrived: the pipe was blocking, or the program tried again until the count was complete."
	case Noticed:
		return Noticed, "The program failed where the pipe had no room for the moment. EAGAIN is no failure: wait until the pipe is writable and go on at the byte where it stopped."
	}
	return SilentLoss, fmt.Sprintf("%d of %d bytes arrived, and the program exited with 0. Give children a blocking standard output: open its pipe for "+
		"them alone, and leave O_NONBLOCK off the end they get. In a program that cannot choose, look at the count of every write.", e.Delivered, e.Sent)
}

// outputBytes is what a program means to write: more than any pipe holds.
const outputBytes = 1 << 20

func runExitBeforeDrain(ctx context.Context, r *recorder) error {
	for _, kind := range []syspipe.Kind{syspipe.Anonymous, syspipe.SocketPair} {
		if err := setSupported(kind); err != nil {
			if err := r.unsupported(string(kind), err); err != nil {
				return err
			}
			continue
		}
		try := func(part, program string, start func() (*proc.Process, error)) error {
			return r.try(string(kind)+"/"+part, func() (finding, error) {
				e, err := collect(ctx, Output{Program: program, Pipe: string(kind), Late: true, Sent: outputBytes}, start)
				return queuedOutput{e}, err
			})
		}
		err := try("exits", "exits at once", func() (*proc.Process, error) { return proc.Self("faults/queued-exit", false) })
		if err == nil {
			err = try("waits", "waits for its output", func() (*proc.Process, error) { return proc.Self("faults/queued-exit", true) })
		}
		if path, missing := exec.LookPath("node"); err == nil && missing == nil { // else this program has shown the same
			err = try("node", "node process.exit", func() (*proc.Process, error) {
				return proc.Command(path, "-e", fmt.Sprintf("process.stdout.write('x'.repeat(%d)); process.exit(0)", outputBytes)), nil
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func runNonBlockingStdout(ctx context.Context, r *recorder) error {
	if err := setSupported(syspipe.Anonymous); err != nil {
		return r.unsupported("", err)
	}
	try := func(part string, e Output, start func() (*proc.Process, error)) error {
		e.Pipe, e.Sent = string(syspipe.Anonymous), outputBytes
		return r.try(part, func() (finding, error) {
			got, err := collect(ctx, e, start)
			return nonBlockingOutput{got}, err
		})
	}
	for _, c := range []struct {
		program                         string
		nonBlocking, late, looksAtCount bool
	}{
		{"blocking", false, false, false},
		{"ignores-short-writes", true, true, false},
		{"retries", true, false, true},
	} {
		e := Output{Program: c.program, NonBlocking: c.nonBlocking, Late: c.late}
		if err := try(c.program, e, func() (*proc.Process, error) { return proc.Self("faults/one-write", c.looksAtCount) }); err != nil {
			return err
		}
	}
	path, err := exec.LookPath("python3")
	if err != nil {
		return nil // not installed: this program has shown the same
	}
	return try("python3", Output{Program: "python3 print", NonBlocking: true, Late: true}, func() (*proc.Process, error) {
		return proc.Command(path, "-c", fmt.Sprintf("print('x'*%d, end='')", outputBytes)), nil
	})
}

// setSupported tells whether a kind of pipe can be a child's standard output in any mode.
func setSupported(kind syspipe.Kind) error {
	if err := kind.Supported(); err != nil {
		return err
	}
	return syspipe.Poll.Supported()
}

// patience is how long a late reader waits for a program to exit.
var patience = time.Second

// collect runs a program with one end of a pipe as its standard output. A late reader begins when
// the program has exited, or after patience, since a program that waits for room never exits by
// itself.
func collect(ctx context.Context, e Output, ready func() (*proc.Process, error)) (*Output, error) {
	w, r, err := syspipe.Open(syspipe.Kind(e.Pipe), 0)
	if err != nil {
		return &e, err
	}
	defer r.Close()
	defer w.Close()
	if e.NonBlocking {
		if err := w.SetIO(syspipe.Poll); err != nil {
			return &e, err
		}
	}
	if err := r.SetIO(syspipe.Poller); err != nil {
		return &e, err
	}
	p, err := ready()
	if err != nil {
		return &e, err
	}
	defer p.Close()
	p.Stderr().Limit = 500 // bytes, of evidence
	if err := stdoutTo(p.Cmd, w); err != nil {
		return &e, err
	}
	if err := p.Start(ctx); err != nil {
		return &e, err
	}
	w.Close()
	if e.Late {
		e.Late = p.Ended(patience)
	}
	if e.Delivered, err = io.Copy(io.Discard, r); err != nil {
		return &e, err
	}
	if err := p.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		return &e, err
	}
	e.ExitCode = p.Cmd.ProcessState.ExitCode()
	e.Stderr = p.Stderr().String()
	return &e, nil
}

// exitWithQueue writes what fits, and exits with or without the rest.
func exitWithQueue(_ *proc.Work, drains bool) error {
	if err := setStdoutBlocking(false); err != nil {
		return err
	}
	queue := make([]byte, outputBytes)
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

// writeStdout writes with one call, and looks at the count or does not.
func writeStdout(_ *proc.Work, looks bool) error {
	p := make([]byte, outputBytes)
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
