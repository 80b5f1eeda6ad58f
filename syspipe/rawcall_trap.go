//go:build linux || freebsd

package syspipe

import (
	"syscall"
	"unsafe"
)

// These are raw calls: the Go scheduler does not hear of them, which saves 30 ns each way of syscall.Read. A non-blocking call is over before
// that could matter; for a blocking one, see the package comment.

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

func addByte(p *byte, n int) *byte { return (*byte)(unsafe.Add(unsafe.Pointer(p), n)) }
