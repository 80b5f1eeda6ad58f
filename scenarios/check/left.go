package check

import (
	"fmt"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// Adopt makes this process the parent of whatever the checks to come leave behind, even of
// processes that moved to a session and an environment of their own. Call it before a check, and
// [EndAdopted] after it. It changes this process for good, so it is only for programs that do
// nothing but check.
func Adopt() { proc.Adopt() }

// leftPatience is how long a process may stay when all situations are over.
const leftPatience = time.Second

// mostNamed is how many processes are named in a sentence.
const mostNamed = 3

// EndAdopted ends the processes that a check of a side left behind, and returns a finding about
// them. The verdict is "cannot-tell" if this system does not tell which they are. It reports false
// if there is nothing to say.
func EndAdopted(o Options, side catalogue.Side) (results.Finding, bool) {
	left, known := proc.EndAdopted(leftPatience)
	if known && len(left) == 0 || !known && side == catalogue.Program {
		return results.Finding{}, false
	}
	f := results.Finding{
		Kind: results.KindFinding, Run: o.Run, Time: time.Now().UTC(),
		ID:    results.AreaCheck + "/" + string(side) + "/left-behind",
		Title: "processes in a session and an environment of their own, when all was over",
		About: o.Command, Verdict: results.Fails,
		Found: fmt.Sprintf("leaves %s behind: %s", results.FormatCount(len(left), "process"),
			strings.Join(left[:min(len(left), mostNamed)], ", ")),
		Advice: "end what you start, or have it end with you",
	}
	if !known {
		f.Verdict, f.Advice = results.CannotTell, ""
		f.Found = "this system does not tell what becomes of a process whose parent has ended"
	}
	if side == catalogue.Program { // a command may start a daemon on purpose
		f.Verdict, f.Advice = results.OK, ""
	}
	return f, true
}
