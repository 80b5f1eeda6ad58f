//go:build unix

package mcpstdio

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// hungUp reports whether nobody can write to in any more, though there may be more to read; false
// where in is no descriptor.
func hungUp(in any) (gone bool) {
	f, ok := in.(syscall.Conn)
	if !ok {
		return false
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	err = conn.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd)}} // an end is reported without being asked for
		n, err := unix.Poll(fds, 0)
		gone = err == nil && n > 0 && fds[0].Revents&unix.POLLHUP != 0
	})
	return gone && err == nil
}
