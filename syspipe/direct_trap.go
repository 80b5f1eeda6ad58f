//go:build linux || freebsd

package syspipe

import (
	"syscall"
	"unsafe"
)

// Direct gives the direct way to the end, which stays as it is; false where there
// is none: the end is not [Blocking], or is closed.
func (e *End) Direct() (d Direct, ok bool) {
	return Direct{fd: uintptr(e.fd)}, e.io == Blocking && e.file == nil && !e.closed.Load()
}

// Read makes one call and returns the bytes it brought, negative where it failed.
func (d *Direct) Read(p []byte) int {
	n, _, _ := syscall.RawSyscall(syscall.SYS_READ, d.fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n)
}

// Write makes one call and returns the bytes that the kernel took, negative
// where it failed.
func (d *Direct) Write(p []byte) int {
	n, _, _ := syscall.RawSyscall(syscall.SYS_WRITE, d.fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n)
}
