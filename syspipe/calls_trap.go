//go:build linux || freebsd

package syspipe

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

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

func socket(sort int) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, sort|unix.SOCK_CLOEXEC, 0)
	return fd, os.NewSyscallError("socket", err)
}

func accept(listener int) (int, error) {
	fd, _, err := unix.Accept4(listener, unix.SOCK_CLOEXEC)
	return fd, os.NewSyscallError("accept4", err)
}

// replace makes fd a duplicate of from, in one step.
func replace(from, fd int) error {
	return os.NewSyscallError("dup3", unix.Dup3(from, fd, unix.O_CLOEXEC))
}

// Direct gives the direct way to the end, which stays as it is; false where there is none: the end
// is not [Blocking], or is closed.
func (e *End) Direct() (d Direct, ok bool) {
	return Direct{fd: uintptr(e.fd)}, e.io == Blocking && e.file == nil && e.stream == nil && !e.closed.Load()
}

// Read makes one call and returns the bytes it brought, negative where it failed.
func (d *Direct) Read(p []byte) int {
	n, _, _ := syscall.RawSyscall(syscall.SYS_READ, d.fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n)
}

// Write makes one call and returns the bytes that the kernel took, negative where it failed.
func (d *Direct) Write(p []byte) int {
	n, _, _ := syscall.RawSyscall(syscall.SYS_WRITE, d.fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n)
}

// These are raw calls: the Go scheduler does not hear of them, which saves 30 ns each way of
// syscall.Read. A non-blocking call is over before that could matter; for a blocking one, see the
// package comment.

func sysRead(fd int, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}

func sysWrite(fd int, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}

func sysWritev(fd int, vecs []syscall.Iovec) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_WRITEV, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(vecs))), uintptr(len(vecs)))
	return int(n), errno
}

// pollable refuses writers to terminals: Linux does not wake those who wait for room in one
// (n_tty_poll asks for no such wake-up), so one in Go's poller waits for ever.
func pollable(e *End) error {
	if e.kind == PTY && e.dir == writes {
		return fmt.Errorf("%w: epoll does not report that it has room", unsupported("a pseudo-terminal in Go's poller"))
	}
	return nil
}
