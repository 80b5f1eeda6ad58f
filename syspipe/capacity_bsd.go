//go:build darwin || freebsd

package syspipe

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// pipeCapacity measures the capacity, since neither system tells it. It fills a new pipe of the
// same kind instead of the caller's pipe, because all pipes of a kind hold the same number of
// bytes. Kinds differ: a FIFO of macOS is a pair of sockets, and holds less than an anonymous pipe.
func pipeCapacity(kind Kind, _ int) (int, error) {
	w, r, err := open(kind, 0)
	if err != nil {
		return 0, err
	}
	return fillAndClose(w, r)
}

// setPipeCapacity accepts only the capacity that the pipe grows to by itself. Neither system lets a
// program choose another capacity.
func setPipeCapacity(kind Kind, fd int, n int) error {
	grown, err := pipeCapacity(kind, fd)
	if err == nil && grown != n {
		err = fmt.Errorf("%w; its pipes hold %d bytes", unsupported("choosing it"), grown)
	}
	if err != nil {
		return &CapacityError{Kind: kind, Asked: n, Err: err}
	}
	return nil
}

// fionread is FIONREAD of <sys/filio.h>, _IOR('f', 127, int). x/sys has it
// neither for macOS nor for FreeBSD.
const fionread = 0x4004667f

// buffered can only ask the reading end. A pipe of FreeBSD has two directions, and its writing end
// would tell how many bytes are in the opposite direction.
func (e *End) buffered() (int, error) {
	if e.dir == writes {
		return 0, unsupported("asking the writing end")
	}
	n, err := unix.IoctlGetInt(e.fd, fionread)
	return n, os.NewSyscallError("FIONREAD", err)
}

// socketBufferScale is the value that SO_SNDBUF returns, divided by the value that it was set to.
// Here both values are the same.
const socketBufferScale = 1

const socketLimit = "sysctl kern.ipc.maxsockbuf"
