package syspipe

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lendsPages says whether the system has other transfers than [Copy].
const lendsPages = true

func (e *End) vmsplice(p []byte) (int, error) {
	if err := e.checkTransfer(Vmsplice); err != nil {
		return 0, err
	}
	splice := func(rest []byte) (int, syscall.Errno) {
		v := syscall.Iovec{Base: &rest[0]}
		v.SetLen(len(rest))
		n, _, errno := syscall.RawSyscall6(syscall.SYS_VMSPLICE, uintptr(e.fd), uintptr(unsafe.Pointer(&v)), 1, e.spliceFlags(), 0, 0)
		return int(n), errno
	}
	n, errno := splice(p)
	return e.writeOn(p, n, errno, splice)
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
	splice := func() (int, syscall.Errno) {
		k, _, errno := syscall.RawSyscall6(syscall.SYS_SPLICE, uintptr(e.fd), 0, uintptr(e.nullFD), 0, uintptr(n), e.spliceFlags()|unix.SPLICE_F_MOVE)
		return int(k), errno
	}
	k, errno := splice()
	return e.readResult(e.retry(&e.in, n, k, errno, splice))
}

func (e *End) spliceFlags() uintptr {
	if e.io == Blocking {
		return 0
	}
	return unix.SPLICE_F_NONBLOCK
}

func (e *End) checkTransfer(t Transfer) error {
	switch {
	case !e.kind.IsPipe():
		return unsupported(fmt.Sprintf("transfer %s of a %s", t, e.kind.noun()))
	case e.file != nil:
		return unsupported(fmt.Sprintf("transfer %s with io %s", t, e.io))
	}
	return nil
}
