package proc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// endWithUs has the kernel kill the process when the thread that starts it ends: see run, which
// keeps that thread.
func (p *Process) endWithUs() {
	if !p.survives {
		p.Cmd.SysProcAttr.Pdeathsig = unix.SIGKILL
	}
}

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
		behind := bytes.LastIndexByte(stat, ')') // the name before it may hold anything
		if bytes.HasPrefix(stat[behind+1:], []byte(" R")) {
			return true
		}
	}
	return false
}

// treeCPU sums the clocks of a process and of the living ones that it started, and what those used
// that have ended and were waited for, which /proc counts in ticks of 10 ms.
func treeCPU(pid int) (time.Duration, bool) {
	sum, known := runningCPU(pid)
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]); len(fields) > 14 {
		for _, ticks := range fields[13:15] { // cutime and cstime
			n, _ := strconv.Atoi(string(ticks))
			sum += time.Duration(n) * 10 * time.Millisecond
		}
	}
	for _, child := range children(pid) {
		spent, _ := treeCPU(child)
		sum += spent
	}
	return sum, known
}

// children lists the living processes that a process started.
func children(pid int) (list []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, path := range lists {
		names, _ := os.ReadFile(path)
		for _, name := range strings.Fields(string(names)) {
			child, _ := strconv.Atoi(name)
			list = append(list, child)
		}
	}
	return list
}

// Tree lists a process and the living ones that it started, and those that they started; none but
// itself where the system does not tell.
func Tree(pid int) []int {
	list := []int{pid}
	for _, child := range children(pid) {
		list = append(list, Tree(child)...)
	}
	return list
}

// Marked lists the living processes that were started with a variable, "NAME=value", in their
// environment.
func Marked(variable string) (list []int, known bool) {
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		environ, _ := os.ReadFile(path) // nothing of a zombie, nor of those that are not ours
		if slices.Contains(strings.Split(string(environ), "\x00"), variable) {
			pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
			list = append(list, pid)
		}
	}
	return list, err == nil && len(paths) > 0
}

// nameOf returns what the kernel calls a process.
func nameOf(pid int) string {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSpace(string(name))
}

// resident returns the resident memory of a process, in bytes.
func resident(pid int) (int64, bool) { return statusBytes(pid, "VmRSS:") }

// PeakMemory returns the largest resident memory of a running process so far, in bytes; false where
// the system does not tell.
func PeakMemory(pid int) (int64, bool) { return statusBytes(pid, "VmHWM:") }

// peakAddresses returns the largest address space of a running process so far, in bytes.
func peakAddresses(pid int) (int64, bool) { return statusBytes(pid, "VmPeak:") }

func statusBytes(pid int, name string) (int64, bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	_, rest, _ := bytes.Cut(status, []byte(name))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0, false
	}
	kib, err := strconv.ParseInt(string(fields[0]), 10, 64)
	return kib << 10, err == nil
}

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
