package syspipe

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func (e *End) vmsplice(p []byte) (int, error) {
	if err := e.checkTransfer(Vmsplice); err != nil {
		return 0, err
	}
	total := 0
	for total < len(p) {
		rest := p[total:]
		n, errno, err := e.retry(&e.out, unix.POLLOUT, len(rest), func(flags uintptr) (int, syscall.Errno) {
			v := syscall.Iovec{Base: &rest[0]}
			v.SetLen(len(rest))
			n, _, errno := syscall.RawSyscall6(syscall.SYS_VMSPLICE, uintptr(e.fd), uintptr(unsafe.Pointer(&v)), 1, flags, 0, 0)
			return int(n), errno
		})
		if errno != 0 || err != nil {
			return total, e.writeResult(int64(total), false, errno, err)
		}
		total += n
	}
	return total, nil
}

func (e *End) discard(n int) (int, error) {
	if err := e.checkTransfer(Splice); err != nil {
		return 0, err
	}
	if e.null == nil { // closed with the end
		f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			return 0, e.failed("splice from", err)
		}
		e.null, e.nullFD = f, int(f.Fd())
	}
	k, errno, err := e.retry(&e.in, unix.POLLIN, n, func(flags uintptr) (int, syscall.Errno) {
		k, _, errno := syscall.RawSyscall6(syscall.SYS_SPLICE, uintptr(e.fd), 0, uintptr(e.nullFD), 0, uintptr(n), flags|unix.SPLICE_F_MOVE)
		return int(k), errno
	})
	return e.readResult(k, errno, err)
}

func (e *End) checkTransfer(t Transfer) error {
	switch {
	case e.kind == SocketPair:
		return unsupported(fmt.Sprintf("transfer %s of a %s", t, e.kind.noun()))
	case e.file != nil:
		return unsupported(fmt.Sprintf("transfer %s with io %s", t, e.io))
	}
	return nil
}

// retry repeats a call while it is refused or interrupted. It does not keep the function, so that
// none is allocated.
func (e *End) retry(m *counter, events int16, asked int, call func(flags uintptr) (int, syscall.Errno)) (int, syscall.Errno, error) {
	var flags uintptr
	if e.io != Blocking {
		flags = unix.SPLICE_F_NONBLOCK
	}
	for {
		n, errno := call(flags)
		switch errno = m.account(asked, n, errno); errno {
		case syscall.EAGAIN:
			if err := e.wait(events); err != nil {
				return 0, 0, err
			}
		case syscall.EINTR:
		case 0:
			return n, 0, nil
		default:
			return 0, errno, nil
		}
	}
}
