package bench

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// minimiseTimerSlack asks for the smallest timer slack, 1 ns, for this thread. The
// kernel's own is 50 µs, by which every sleep would be late.
func minimiseTimerSlack() { unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// sleepUntil sleeps to an absolute moment; the shared clock is the kernel's.
func (c *sharedClock) sleepUntil(moment int64) {
	t := unix.NsecToTimespec(moment)
	unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, uintptr(unsafe.Pointer(&t)), 0, 0, 0)
}
