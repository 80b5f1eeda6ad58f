package syspipe

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// macOS promises its C library and not its system calls, so these go through libSystem and the Go scheduler hears of them.

func sysRead(fd int, p []byte) (int, syscall.Errno) { return result(unix.Read(fd, p)) }

func sysWrite(fd int, p []byte) (int, syscall.Errno) { return result(unix.Write(fd, p)) }

// sysWritev turns the vectors back into slices, which unix.Writev wants; up to eight of them cost no allocation on either side.
func sysWritev(fd int, vecs []syscall.Iovec) (int, syscall.Errno) {
	var few [8][]byte
	bufs := few[:0]
	for _, v := range vecs {
		bufs = append(bufs, unsafe.Slice(v.Base, v.Len))
	}
	return result(unix.Writev(fd, bufs))
}

func addByte(p *byte, n int) *byte { return (*byte)(unsafe.Add(unsafe.Pointer(p), n)) }

func result(n int, err error) (int, syscall.Errno) {
	if err == nil {
		return n, 0
	}
	if errno, ok := err.(syscall.Errno); ok {
		return 0, errno
	}
	return 0, syscall.EIO
}
