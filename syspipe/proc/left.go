package proc

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/pipebench/pipebench/syspipe/internal/procfs"
)

// Marked lists the living processes that were started with this variable ("NAME=value") in their
// environment. unclear is true if the environment of some process cannot be read yet. known is
// false if the system does not show environments at all.
func Marked(variable string) (list []int, unclear, known bool) {
	pids, err := procfs.PIDs()
	if err != nil {
		return nil, false, false
	}
	for _, pid := range pids {
		environ, err := procfs.List(pid, "environ")
		if err != nil {
			continue // it belongs to somebody else, or has ended
		}
		known = true
		if slices.Contains(environ, variable) {
			list = append(list, pid)
		}
		unclear = unclear || len(environ) == 0 && isInExec(pid)
	}
	return list, unclear, known
}

// isInExec reports whether a process without an environment is just starting another program by
// exec. Such a process has memory, but no arguments yet.
func isInExec(pid int) bool {
	arguments, err := procfs.Text(pid, "cmdline")
	if err != nil || arguments != "" {
		return false
	}
	memory, err := procfs.Text(pid, "maps")
	return err == nil && memory != ""
}

// EndMarked waits until all processes that [Marked] lists have ended. After the time patience, it
// kills the rest. While a process is running, EndMarked waits up to four times as long. It returns
// each killed process as "1234 (name)". known is false if the system does not show environments.
func EndMarked(variable string, patience time.Duration) (left []string, known bool) {
	return endAll(patience, func() ([]int, bool, bool) { return Marked(variable) })
}

const (
	listInterval = 20 * time.Millisecond
	maxKilling   = 5 * time.Second // endAll gives up after this: some fork faster than it kills
	enoughEmpty  = 2               // empty lists in a row that end endAll: one may miss a fork
	maxUnclear   = 50              // the same, if all of these lists are unclear
)

// While a process is running, endAll waits moreTime times as long as usual, because the process may
// be about to end.
const moreTime = 4

// endAll calls the function list until no process is left. After the time patience, endAll kills
// the listed processes, again and again, because they may fork.
func endAll(
	patience time.Duration, list func() (pids []int, unclear, known bool),
) (left []string, known bool) {
	deadline := time.Now().Add(patience)
	lastDeadline := time.Now().Add(moreTime * patience)
	empty := 0 // empty lists in a row
	for {
		pids, unclear, known := list()
		if !known {
			return left, false
		}
		if len(pids) > 0 {
			empty = 0
		} else {
			empty++
		}
		if empty >= maxUnclear || empty >= enoughEmpty && !unclear {
			return left, true
		}
		now := time.Now()
		isOver := !now.Before(deadline) && !hasThread(pids, runnableStates)
		if isOver || !now.Before(lastDeadline) {
			for _, pid := range pids {
				left = kill(pid, left)
			}
		}
		if now.Sub(lastDeadline) > maxKilling {
			return left, true
		}
		time.Sleep(listInterval)
	}
}

// kill ends a process, and adds its number and name to the list left.
func kill(pid int, left []string) []string {
	if stat, err := procfs.ReadStat(pid); err == nil {
		name := fmt.Sprintf("%d (%s)", pid, stat.Command)
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
