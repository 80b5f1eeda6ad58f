package drive

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipebench/pipebench/syspipe/proc"
)

// runningCPU reads the clock of another process, to the nanosecond; /proc counts in ticks of 10 ms.
func runningCPU(pid int) cpuTime {
	const ofProcess = 2 // CPUCLOCK_SCHED, all threads
	var ts unix.Timespec
	if unix.ClockGettime(int32(^uint32(pid)<<3|ofProcess), &ts) != nil {
		return cpuTime{}
	}
	return cpuTime{time.Duration(ts.Nano()), true}
}

// runnable reports whether a thread of the process has a CPU, or waits for one.
func runnable(pid int) bool {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false
	}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		if behind := bytes.LastIndexByte(stat, ')'); bytes.HasPrefix(stat[behind+1:], []byte(" R")) { // the name before may hold anything
			return true
		}
	}
	return false
}

func runningPeak(pid int) (int64, bool) { return proc.PeakMemory(pid) }

// peakOf is the peak of a process that has ended. The kernel counts that of the process it was forked from, us, as its own: below ours it
// says nothing.
func peakOf(state *os.ProcessState) (int64, bool) {
	r, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, false
	}
	ours, known := proc.PeakMemory(os.Getpid())
	peak := int64(r.Maxrss) << 10
	return peak, known && peak > ours
}

// ownCPU is what this process has used so far.
func ownCPU() cpuTime {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return cpuTime{}
	}
	return cpuTime{time.Duration(r.Utime.Nano() + r.Stime.Nano()), true}
}
