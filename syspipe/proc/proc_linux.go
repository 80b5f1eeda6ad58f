package proc

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipebench/pipebench/syspipe/internal/procfs"
)

// TellsOfOthers says whether /proc tells about other processes.
const TellsOfOthers = true

// endWithUs makes the kernel kill the process when the thread that started it ends. So that thread
// has to wait until the process has ended.
func (p *Process) endWithUs() { p.Cmd.SysProcAttr.Pdeathsig = unix.SIGKILL }

// awaitExit waits until the process has ended and leaves it a zombie, so that nobody else gets its
// PID. It returns false if that failed.
func (p *Process) awaitExit() bool {
	for {
		err := unix.Waitid(unix.P_PID, p.Cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}

// runningCPU returns the CPU time of a process so far. It reads the clock that the kernel has for
// the process, because /proc counts in ticks of 10 ms.
func runningCPU(pid int) (time.Duration, bool) {
	// The number of the clock is made as in clock_getcpuclockid(3).
	const allThreads = 2 // CPUCLOCK_SCHED
	clock := int32(^uint32(pid)<<3 | allThreads)
	var ts unix.Timespec
	if unix.ClockGettime(clock, &ts) != nil {
		return 0, false
	}
	return time.Duration(ts.Nano()), true
}

// PeakMemory returns the largest resident memory of a running process so far, in bytes. The second
// result is false if the system does not tell.
func PeakMemory(pid int) (int64, bool) { return procfs.StatusBytes(pid, "VmHWM") }

// peakOf returns the largest resident memory of a process that has ended, in bytes. Every child
// begins with our own peak as its peak. So the second result is false if the child did not exceed
// our peak.
func peakOf(state *os.ProcessState) (int64, bool) {
	r, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, false
	}
	ours, known := PeakMemory(os.Getpid())
	peak := int64(r.Maxrss) << 10
	return peak, known && peak > ours
}
