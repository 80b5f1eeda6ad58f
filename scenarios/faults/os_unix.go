//go:build unix

package faults

import (
	"errors"
	"os/exec"
	"syscall"

	"github.com/pipebench/pipebench/syspipe"
)

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
