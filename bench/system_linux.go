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

// watchdogTime is how long it takes until the Go runtime's watchdog wakes less than once per
// millisecond. Before that, the watchdog makes 50 sleeps of 20 µs and some longer sleeps. The
// kernel's timer slack adds 50 µs to each sleep.
const watchdogTime = 6 * time.Millisecond

// calmWatchdog waits until the Go runtime's watchdog, a thread named sysmon in its source, wakes
// only rarely. At first the watchdog wakes every 20 µs, later only once in 10 ms. It begins again
// with 20 µs after all goroutines of the process have been blocked.
//
// If the watchdog runs on the CPU of the ends, it interrupts them each time that it wakes. For
// messages of 65,000 B on one CPU, a tenth to a third of the samples took twice as long because of
// this.
//
// To keep the watchdog calm, the scheduler must never count a worker's goroutine as blocked. So the
// worker uses raw system calls, which the scheduler does not notice: here to sleep, and elsewhere
// to read its jobs.
func calmWatchdog() { rawSleep(watchdogTime) }

// jobs is standard input.
var jobs = rawInput(0)

// A rawInput is a descriptor that is read by raw system calls (see calmWatchdog).
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

// quietTime is how long the Go runtime is left alone before the warm-up. Reading the statistics of
// the heap has stopped the world and woken threads of the runtime. After quietTime these threads
// sleep again.
const quietTime = 250 * time.Microsecond

// quiesce sleeps for quietTime in a raw system call. A sleep that the scheduler notices would wake
// more threads.
func quiesce() { rawSleep(quietTime) }

func rawSleep(d time.Duration) {
	t := unix.NsecToTimespec(d.Nanoseconds())
	// A signal may cut the sleep short, which does no harm.
	unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0)
}

// ownDescriptors gives the calling thread a descriptor table of its own. While threads share a
// table, the kernel takes a reference to the file in every call. This takes some 15 % of the time
// of a 64 B write. A C program with one thread does not have this cost. If the system refuses a
// table of its own, the figures include this cost.
func ownDescriptors() {
	// Opening a pipe starts Go's poller, which opens a descriptor of its own. If the poller started
	// later, its descriptor might be only in the table of this thread.
	if r, w, err := os.Pipe(); err == nil {
		r.Close()
		w.Close()
	}
	unix.Unshare(unix.CLONE_FILES)
}

// A runQueue tells how long the thread that opened it was ready to run but had no CPU. It is a
// descriptor of the thread's file /proc/thread-self/schedstat, or -1.
type runQueue int

func openRunQueue() runQueue {
	fd, err := unix.Open("/proc/thread-self/schedstat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1 // no descriptor: waited then returns -1
	}
	return runQueue(fd)
}

// waited returns how many nanoseconds the thread waited in a run queue, or -1 if the system does
// not tell. The clock is about to start, so waited allocates nothing, and makes a raw system call
// that Go's scheduler does not notice.
func (q runQueue) waited() int64 {
	var text [64]byte
	n, _, failed := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(q),
		uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)), 0, 0, 0)
	if failed != 0 {
		return -1
	}
	// The text has three numbers: nanoseconds on a CPU, nanoseconds in a run queue, and the number
	// of turns on a CPU.
	_, rest, _ := bytes.Cut(text[:n], []byte(" "))
	number, _, _ := bytes.Cut(rest, []byte(" "))
	ns, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil {
		return -1
	}
	return ns
}
