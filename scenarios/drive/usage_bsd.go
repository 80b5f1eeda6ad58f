//go:build darwin || freebsd

package drive

import (
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// runningCPU is not told of another process by any call of x/sys here.
func runningCPU(int) cpuTime { return cpuTime{} }

// runnable is not told either.
func runnable(int) bool { return false }

// runningPeak neither.
func runningPeak(int) (int64, bool) { return 0, false }

// peakOf is the peak of a process that has ended. macOS counts bytes, FreeBSD KiB.
func peakOf(state *os.ProcessState) (int64, bool) {
	r, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, false
	}
	if runtime.GOOS == "darwin" {
		return int64(r.Maxrss), true
	}
	return int64(r.Maxrss) << 10, true
}

// ownCPU is what this process has used so far.
func ownCPU() cpuTime {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return cpuTime{}
	}
	return cpuTime{time.Duration(r.Utime.Nano() + r.Stime.Nano()), true}
}
