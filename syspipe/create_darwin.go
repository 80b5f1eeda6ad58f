package syspipe

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// pipe makes a pipe that no child inherits. There is no pipe2: the lock keeps other goroutines from forking in between.
func pipe(fds *[2]int) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := unix.Pipe(fds[:]); err != nil {
		return os.NewSyscallError("pipe", err)
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	return nil
}

func socketPair() ([2]int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return fds, os.NewSyscallError("socketpair", err)
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	return fds, nil
}

// replace makes fd a duplicate of from. XNU ends the calls under way on the file that was there.
func replace(from, fd int) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := unix.Dup2(from, fd); err != nil {
		return os.NewSyscallError("dup2", err)
	}
	unix.CloseOnExec(fd)
	return nil
}

// wakeThreads has nothing to do: replacing the descriptor ended the calls.
func wakeThreads() error { return nil }

// pollable refuses what kqueue cannot watch: it does not report that the last writer of a FIFO has left, so a reader would wait for ever.
func pollable(kind Kind) error {
	if kind == FIFO {
		return fmt.Errorf("%w: kqueue does not report its end of file", unsupported("a fifo in Go's poller"))
	}
	return nil
}
