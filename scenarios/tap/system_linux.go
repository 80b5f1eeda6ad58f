package tap

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	resetHandler = func(number int) {
		// The kernel's struct sigaction; all zero is the default action.
		var action struct{ handler, flags, restorer, mask uintptr }
		const maskSize = 8
		unix.RawSyscall6(unix.SYS_RT_SIGACTION,
			uintptr(number), uintptr(unsafe.Pointer(&action)), 0, maskSize, 0, 0)
	}
}
