//go:build unix && !linux

package proc

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// endWithUs has nothing to do: no such system tells a process that its parent is gone.
func (p *Process) endWithUs() {}

// runningCPU knows nothing: x/sys has no call that tells of another process.
func runningCPU(int) (time.Duration, bool) { return 0, false }

// peakOf returns the peak of a process that has ended. macOS counts bytes, the others KiB.
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
