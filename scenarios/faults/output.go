package faults

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"time"

	"github.com/pipebench/pipebench/scenarios/faults/actor"
	"github.com/pipebench/pipebench/syspipe"
)

// An Output is the evidence of exit-before-drain and nonblocking-stdout: what
// of a program's output arrived.
type Output struct {
	Program     string `json:"program"`
	Pipe        string `json:"pipe"`
	NonBlocking bool   `json:"non_blocking"` // standard output was non-blocking when the program started
	Late        bool   `json:"late"`         // nothing was read before the program had exited
	Sent        int64  `json:"sent"`         // bytes the program meant to write
	Delivered   int64  `json:"delivered"`    // bytes that could be read
	ExitCode    int    `json:"exit_code"`    // -1: killed by a signal
	Stderr      string `json:"stderr,omitempty"`
}

// judgeOutput is the rule of both scenarios: bytes that are missing from a
// program that ended well are a silent loss.
func judgeOutput(e Output) Verdict {
	switch {
	case e.Delivered >= e.Sent:
		return Sound
	case e.ExitCode == 0:
		return SilentLoss
	}
	return Noticed
}

// mostWords is how much of a program's standard error goes into the evidence.
const mostWords = 500

// collect runs a program with one end of a pipe as its standard output. A late
// reader begins when the program has exited, or after patience, since a
// program that waits for room never exits by itself.
func collect(ctx context.Context, start func(stdout *syspipe.End) (*exec.Cmd, func() error, error), e Output) (Output, error) {
	w, r, err := syspipe.Open(syspipe.Kind(e.Pipe), 0)
	if err != nil {
		return e, err
	}
	defer r.Close()
	defer w.Close()
	if e.NonBlocking {
		if err := w.SetIO(syspipe.Poll); err != nil {
			return e, err
		}
	}
	if err := r.SetIO(syspipe.Poller); err != nil {
		return e, err
	}
	cmd, wait, err := start(w)
	if err != nil {
		return e, err
	}
	words := cmd.Stderr.(*firstWords)
	w.Close()
	exited := make(chan error, 1)
	go func() { exited <- wait() }()
	if e.Late {
		e.Late = awaitExit(ctx, exited, patience)
	}
	e.Delivered, err = io.Copy(io.Discard, r)
	exit := <-exited
	var status *exec.ExitError
	if exit != nil && !errors.As(exit, &status) {
		return e, errors.Join(exit, err)
	}
	e.ExitCode = cmd.ProcessState.ExitCode()
	e.Stderr = words.String()
	return e, err
}

// patience is how long a late reader waits for a program to exit.
const patience = time.Second

// awaitExit reports whether the program exited in time. Its exit can be
// received once more.
func awaitExit(ctx context.Context, exited chan error, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case err := <-exited:
		exited <- err
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// collectActor is collect for an actor.
func collectActor(ctx context.Context, part string, args any, e Output) (Output, error) {
	return collect(ctx, func(stdout *syspipe.End) (*exec.Cmd, func() error, error) {
		a, err := actor.Prepare(ctx, part, args)
		if err != nil {
			return nil, nil, err
		}
		a.Cmd.Stderr = &firstWords{}
		if err := stdoutTo(a.Cmd, stdout); err != nil {
			a.Dismiss()
			return nil, nil, err
		}
		if err := a.Start(); err != nil {
			return nil, nil, err
		}
		return a.Cmd, func() error {
			defer a.Dismiss()
			return a.Wait()
		}, nil
	}, e)
}

// collectProgram is collect for a program of the system.
func collectProgram(ctx context.Context, e Output, path string, args ...string) (Output, error) {
	return collect(ctx, func(stdout *syspipe.End) (*exec.Cmd, func() error, error) {
		cmd := exec.CommandContext(ctx, path, args...)
		cmd.WaitDelay = time.Second
		cmd.Stderr = &firstWords{}
		if err := stdoutTo(cmd, stdout); err != nil {
			return nil, nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, nil, err
		}
		return cmd, cmd.Wait, nil
	}, e)
}

// firstWords keeps the beginning of what is written to it.
type firstWords struct{ text []byte }

func (f *firstWords) Write(p []byte) (int, error) {
	f.text = append(f.text, p[:min(len(p), mostWords-len(f.text))]...)
	return len(p), nil
}

func (f *firstWords) String() string { return string(f.text) }
