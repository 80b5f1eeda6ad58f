package tap

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	resetHandler = func(number int) {
		var byDefault struct { // the kernel's sigaction
			handler, flags, restorer uintptr
			mask                     uint64
		}
		unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(number),
			uintptr(unsafe.Pointer(&byDefault)), 0, 8 /* bytes of the mask */, 0, 0)
	}
}
