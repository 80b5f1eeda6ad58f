package proc

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CPU returns the processor time that the process has used so far, or had when it ended; false
// where the system does not tell.
func (p *Process) CPU() (time.Duration, bool) {
	if !p.Ended(0) {
		return runningCPU(p.Cmd.Process.Pid)
	}
	state := p.Cmd.ProcessState
	return state.UserTime() + state.SystemTime(), true
}

// TreeCPU returns the processor time that the process and those that it started have used so far,
// as far as they are still its descendants; false where the system does not tell. It takes longer
// than [Process.CPU].
func (p *Process) TreeCPU() (sum time.Duration, known bool) {
	if p.Ended(0) {
		return p.CPU()
	}
	for _, pid := range Tree(p.Cmd.Process.Pid) {
		spent, ok := runningCPU(pid)
		sum, known = sum+spent, known || ok
		// Of those that have ended and were waited for, cutime and cstime count in ticks of 10 ms.
		if fields := afterName(procText(pid, "stat")); len(fields) > 14 {
			for _, ticks := range fields[13:15] {
				n, _ := strconv.Atoi(ticks)
				sum += time.Duration(n) * 10 * time.Millisecond
			}
		}
	}
	return sum, known
}

// Resident returns the memory that the process and those that it started have in use, in bytes; false
// where the system does not tell, or the process has ended.
func (p *Process) Resident() (sum int64, known bool) {
	if p.Ended(0) {
		return 0, false
	}
	for _, pid := range Tree(p.Cmd.Process.Pid) {
		n, ok := statusBytes(pid, "VmRSS:")
		sum, known = sum+n, known || ok
	}
	return sum, known
}

// PeakAddresses returns the largest address space of the process so far, in bytes, which memory
// that was taken and not touched belongs to; false where it is not known, or the process has ended.
func (p *Process) PeakAddresses() (int64, bool) {
	if p.Ended(0) {
		return 0, false
	}
	return statusBytes(p.Cmd.Process.Pid, "VmPeak:")
}

// PeakMemory returns the largest resident memory of the process so far, in bytes; false where it is
// not known. A process that has ended takes the knowledge with it on some systems, so what an
// earlier call saw counts.
func (p *Process) PeakMemory() (int64, bool) {
	n, known := int64(0), false
	if !p.Ended(0) {
		n, known = PeakMemory(p.Cmd.Process.Pid)
	} else {
		n, known = peakOf(p.Cmd.ProcessState)
	}
	if known && n > p.peak.Load() {
		p.peak.Store(n)
	}
	n = p.peak.Load()
	return n, n > 0
}

// Runnable reports whether a thread of the process, or of those that it started, has a CPU or waits for
// one, or for a disk; false where the system does not tell.
func (p *Process) Runnable() bool {
	if p.Ended(0) {
		return false
	}
	for _, pid := range Tree(p.Cmd.Process.Pid) {
		for _, stat := range procTexts(strconv.Itoa(pid), "task/*/stat") {
			if fields := afterName(stat); len(fields) > 0 && (fields[0] == "R" || fields[0] == "D") {
				return true
			}
		}
	}
	return false
}

// Tree lists a process and the living ones that it started, and those that they started; none but
// itself where the system does not tell.
func Tree(pid int) []int {
	list := []int{pid}
	for _, names := range procTexts(strconv.Itoa(pid), "task/*/children") {
		for _, name := range strings.Fields(names) {
			child, _ := strconv.Atoi(name)
			list = append(list, Tree(child)...)
		}
	}
	return list
}

// Marked lists the living processes that were started with a variable, "NAME=value", in their
// environment. Unclear is that of a process which is just being run: it has memory, and no environment
// and arguments yet. Known is false where the system does not tell of the environments of others.
func Marked(variable string) (list []int, unclear, known bool) {
	for path, environ := range procTexts("[0-9]*", "environ") { // empty of a zombie, too, and of a thread of the kernel
		known = true
		pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
		if slices.Contains(strings.Split(environ, "\x00"), variable) {
			list = append(list, pid)
		}
		unclear = unclear || environ == "" && procText(pid, "cmdline") == "" && procText(pid, "maps") != ""
	}
	return list, unclear, known
}

// EndMarked waits until every process has ended that was started with a variable, "NAME=value", in
// its environment, which it has from those that started it, whatever group or session it has moved
// to. Those that are still there after patience are killed, and returned as "1234 (name)". It is false where the
// system does not tell of the environments of others.
func EndMarked(variable string, patience time.Duration) (left []string, known bool) {
	for deadline, none := time.Now().Add(patience), 0; ; time.Sleep(markedPoll) {
		now, unclear, known := Marked(variable)
		if len(now) > 0 {
			none = 0
		} else if none++; !known || none >= 2 && !(unclear && none < 50) { // one that is being run may be missed, and gets a second
			return left, known
		}
		if none > 0 || time.Now().Before(deadline) {
			continue
		}
		for _, pid := range now { // again and again: one that forks is faster than a list of it
			if name := fmt.Sprintf("%d (%s)", pid, strings.TrimSpace(procText(pid, "comm"))); !slices.Contains(left, name) {
				left = append(left, name)
			}
			p, _ := os.FindProcess(pid) // which fails on Windows alone
			p.Kill()
		}
		if time.Since(deadline) > mostKilling {
			return left, true
		}
	}
}

const (
	markedPoll  = 20 * time.Millisecond
	mostKilling = 5 * time.Second // how long those that start others faster than they are killed are fought
)

// procText returns what Linux tells of a process in a file of /proc; nothing where the process has
// ended, the file may not be read, or the system is another one.
func procText(pid int, file string) string {
	if !TellsOfOthers {
		return ""
	}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	return string(text)
}

// procTexts are such texts with their paths, for patterns of a process and a file. A folder is not
// listed for a file whose name is known: that would be most of what a look at every process takes.
func procTexts(pid, file string) iter.Seq2[string, string] {
	return func(yield func(path, text string) bool) {
		if !TellsOfOthers {
			return
		}
		list, name := filepath.Split("/proc/" + pid + "/" + file)
		folders, _ := filepath.Glob(filepath.Clean(list))
		for _, folder := range folders {
			path := filepath.Join(folder, name)
			if text, err := os.ReadFile(path); err == nil && !yield(path, string(text)) {
				return
			}
		}
	}
}

// afterName returns the fields of a stat file behind the name, which may hold anything.
func afterName(stat string) []string {
	return strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
}

// statusBytes returns a size that a process's status states, in bytes.
func statusBytes(pid int, name string) (int64, bool) {
	_, rest, _ := strings.Cut(procText(pid, "status"), name)
	var kib int64
	_, err := fmt.Sscan(rest, &kib)
	return kib << 10, err == nil
}
