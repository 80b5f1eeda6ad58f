package bench

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// settling is how long the runtime is left alone before the clock starts.
// Stopping the world wakes its threads, and its watchdog looks around every
// 20 µs until it has seen nothing happen for a millisecond.
const settling = 2 * time.Millisecond

// quiesce waits without the scheduler's knowledge, which would only wake more.
func quiesce() {
	t := unix.NsecToTimespec(settling.Nanoseconds())
	unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0) // a signal may cut it short, and no harm done
}
