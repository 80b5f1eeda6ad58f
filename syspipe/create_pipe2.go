//go:build linux || freebsd

package syspipe

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipe makes a pipe that no child inherits.
func pipe(fds *[2]int) error {
	return os.NewSyscallError("pipe2", unix.Pipe2(fds[:], unix.O_CLOEXEC))
}

func socketPair() ([2]int, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	return fds, os.NewSyscallError("socketpair", err)
}

// replace makes fd a duplicate of from, in one step.
func replace(from, fd int) error {
	return os.NewSyscallError("dup3", unix.Dup3(from, fd, unix.O_CLOEXEC))
}
