//go:build darwin || freebsd

package syspipe

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// pipeCapacity fills a new pipe of the same kind, because macOS and FreeBSD do not tell the
// capacity of the caller's pipe.
func pipeCapacity(kind Kind, _ int) (int, error) {
	w, r, err := open(kind, 0)
	if err != nil {
		return 0, err
	}
	return fillAndClose(w, r)
}

// setPipeCapacity accepts only the capacity that a pipe grows to by itself: macOS and FreeBSD let
// no program choose another.
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

// fionread is FIONREAD of <sys/filio.h>, _IOR('f', 127, int). golang.org/x/sys lacks this constant
// for macOS and for FreeBSD.
const fionread = 0x4004667f

// buffered asks only the reading end. On FreeBSD, the writing end would tell how many bytes wait in
// the opposite direction.
func (e *End) buffered() (int, error) {
	if e.dir == writes {
		return 0, unsupported("asking the writing end")
	}
	n, err := unix.IoctlGetInt(e.fd, fionread)
	return n, os.NewSyscallError("FIONREAD", err)
}

// socketBufferScale is what SO_SNDBUF returns, divided by what it was set to.
const socketBufferScale = 1

const socketLimit = "sysctl kern.ipc.maxsockbuf"
