package syspipe

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pipe makes a pipe that child processes do not inherit. macOS has no pipe2(2), so ForkLock keeps
// child processes from being started until both ends are marked close-on-exec.
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

// replace makes the descriptor fd a duplicate of source. The kernel then ends the calls under way
// on the file to which fd referred before.
func replace(source, fd int) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := unix.Dup2(source, fd); err != nil {
		return os.NewSyscallError("dup2", err)
	}
	unix.CloseOnExec(fd)
	return nil
}

// wakeThreads has nothing to do: on macOS, a call that waits ends when its descriptor is replaced.
func wakeThreads() error { return nil }

// pollable refuses FIFOs: kqueue does not report that the last writer has left, so a reader would
// wait for ever.
func pollable(e *End) error {
	if e.kind == FIFO {
		err := unsupported("a fifo in Go's poller")
		return fmt.Errorf("%w: kqueue does not report its end of file", err)
	}
	return nil
}

// The next three functions call libSystem, because macOS does not keep its system calls stable.

func sysRead(fd int, p []byte) (int, syscall.Errno) { return result(unix.Read(fd, p)) }

func sysWrite(fd int, p []byte) (int, syscall.Errno) { return result(unix.Write(fd, p)) }

// sysWritev turns the vectors back into slices, as unix.Writev takes them. For up to eight vectors
// it allocates nothing.
func sysWritev(fd int, vecs []syscall.Iovec) (int, syscall.Errno) {
	var few [8][]byte
	bufs := few[:0]
	for _, v := range vecs {
		bufs = append(bufs, unsafe.Slice(v.Base, v.Len))
	}
	return result(unix.Writev(fd, bufs))
}

// result turns what a function of x/sys returned into what a raw system call returns: a count and
// an error number.
func result(n int, err error) (int, syscall.Errno) {
	if err == nil {
		return n, 0
	}
	if errno, ok := err.(syscall.Errno); ok {
		return 0, errno
	}
	return 0, syscall.EIO
}
