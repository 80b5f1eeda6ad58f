package bench

import (
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pipebench/pipebench/syspipe/proc"
)

// minimiseTimerSlack asks for the smallest timer slack, 1 ns, for this thread. The kernel's own is
// 50 µs, by which every sleep would be late.
func minimiseTimerSlack() { unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// sleepUntil sleeps to an absolute moment; the shared clock is the kernel's.
func (c *Clock) sleepUntil(moment int64) {
	t := unix.NsecToTimespec(moment)
	unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, uintptr(unsafe.Pointer(&t)), 0, 0, 0)
}

// quietTime is how long the runtime is left alone before the clock starts. Stopping the world wakes
// its threads, and its watchdog looks around every 20 µs until it has seen nothing happen for a
// millisecond.
const quietTime = 2 * time.Millisecond

// quiesce waits without the scheduler's knowledge, which would only wake more.
func quiesce() {
	t := unix.NsecToTimespec(quietTime.Nanoseconds())
	unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0) // a signal may cut it short, and no harm done
}

// ownDescriptors gives the calling thread a descriptor table of its own. While threads share one,
// the kernel takes a reference to the file in every call, which a C program of one thread does not
// pay: some 15 % of a 64 B write. Where a thread may not do this, its figures have that in them.
//
// Go's poller is made to open its own descriptor before, for all threads: made later, it would be
// in this thread's table alone.
func ownDescriptors() {
	if r, w, err := os.Pipe(); err == nil {
		r.Close()
		w.Close()
	}
	unix.Unshare(unix.CLONE_FILES)
}

// readCPUTime reads the processor time of this thread or of this process.
func readCPUTime(of pinning) cpuTime {
	who := unix.RUSAGE_SELF
	if of == pinThread {
		who = unix.RUSAGE_THREAD
	}
	return rusage(who)
}

// peakMemory returns the largest resident size of this process so far, in bytes.
func peakMemory() (bytesHeld int64, ok bool) { return proc.PeakMemory(os.Getpid()) }
