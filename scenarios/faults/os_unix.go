//go:build unix

package faults

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/pipebench/pipebench/syspipe"
)

// A signalCount counts the SIGPIPEs that a process gets.
type signalCount struct{ pipes, marks chan os.Signal }

func newSignalCount() *signalCount {
	c := &signalCount{make(chan os.Signal, 16), make(chan os.Signal, 1)}
	signal.Notify(c.pipes, syscall.SIGPIPE)
	signal.Notify(c.marks, syscall.SIGWINCH)
	return c
}

// count returns how many came since the last count. Signals that came at the same time count as
// one, as the system has it. It waits until every signal sent so far was delivered: Go hands
// pending signals on in the order of their numbers, and the mark has a higher one.
func (c *signalCount) count() *int {
	if syscall.Kill(os.Getpid(), syscall.SIGWINCH) == nil {
		<-c.marks
	}
	n := len(c.pipes)
	for range n {
		<-c.pipes
	}
	return &n
}

const stdout = 1

// stdoutTo makes e the standard output of the child that cmd starts next, in whatever mode e is:
// what os/exec itself makes of a pipe is always blocking.
func stdoutTo(cmd *exec.Cmd, e *syspipe.End) error {
	if _, err := e.Pass(cmd); err != nil {
		return err
	}
	last := len(cmd.ExtraFiles) - 1
	cmd.Stdout = cmd.ExtraFiles[last]
	cmd.ExtraFiles = cmd.ExtraFiles[:last]
	return nil
}

// setStdoutBlocking changes the mode of standard output, for all who share it.
func setStdoutBlocking(blocking bool) error { return syscall.SetNonblock(stdout, !blocking) }

// writeStdoutOnce makes one system call. refused says that a non-blocking standard output had no
// room.
func writeStdoutOnce(p []byte) (n int, refused bool, err error) {
	for {
		n, err = syscall.Write(stdout, p)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			return 0, true, nil
		case err != nil:
			return 0, false, err
		}
		return n, false, nil
	}
}
