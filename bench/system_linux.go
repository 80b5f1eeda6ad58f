package bench

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// minimiseTimerSlack sets the timer slack of this thread to 1 ns, the smallest. With the kernel's
// usual slack every sleep would end 50 µs late.
func minimiseTimerSlack() { unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// sleepUntil sleeps until a moment of the shared clock, which is the kernel's monotonic clock. A
// signal may cut the sleep short.
func (c *clock) sleepUntil(moment int64) {
	t := unix.NsecToTimespec(moment)
	unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME,
		uintptr(unsafe.Pointer(&t)), 0, 0, 0)
}

// watchdogTime is how long the Go runtime's watchdog takes until it wakes less than once a
// millisecond: 50 times 20 µs, each with the kernel's timer slack of 50 µs, and some longer sleeps.
const watchdogTime = 6 * time.Millisecond

// calmWatchdog waits until the Go runtime's watchdog (sysmon) sleeps for long. The watchdog wakes
// every 20 µs for some milliseconds, and then more and more rarely, down to once in 10 ms. It
// begins anew whenever all goroutines of the process were blocked. On the CPU of the ends it
// preempts them each time: for messages of 65,000 B on one CPU, a tenth to a third of the slices
// took twice as long.
//
// A worker's goroutine must therefore never count as blocked: the worker sleeps here, and reads its
// jobs, in raw system calls, of which the scheduler does not know.
func calmWatchdog() { rawSleep(watchdogTime) }

// jobs is standard input.
var jobs = rawInput(0)

// A rawInput is a descriptor that is read by raw system calls.
type rawInput int

func (r rawInput) Read(b []byte) (int, error) {
	for {
		n, _, failed := unix.RawSyscall(unix.SYS_READ, uintptr(r),
			uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch {
		case failed == unix.EINTR:
		case failed != 0:
			return 0, failed
		case n == 0:
			return 0, io.EOF
		default:
			return int(n), nil
		}
	}
}

// quietTime is how long the Go runtime is left alone before the warm-up. To read the statistics of
// the heap stopped the world and woke threads; after this time they have parked again.
const quietTime = 250 * time.Microsecond

// quiesce sleeps without the scheduler's knowledge: any other sleep would wake more threads.
func quiesce() { rawSleep(quietTime) }

func rawSleep(d time.Duration) {
	t := unix.NsecToTimespec(d.Nanoseconds())
	// A signal may cut the sleep short, which does no harm.
	unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0)
}

// ownDescriptors gives the calling thread a descriptor table of its own. While threads share a
// table, the kernel takes a reference to the file in every call. This makes up some 15 % of a 64 B
// write, and a C program of one thread does not pay it. If the thread is not allowed to leave the
// shared table, its figures include this cost.
//
// First a pipe is opened, so that Go's poller opens its descriptor in the table of all threads. If
// the poller opened it later, only this thread might have it.
func ownDescriptors() {
	if r, w, err := os.Pipe(); err == nil {
		r.Close()
		w.Close()
	}
	unix.Unshare(unix.CLONE_FILES)
}

// A runQueue tells how long the thread that opened it was ready to run but had no CPU. It is a
// descriptor of the kernel's file about the thread.
type runQueue int

func openRunQueue() runQueue {
	fd, err := unix.Open("/proc/thread-self/schedstat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1 // no descriptor: waited fails
	}
	return runQueue(fd)
}

// waited returns how many nanoseconds the thread waited in a run queue, or -1 if the system does
// not tell. The kernel's file has three numbers: nanoseconds on a CPU, nanoseconds in a run queue,
// and turns. Because the clock is about to start, waited allocates nothing and makes a raw system
// call, of which Go's scheduler does not know.
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
