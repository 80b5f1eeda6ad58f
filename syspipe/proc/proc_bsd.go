//go:build unix && !linux

package proc

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// TellsOfOthers says whether the system tells by /proc of other processes.
const TellsOfOthers = false

// endWithUs has nothing to do: no such system tells a process that its parent is gone.
func (p *Process) endWithUs() {}

// awaitExit does not wait: x/sys has no call that leaves a zombie. The group is ended right after
// its leader was waited for, before its number can come round again.
func (p *Process) awaitExit() bool { return false }

// runningCPU knows nothing: x/sys has no call that tells of another process.
func runningCPU(int) (time.Duration, bool) { return 0, false }

// PeakMemory returns the largest resident memory of this process so far, in bytes; false for any
// other, of which the system does not tell.
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

// residentPeak returns bytes; 0 for nil. macOS counts them, the others KiB.
func residentPeak(r *syscall.Rusage) int64 {
	switch {
	case r == nil:
		return 0
	case runtime.GOOS == "darwin":
		return int64(r.Maxrss)
	}
	return int64(r.Maxrss) << 10
}
