package proc

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/pipebench/pipebench/syspipe/internal/procfs"
)

// Marked lists the living processes that were started with a variable, "NAME=value", in their
// environment. Unclear is true if some process is just becoming another program, so that its
// environment cannot be read yet. Known is false if the system shows no environments of others.
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
		unclear = unclear || len(environ) == 0 && isBecoming(pid)
	}
	return list, unclear, known
}

// isBecoming reports whether a process without an environment is just becoming another program: it
// has memory, but no arguments yet. A zombie or a thread of the kernel has neither.
func isBecoming(pid int) bool {
	arguments, err := procfs.Text(pid, "cmdline")
	if err != nil || arguments != "" {
		return false
	}
	memory, err := procfs.Text(pid, "maps")
	return err == nil && memory != ""
}

// EndMarked waits until all processes that were started with a variable, "NAME=value", in their
// environment have ended. Children inherit the variable, whatever group or session they move to.
// Processes that are still there after patience are killed, and returned as "1234 (name)". As long
// as one of them runs, EndMarked waits for up to four times patience. Known is false if the system
// does not show the environments of other processes.
func EndMarked(variable string, patience time.Duration) (left []string, known bool) {
	return endAll(patience, func() ([]int, bool, bool) { return Marked(variable) })
}

const (
	listInterval = 20 * time.Millisecond
	maxKilling   = 5 * time.Second // then endAll gives up: some fork faster than they are killed
	enoughEmpty  = 2               // lists in a row: a single one may miss a process that forks
	maxUnclear   = 50              // the same, if each list is unclear
)

// moreTime is how many times as long as planned endAll waits while one of the processes runs: on a
// busy machine it may be about to end.
const moreTime = 4

// endAll calls list until it finds no process any more. After patience, or moreTime times patience
// if one of them runs at each look, endAll kills the processes that list finds, again and again,
// because they may fork between list and kill.
func endAll(
	patience time.Duration, list func() (pids []int, unclear, known bool),
) (left []string, known bool) {
	deadline := time.Now().Add(patience)
	lastDeadline := time.Now().Add(moreTime * patience)
	empty := 0 // lists in a row
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
		isOver := !now.Before(deadline) && !slices.ContainsFunc(pids, isRunnable)
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

// kill ends a process and adds its number and name to left.
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
