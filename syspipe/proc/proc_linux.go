package proc

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipebench/pipebench/syspipe/internal/procfs"
)

// TellsOfOthers says whether the system tells by /proc of other processes.
const TellsOfOthers = true

// endWithUs has the kernel kill the process when the thread that starts it ends: see run, which
// keeps that thread.
func (p *Process) endWithUs() { p.Cmd.SysProcAttr.Pdeathsig = unix.SIGKILL }

// awaitExit waits until the process has ended and leaves it a zombie: its number, and that of its
// group, can be nobody else's then.
func (p *Process) awaitExit() bool {
	for {
		err := unix.Waitid(unix.P_PID, p.Cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}

// runningCPU reads the clock of another process, to the nanosecond; /proc counts in ticks of 10 ms.
func runningCPU(pid int) (time.Duration, bool) {
	const ofProcess = 2 // CPUCLOCK_SCHED, all threads
	var ts unix.Timespec
	if unix.ClockGettime(int32(^uint32(pid)<<3|ofProcess), &ts) != nil {
		return 0, false
	}
	return time.Duration(ts.Nano()), true
}

// PeakMemory returns the largest resident memory of a running process so far, in bytes; false where
// the system does not tell.
func PeakMemory(pid int) (int64, bool) { return procfs.StatusBytes(pid, "VmHWM") }

// peakOf returns the peak of a process that has ended. The kernel counts that of the process it was
// forked from, us, as its own: below ours it says nothing.
func peakOf(state *os.ProcessState) (int64, bool) {
	r, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, false
	}
	ours, known := PeakMemory(os.Getpid())
	peak := int64(r.Maxrss) << 10
	return peak, known && peak > ours
}
