package syspipe

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// LendsPages says whether the system has [End.Vmsplice].
const LendsPages = true

func (e *End) vmsplice(p []byte) (int, error) {
	if !e.kind.IsPipe() {
		return 0, unsupported("vmsplice to a " + e.kind.noun())
	}
	if e.file != nil {
		return 0, unsupported("vmsplice with io " + e.io.String())
	}
	flags := uintptr(unix.SPLICE_F_NONBLOCK)
	if e.io == Blocking {
		flags = 0
	}
	total := 0
	for total < len(p) {
		rest := p[total:]
		vec := syscall.Iovec{Base: &rest[0]}
		vec.SetLen(len(rest))
		n, _, errno := syscall.RawSyscall6(syscall.SYS_VMSPLICE,
			uintptr(e.fd), uintptr(unsafe.Pointer(&vec)), 1 /* vector */, flags, 0, 0)
		if errno == 0 {
			e.out.moved(len(rest), int(n))
			total += int(n)
			continue
		}
		if err := e.retryAfter(errno, len(rest)); err != nil {
			return total, e.writeFailed(int64(total), err)
		}
	}
	return total, nil
}
