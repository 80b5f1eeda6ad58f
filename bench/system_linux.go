package bench

import (
	"bytes"
	"os"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// minimiseTimerSlack asks for the smallest timer slack, 1 ns, for this thread. The kernel's own is
// 50 µs, by which every sleep would be late.
func minimiseTimerSlack() { unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// sleepUntil sleeps to an absolute moment; the shared clock is the kernel's.
func (c *clock) sleepUntil(moment int64) {
	t := unix.NsecToTimespec(moment)
	unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME,
		uintptr(unsafe.Pointer(&t)), 0, 0, 0)
}

// quietTime is how long the runtime is left alone before the warm-up: until the threads that
// stopping the world wakes have parked again. Its watchdog looks around every 20 µs for longer,
// some milliseconds, which is a part of a slice in any case.
const quietTime = 250 * time.Microsecond

// quiesce waits without the scheduler's knowledge, which would only wake more.
func quiesce() {
	t := unix.NsecToTimespec(quietTime.Nanoseconds())
	// A signal may cut it short, and no harm done.
	unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0)
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

// A runQueue tells how long the thread that opened it could run and had no CPU.
type runQueue int

func openRunQueue() runQueue {
	fd, err := unix.Open("/proc/thread-self/schedstat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1 // of which nothing can be read
	}
	return runQueue(fd)
}

// waited reads the second of three numbers: nanoseconds on a CPU, in a run queue, and turns. It
// allocates nothing, and does not tell Go's scheduler, since the clock is about to start. Where
// there are none, it returns -1.
func (q runQueue) waited() int64 {
	var text [64]byte
	n, _, failed := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(q),
		uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)), 0, 0, 0)
	if failed != 0 {
		return -1
	}
	_, rest, _ := bytes.Cut(text[:n], []byte(" "))
	number, _, _ := bytes.Cut(rest, []byte(" "))
	ns, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil {
		return -1
	}
	return ns
}
