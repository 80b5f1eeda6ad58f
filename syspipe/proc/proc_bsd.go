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

// awaitExit returns false without waiting: x/sys has no call that waits for a process and leaves it
// a zombie.
func (p *Process) awaitExit() bool { return false }

// runningCPU returns false: x/sys has no call that tells the CPU time of another process.
func runningCPU(int) (time.Duration, bool) { return 0, false }

// PeakMemory returns the largest resident memory of this process so far, in bytes. For the PID of
// any other process it returns false.
func PeakMemory(pid int) (int64, bool) {
	var r syscall.Rusage
	known := pid == os.Getpid() && syscall.Getrusage(syscall.RUSAGE_SELF, &r) == nil
	return residentPeak(&r), known
}

// peakOf returns the largest resident memory of a process that has ended, in bytes.
func peakOf(state *os.ProcessState) (int64, bool) {
	r, ok := state.SysUsage().(*syscall.Rusage)
	return residentPeak(r), ok
}

// residentPeak returns the largest resident memory in bytes. macOS counts it in bytes, the other
// systems in KiB.
func residentPeak(r *syscall.Rusage) int64 {
	switch {
	case r == nil:
		return 0
	case runtime.GOOS == "darwin":
		return int64(r.Maxrss)
	}
	return int64(r.Maxrss) << 10
}
