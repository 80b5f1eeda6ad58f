//go:build darwin || freebsd

package syspipe

import (
	"os"

	"golang.org/x/sys/unix"
)

// capacity measures: neither system tells. An empty pipe is like another, so a fresh one is filled
// and this one left alone.
func (e *End) capacity() (int, error) {
	if e.kind == SocketPair {
		return e.socketCapacity()
	}
	var fds [2]int
	if err := pipe(&fds); err != nil {
		return 0, err
	}
	return fillAndClose(fds[1], fds[0])
}

func (e *End) setCapacity(n int) error {
	if e.kind == SocketPair {
		return e.setSocketCapacity(n)
	}
	return &CapacityError{Kind: e.kind, Asked: n, Err: unsupported("choosing it")}
}

// fionread is FIONREAD of <sys/filio.h>, _IOR('f', 127, int), which x/sys has for neither system.
const fionread = 0x4004667f

// buffered asks the reading end: the pipes of FreeBSD have two directions, and the writing end
// would tell of the other.
func (e *End) buffered() (int, error) {
	if e.dir == writes {
		return 0, unsupported("asking the writing end")
	}
	n, err := unix.IoctlGetInt(e.fd, fionread)
	return n, os.NewSyscallError("FIONREAD", err)
}

// statedCapacity returns 0: neither system says what a pipe holds.
func statedCapacity(int) int { return 0 }

// socketBufferScale: what SO_SNDBUF is set to is what it returns.
const socketBufferScale = 1

const socketLimit = "sysctl kern.ipc.maxsockbuf"
