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
	"github.com/pipebench/pipebench/syspipe/script"
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
	e.Summary = fmt.Sprintf("%s of %s arrived, exit code %d", Size(e.Delivered), Size(e.Sent), e.ExitCode)
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

func runExitBeforeDrain(ctx context.Context, r *recorder) {
	for _, kind := range []syspipe.Kind{syspipe.Anonymous, syspipe.SocketPair} {
		if err := setSupported(kind); err != nil {
			r.unsupported(string(kind), err)
			continue
		}
		try := func(part, program string, p *proc.Process) {
			r.try(string(kind)+"/"+part, func() finding {
				return queuedOutput{collect(ctx, Output{Program: program, Pipe: string(kind), Late: true}, p)}
			})
		}
		try("exits", "exits at once", script.Must(proc.Self("faults/queued-exit", false)))
		try("waits", "waits for its output", script.Must(proc.Self("faults/queued-exit", true)))
		if path, err := exec.LookPath("node"); err == nil { // else this program has shown the same
			program := fmt.Sprintf("process.stdout.write('x'.repeat(%d)); process.exit(0)", outputBytes)
			try("node", "node process.exit", proc.Command(path, "-e", program))
		}
	}
}

func runNonBlockingStdout(ctx context.Context, r *recorder) {
	if err := setSupported(syspipe.Anonymous); err != nil {
		r.unsupported("", err)
		return
	}
	try := func(part string, e Output, p *proc.Process) {
		e.Pipe = string(syspipe.Anonymous)
		r.try(part, func() finding { return nonBlockingOutput{collect(ctx, e, p)} })
	}
	writeOnce := func(e Output, looksAtCount bool) {
		try(e.Program, e, script.Must(proc.Self("faults/one-write", looksAtCount)))
	}
	writeOnce(Output{Program: "blocking"}, false)
	writeOnce(Output{Program: "ignores-short-writes", NonBlocking: true, Late: true}, false)
	writeOnce(Output{Program: "retries", NonBlocking: true}, true)
	if path, err := exec.LookPath("python3"); err == nil { // else this program has shown the same
		program := fmt.Sprintf("print('x'*%d, end='')", outputBytes)
		try("python3", Output{Program: "python3 print", NonBlocking: true, Late: true}, proc.Command(path, "-c", program))
	}
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
func collect(ctx context.Context, e Output, p *proc.Process) *Output {
	defer p.Close()
	e.Sent = outputBytes
	p.Stderr().Limit = 500 // bytes, of evidence
	r := script.Must(p.Connect(1, syspipe.Kind(e.Pipe), 0, e.NonBlocking))
	script.Check(p.Start(ctx))
	for n := 1; e.Late && n < 10 && !p.Ended(patience) && p.Runnable(); n++ { // it may wait for a CPU
	}
	e.Late = e.Late && p.Ended(0)
	e.Delivered = script.Must(io.Copy(io.Discard, r))
	awaitExit(p)
	e.ExitCode, e.Stderr = p.Cmd.ProcessState.ExitCode(), p.Stderr().String()
	return &e
}

// exitWithQueue writes what fits, and exits with or without the rest.
func exitWithQueue(_ *proc.Work, drains bool) {
	script.Check(setStdoutBlocking(false))
	queue := make([]byte, outputBytes)
	for len(queue) > 0 {
		n, refused, err := writeStdoutOnce(queue)
		script.Check(err)
		if refused && !drains {
			return
		}
		if refused {
			script.Check(setStdoutBlocking(true))
		}
		queue = queue[n:]
	}
}

// writeStdout writes with one call, and looks at the count or does not.
func writeStdout(_ *proc.Work, looks bool) {
	for p := make([]byte, outputBytes); len(p) > 0; {
		n, _, err := writeStdoutOnce(p)
		script.Check(err)
		if !looks {
			return
		}
		script.Check(setStdoutBlocking(true))
		p = p[n:]
	}
}
