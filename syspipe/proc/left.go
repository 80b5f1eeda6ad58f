package proc

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/pipebench/pipebench/syspipe/internal/procfs"
)

// Marked lists the living processes whose environment had this variable, of the form "NAME=value",
// at their start. unclear is true if a process is just executing another program, so that its
// environment cannot be read yet. known is false if the system does not show the environments of
// processes.
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
		unclear = unclear || len(environ) == 0 && isInExec(pid)
	}
	return list, unclear, known
}

// isInExec reports whether a process without an environment is just executing another program.
// Such a process has memory, but no arguments yet. A zombie and a thread of the kernel have no
// memory.
func isInExec(pid int) bool {
	arguments, err := procfs.Text(pid, "cmdline")
	if err != nil || arguments != "" {
		return false
	}
	memory, err := procfs.Text(pid, "maps")
	return err == nil && memory != ""
}

// EndMarked waits until all processes whose environment had this variable, of the form
// "NAME=value", at their start have ended. Children inherit the variable, whatever group or session
// they move to. known is false if the system does not show the environments of other processes.
//
// After the time "patience", EndMarked kills the processes that are still there and returns the PID
// and the name of each, as "1234 (name)". While one of them is running, rather than waiting for
// something, it gives them more time: four times patience in all.
func EndMarked(variable string, patience time.Duration) (left []string, known bool) {
	return endAll(patience, func() ([]int, bool, bool) { return Marked(variable) })
}

const (
	listInterval = 20 * time.Millisecond
	maxKilling   = 5 * time.Second // then endAll gives up: some fork faster than it kills
	enoughEmpty  = 2               // empty lists in a row: one may miss a process that forks
	maxUnclear   = 50              // empty lists in a row that are all unclear
)

// moreTime is a factor. On a busy machine, a process that is running may be about to end. Then
// endAll waits for moreTime times patience before it kills.
const moreTime = 4

// endAll calls list until list finds no process any more. After the time "patience" (see also
// moreTime) it kills the processes that list finds. It lists and kills repeatedly, because a
// process may fork between the listing and the killing.
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
