package proc

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/syspipe/internal/procfs"
)

func (p *Process) running() (pid int, ok bool) {
	if p.Done() == nil || p.Ended(0) {
		return 0, false
	}
	return p.Cmd.Process.Pid, true
}

// tree lists the running process and its descendants. It is empty if the process does not run.
func (p *Process) tree() []int {
	root, ok := p.running()
	if !ok {
		return nil
	}
	return procfs.Tree(root)
}

// CPU returns the processor time that the process has used so far, or in all if it has ended.
func (p *Process) CPU() (time.Duration, bool) {
	if pid, ok := p.running(); ok {
		return runningCPU(pid)
	}
	if !p.Ended(0) {
		return 0, false
	}
	state := p.Cmd.ProcessState
	return state.UserTime() + state.SystemTime(), true
}

// TreeCPU returns the processor time that the process and its descendants have used so far. It
// leaves out descendants that have got another parent, and takes longer than [Process.CPU].
func (p *Process) TreeCPU() (sum time.Duration, known bool) {
	tree := p.tree()
	if len(tree) == 0 {
		return p.CPU()
	}
	for _, pid := range tree {
		if spent, ok := runningCPU(pid); ok {
			sum += spent
			known = true
		}
		if stat, err := procfs.ReadStat(pid); err == nil { // add the children that have ended
			sum += time.Duration(stat.ChildTicks) * 10 * time.Millisecond
		}
	}
	return sum, known
}

// Resident returns the memory that the running process and its descendants have in use, in bytes.
func (p *Process) Resident() (sum int64, known bool) {
	for _, pid := range p.tree() {
		if n, ok := procfs.StatusBytes(pid, "VmRSS"); ok {
			sum += n
			known = true
		}
	}
	return sum, known
}

// PeakAddresses returns the largest address space of the running process so far, in bytes. It
// includes memory that was never touched.
func (p *Process) PeakAddresses() (int64, bool) {
	pid, ok := p.running()
	if !ok {
		return 0, false
	}
	return procfs.StatusBytes(pid, "VmPeak")
}

// PeakMemory returns the largest resident memory of the process so far, in bytes. Call it also
// before the process ends, because some systems tell nothing afterwards.
func (p *Process) PeakMemory() (int64, bool) {
	var n int64
	var known bool
	if pid, ok := p.running(); ok {
		n, known = PeakMemory(pid)
	} else if p.Ended(0) {
		n, known = peakOf(p.Cmd.ProcessState)
	}
	if known && n > p.peak.Load() {
		p.peak.Store(n)
	}
	n = p.peak.Load()
	return n, n > 0
}

// Runnable reports whether a thread of the process or of a descendant runs, or waits for a CPU or a
// disk. It is false if the system does not tell.
func (p *Process) Runnable() bool { return hasThread(p.tree(), runnableStates) }

// Computes reports whether a thread of the process or of a descendant runs, or waits for a CPU. It
// is false if the system does not tell.
func (p *Process) Computes() bool { return hasThread(p.tree(), "R") }

// runnableStates are the states of threads that run, or wait for a CPU or a disk.
const runnableStates = "RD"

// hasThread reports whether a thread of one of the processes is in one of the states.
func hasThread(pids []int, states string) bool {
	for _, pid := range pids {
		threads, _ := procfs.Threads(pid)
		for _, tid := range threads {
			stat, err := procfs.ReadThread(pid, tid)
			if err == nil && strings.IndexByte(states, stat.State) >= 0 {
				return true
			}
		}
	}
	return false
}

// Name returns the name of a process, or "" if the process is gone or the system does not tell.
func Name(pid int) string {
	stat, err := procfs.ReadStat(pid)
	if err != nil {
		return ""
	}
	return stat.Command
}

// OpenFiles returns what each descriptor of a process refers to, such as "pipe:[4711]", as far as
// the system tells.
func OpenFiles(pid int) map[int]string {
	fds, _ := procfs.Descriptors(pid)
	files := map[int]string{}
	for _, fd := range fds {
		file, err := os.Readlink(procfs.Path(pid, "fd", strconv.Itoa(fd)))
		if err == nil { // if not, the descriptor was closed meanwhile
			files[fd] = file
		}
	}
	return files
}

// NonBlocking reports whether a descriptor of a process has O_NONBLOCK. It returns false if the
// system does not tell.
func NonBlocking(pid, fd int) bool {
	flags, _ := procfs.Flags(pid, fd)
	return flags&syscall.O_NONBLOCK != 0
}

// Tree lists a process and its living descendants, or only the process if the system does not tell.
func Tree(pid int) []int { return procfs.Tree(pid) }
