package proc

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/pipebench/pipebench/syspipe/internal/procfs"
)

// Marked lists the living processes that were started with a variable, "NAME=value", in their
// environment. Unclear tells that a process is just being run: it has memory, and no environment
// and arguments yet. Known is false where the system does not tell of the environments of others.
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

// isBeingRun tells a process that becomes another program from a zombie and from a thread of the
// kernel, which have no environment either.
func isBeingRun(pid int) bool {
	arguments, err := procfs.Text(pid, "cmdline")
	if err != nil || arguments != "" {
		return false
	}
	memory, err := procfs.Text(pid, "maps")
	return err == nil && memory != ""
}

// EndMarked waits until every process has ended that was started with a variable, "NAME=value", in
// its environment, which it has from those that started it, whatever group or session it has moved
// to. Those that are still there after patience are killed, and returned as "1234 (name)". It is
// false where the system does not tell of the environments of others.
func EndMarked(variable string, patience time.Duration) (left []string, known bool) {
	return endAll(patience, func() ([]int, bool, bool) { return Marked(variable) })
}

const (
	leftPoll    = 20 * time.Millisecond
	mostKilling = 5 * time.Second // how long those that fork faster than they are killed are fought
	mostUnclear = 50              // looks at processes that are just being run
)

// endAll waits until list finds no process any more. Those that it finds after patience are killed,
// again and again, since one that forks is faster than a list of it. One that is just being run, or
// forks, may be missed by a look and gets a second.
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

// kill ends a process and adds it to those that were left.
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
