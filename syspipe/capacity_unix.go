//go:build linux || darwin || freebsd

package syspipe

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// capacity fills a fresh socket pair with the same buffers. The kernel charges its own bookkeeping
// to the buffer, so the bytes accepted say more than the option's value does.
func (e *End) capacity() (int, error) {
	if e.kind != SocketPair {
		return pipeCapacity(e.fd)
	}
	fds, err := socketPair()
	if err != nil {
		return 0, err
	}
	for _, option := range []int{unix.SO_SNDBUF, unix.SO_RCVBUF} {
		if err := copyOption(e.fd, fds, option); err != nil {
			return 0, errors.Join(err, unix.Close(fds[0]), unix.Close(fds[1]))
		}
	}
	return fillAndClose(fds[0], fds[1])
}

func (e *End) setCapacity(n int) error {
	if e.kind != SocketPair {
		return setPipeCapacity(e, n)
	}
	for _, option := range []int{unix.SO_SNDBUF, unix.SO_RCVBUF} {
		if err := unix.SetsockoptInt(e.fd, unix.SOL_SOCKET, option, n); err != nil {
			return &CapacityError{Kind: e.kind, Asked: n, Err: os.NewSyscallError("setsockopt", err), Where: socketLimit}
		}
	}
	return nil
}

func copyOption(from int, to [2]int, option int) error {
	n, err := unix.GetsockoptInt(from, unix.SOL_SOCKET, option)
	if err != nil {
		return os.NewSyscallError("getsockopt", err)
	}
	for _, fd := range to {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, n/socketBufferScale); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	return nil
}

// fillAndClose returns the bytes that w takes in large writes until it refuses.
func fillAndClose(w, r int) (total int, err error) {
	defer func() { err = errors.Join(err, unix.Close(w), unix.Close(r)) }()
	if err := unix.SetNonblock(w, true); err != nil {
		return 0, os.NewSyscallError("fcntl", err)
	}
	for chunk := make([]byte, 1<<20); ; {
		n, errno := sysWrite(w, chunk)
		switch errno {
		case 0:
			total += n
		case syscall.EINTR:
		case syscall.EAGAIN, syscall.ENOBUFS: // the latter is how FreeBSD's sockets may put it
			return total, nil
		default:
			return total, os.NewSyscallError("write", errno)
		}
	}
}
