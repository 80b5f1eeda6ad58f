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

// minimiseTimerSlack makes this thread's sleeps end on time. With the kernel's usual timer slack
// they end 50 µs late.
func minimiseTimerSlack() { unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// sleepUntil sleeps until a moment of the clock that all processes share. A signal may cut the
// sleep short.
func (c *clock) sleepUntil(moment int64) {
	t := unix.NsecToTimespec(moment)
	unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME,
		uintptr(unsafe.Pointer(&t)), 0, 0, 0)
}

// watchdogTime is how long Go's watchdog thread goes on waking often: for 50 sleeps of 20 µs and
// some longer ones. The kernel makes each of these sleeps 50 µs longer.
const watchdogTime = 6 * time.Millisecond

// calmWatchdog waits until Go's watchdog thread, sysmon, no longer wakes every 20 µs. While the
// thread did so on the CPU of a pipe's ends, up to a third of the samples took twice as long.
//
// After all goroutines have blocked, the watchdog wakes often again. So a worker process waits in
// raw system calls, which the scheduler does not notice.
func calmWatchdog() { rawSleep(watchdogTime) }

// jobs is standard input.
var jobs = rawInput(0)

// A rawInput is a descriptor that is read by raw system calls, which Go's scheduler does not
// notice.
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

// quietTime is how long threads of the Go runtime take to fall asleep again after they were woken
// by reading the statistics of the heap.
const quietTime = 250 * time.Microsecond

// quiesce sleeps for quietTime in a raw system call. A sleep that the scheduler notices would wake
// more threads.
func quiesce() { rawSleep(quietTime) }

func rawSleep(d time.Duration) {
	t := unix.NsecToTimespec(d.Nanoseconds())
	// A signal may cut the sleep short, which does no harm.
	unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0)
}

// ownDescriptors gives the calling thread a descriptor table of its own, if the system allows it. A
// shared table costs some 15 % of the time of a 64 B write.
func ownDescriptors() {
	// Start Go's poller now, by opening a pipe. If it started later, its descriptor might be only
	// in this thread's table.
	if r, w, err := os.Pipe(); err == nil {
		r.Close()
		w.Close()
	}
	unix.Unshare(unix.CLONE_FILES)
}

// A runQueue tells how long its thread was ready to run but had no CPU. It is a descriptor of
// /proc/thread-self/schedstat, or -1 if that file cannot be opened.
type runQueue int

func openRunQueue() runQueue {
	fd, err := unix.Open("/proc/thread-self/schedstat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1 // no descriptor: waited then returns -1
	}
	return runQueue(fd)
}

// waited returns how many nanoseconds the thread waited for a CPU, or -1 if the system does not
// tell. It runs just before the clock starts, so it must not allocate.
func (q runQueue) waited() int64 {
	var text [64]byte
	n, _, failed := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(q),
		uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)), 0, 0, 0)
	if failed != 0 {
		return -1
	}
	// The text: nanoseconds on a CPU, nanoseconds of waiting for a CPU, how often it got a CPU.
	_, rest, _ := bytes.Cut(text[:n], []byte(" "))
	number, _, _ := bytes.Cut(rest, []byte(" "))
	ns, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil {
		return -1
	}
	return ns
}
