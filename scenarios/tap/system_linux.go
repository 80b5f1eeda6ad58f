package tap

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	resetHandler = func(number int) {
		var byDefault struct{ handler, flags, restorer, mask uintptr } // the kernel's sigaction
		unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(number),
			uintptr(unsafe.Pointer(&byDefault)), 0, 8 /* bytes of the mask */, 0, 0)
	}
}
