package proc

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/pipebench/pipebench/syspipe/internal/procfs"
)

// Marked lists the living processes that were started with a variable, "NAME=value", in their
// environment. Unclear says that some process is just becoming another program: it has memory, but
// no environment and arguments yet. Known is false if the system does not show the environments of
// other processes.
func Marked(variable string) (list []int, unclear, known bool) {
	pids, err := procfs.PIDs()
	if err != nil {
		return nil, false, false
	}
	for _, pid := range pids {
		environ, err := procfs.Environ(pid)
		if err != nil {
			continue // it belongs to somebody else, or has ended
		}
		known = true
		if slices.Contains(environ, variable) {
			list = append(list, pid)
		}
		unclear = unclear || len(environ) == 0 && isBeingRun(pid)
	}
	return list, unclear, known
}

// isBeingRun reports whether a process without an environment is just becoming another program. A
// zombie or a thread of the kernel has no environment either, but no memory.
func isBeingRun(pid int) bool {
	arguments, err := procfs.Text(pid, "cmdline")
	if err != nil || arguments != "" {
		return false
	}
	memory, err := procfs.Text(pid, "maps")
	return err == nil && memory != ""
}

// EndMarked waits until all processes that were started with a variable, "NAME=value", in their
// environment have ended. Children inherit the variable, whatever group or session they move to.
// Processes that are still there after patience are killed, and returned as "1234 (name)". Known is
// false if the system does not show the environments of other processes.
func EndMarked(variable string, patience time.Duration) (left []string, known bool) {
	return endAll(patience, func() ([]int, bool, bool) { return Marked(variable) })
}

const (
	leftPoll    = 20 * time.Millisecond
	mostKilling = 5 * time.Second // then endAll gives up: some fork faster than they are killed
	mostUnclear = 50              // looks while a process is just becoming another program
)

// endAll waits until list finds no process any more. Processes that it finds after patience are
// killed, again and again, since a process that forks may be faster than the list. Two looks in a
// row must find nobody, since one look may miss a process that forks or is just becoming another
// program.
func endAll(
	patience time.Duration, list func() (pids []int, unclear, known bool),
) (left []string, known bool) {
	deadline := time.Now().Add(patience)
	none := 0 // looks that found nobody
	for {
		pids, unclear, known := list()
		if !known {
			return left, false
		}
		if len(pids) == 0 {
			none++
			if none >= 2 && (!unclear || none >= mostUnclear) {
				return left, true
			}
		} else {
			none = 0
		}
		if len(pids) > 0 && !time.Now().Before(deadline) {
			for _, pid := range pids {
				left = kill(pid, left)
			}
		}
		if time.Since(deadline) > mostKilling {
			return left, true
		}
		time.Sleep(leftPoll)
	}
}

// kill ends a process and adds its number and name to left.
func kill(pid int, left []string) []string {
	if s, err := procfs.ReadStat(pid); err == nil {
		name := fmt.Sprintf("%d (%s)", pid, s.Command)
		if !slices.Contains(left, name) {
			left = append(left, name)
		}
	}
	p, err := os.FindProcess(pid)
	if err == nil {
		p.Kill()
	}
	return left
}
