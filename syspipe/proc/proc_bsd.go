//go:build unix && !linux

package proc

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// TellsOfOthers says whether /proc tells about other processes.
const TellsOfOthers = false

// endWithUs does nothing: these systems do not tell a process that its parent is gone.
func (p *Process) endWithUs() {}

// awaitExit returns false without waiting: x/sys has no call that waits and leaves a zombie. The
// group is killed right after its leader was waited for, before its number is used again.
func (p *Process) awaitExit() bool { return false }

// runningCPU returns false: x/sys has no call that tells about another process.
func runningCPU(int) (time.Duration, bool) { return 0, false }

// PeakMemory returns the largest resident memory of this process so far, in bytes; false for any
// other process, since the system does not tell.
func PeakMemory(pid int) (int64, bool) {
	var r syscall.Rusage
	known := pid == os.Getpid() && syscall.Getrusage(syscall.RUSAGE_SELF, &r) == nil
	return residentPeak(&r), known
}

// peakOf returns the peak of a process that has ended.
func peakOf(state *os.ProcessState) (int64, bool) {
	r, ok := state.SysUsage().(*syscall.Rusage)
	return residentPeak(r), ok
}

// residentPeak returns bytes; 0 for nil. macOS counts in bytes, the others in KiB.
func residentPeak(r *syscall.Rusage) int64 {
	switch {
	case r == nil:
		return 0
	case runtime.GOOS == "darwin":
		return int64(r.Maxrss)
	}
	return int64(r.Maxrss) << 10
}
