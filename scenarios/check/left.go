package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// Adopt makes this process the parent of all processes that later checks leave behind. This lasts
// until this process ends, so call Adopt only in a program that does nothing but check. Call
// [EndAdopted] after the check.
func Adopt() { proc.Adopt() }

const (
	adoptedPatience = time.Second     // how long a process may live on when all tests are over
	leftPatience    = 2 * time.Second // how long a process may live on when its program has ended
	mostNamed       = 3               // the largest number of processes that a result names
)

// EndAdopted ends the processes that a check left behind, and returns a finding about them. The
// second result is false if there is nothing to report. On a system that does not show us such
// processes, the verdict on a server or a client is "cannot-tell".
func EndAdopted(o Options, side catalogue.Side) (results.Finding, bool) {
	left, known := proc.EndAdopted(adoptedPatience)
	mayLeave := side == catalogue.Program // a command may start a daemon on purpose
	if known && len(left) == 0 || !known && mayLeave {
		return results.Finding{}, false
	}
	f := results.Finding{
		Kind: results.KindFinding, Run: o.Run, Time: time.Now().UTC(),
		ID:    results.AreaCheck + "/" + string(side) + "/left-behind",
		Title: "processes in a session and an environment of their own, when all was over",
		About: o.about(), Verdict: results.OK,
		Found: fmt.Sprintf("leaves %s behind: %s", results.FormatCount(len(left), "process"),
			strings.Join(left[:min(len(left), mostNamed)], ", ")),
	}
	switch {
	case !known:
		f.Verdict = results.CannotTell
		f.Found = "this system does not tell what becomes of a process whose parent has ended"
	case !mayLeave:
		f.Verdict = results.Fails
		f.Advice = adviceToEnd
	}
	return f, true
}

// adviceToEnd is for a program that leaves processes behind.
const adviceToEnd = "end what you start, or have it end with you"

// findLeft finds the processes that outlived the program, and ends them, so that the next run is
// not blamed for them. It notes the names of those that hold the program's output.
func (o *outcome) findLeft(mark string) {
	end := time.Now().Add(leftPatience)
	for ; time.Now().Before(end); time.Sleep(tick) {
		// unclear is set if a process that is just being started may still turn out to have the
		// mark in its environment.
		pids, unclear, _ := proc.Marked(mark)
		hasEnded := func(pid int) bool { return proc.Name(pid) == "" }
		pids = slices.DeleteFunc(pids, hasEnded)
		o.holding = holdersOf(pids, o.file.Name())
		if len(pids) == 0 && !unclear {
			return
		}
	}
	proc.EndMarked(mark, 0)
}
