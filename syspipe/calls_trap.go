//go:build linux || freebsd

package syspipe

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pipe makes a pipe that child processes do not inherit.
func pipe(fds *[2]int) error {
	return os.NewSyscallError("pipe2", unix.Pipe2(fds[:], unix.O_CLOEXEC))
}

func socketPair() ([2]int, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	return fds, os.NewSyscallError("socketpair", err)
}

// replace makes the descriptor fd a duplicate of source, in one step.
func replace(source, fd int) error {
	return os.NewSyscallError("dup3", unix.Dup3(source, fd, unix.O_CLOEXEC))
}

// The next three functions make raw system calls. Go's scheduler is not told of them, which saves
// 30 ns each time. The package comment says what this means for calls that block.

func sysRead(fd int, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}

func sysWrite(fd int, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}

func sysWritev(fd int, vecs []syscall.Iovec) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_WRITEV, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(vecs))), uintptr(len(vecs)))
	return int(n), errno
}

// pollable refuses writers to terminals: Linux does not wake a poller when a terminal has room
// again (n_tty_poll), so a writer would wait for ever.
func pollable(e *End) error {
	if e.kind == PTY && e.dir == writes {
		err := unsupported("a pseudo-terminal in Go's poller")
		return fmt.Errorf("%w: epoll does not report that it has room", err)
	}
	return nil
}
