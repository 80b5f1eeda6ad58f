package tap

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// capacityOf returns the capacity of a pipe, in bytes; 0 if it is not known.
func capacityOf(fd int) int {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		return 0
	}
	return n
}

// resetHandler takes Go's handler from a signal that os/signal does not let go of, such as SIGSEGV.
func resetHandler(number int) {
	var byDefault struct{ handler, flags, restorer, mask uintptr }
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(number), uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0)
}
