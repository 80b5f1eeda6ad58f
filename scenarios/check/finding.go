package check

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A finding holds the result of one test, and what is needed while the test runs.
type finding struct {
	// The record. Its Class selects the advice.
	results.Finding
	name string // of the situation
	// If mild is set, f.fails sets the verdict "slow" instead of "fails", since no protocol forbids
	// the fault.
	mild bool
	// If certain is set, what was seen is a fault however busy the machine is.
	certain bool
	mark    string // NAME=value in the environment of each process that the test starts
	temp    string // the folder for temporary files of these processes
	options Options
}

// judge sets the verdict and a text about what was found, unless a verdict that is as bad or worse
// was set before. So a test may call f.fails for each fault, and f.ok at the end.
func (f *finding) judge(verdict results.Verdict, format string, args ...any) {
	if f.Found == "" || slices.Index(worse, verdict) > slices.Index(worse, f.Verdict) {
		f.Verdict = verdict
		f.Found = fmt.Sprintf(format, args...)
	}
}

// worse lists the verdicts that are worse than any other, the worst last.
var worse = []results.Verdict{results.CannotTell, results.Slow, results.Fails}

func (f *finding) ok(format string, args ...any) { f.judge(results.OK, format, args...) }

func (f *finding) fails(format string, args ...any) {
	if f.mild {
		f.judge(results.Slow, format, args...)
		return
	}
	f.judge(results.Fails, format, args...)
}

func (f *finding) slow(format string, args ...any) { f.judge(results.Slow, format, args...) }

func (f *finding) cannotTell(format string, args ...any) {
	f.judge(results.CannotTell, format, args...)
}

// notApplicable sets the verdict "unsupported": the test is about something else than what is
// checked.
func (f *finding) notApplicable(about string) {
	f.judge(results.Unsupported, "it is about %s", about)
}

// clear sets the verdict back to "ok", and forgets what was found.
func (f *finding) clear() {
	f.Verdict = results.OK
	f.Found = ""
	f.Class = ""
	f.certain = false
}

// withdraw changes the verdict "fails" to "cannot-tell", and adds the reason to the text about what
// was found.
func (f *finding) withdraw(why string) {
	f.Verdict = results.CannotTell
	f.Found += "; " + why
	f.Advice = ""
	f.Reproduce = ""
}

// command prepares a process that runs argv without access to our terminal. The process gets the
// test's own folders for temporary files and state, but shares the user's caches and settings.
func (f *finding) command(argv []string) *proc.Process {
	p := proc.Command(argv[0], argv[1:]...)
	p.Cmd.Env = f.options.Env
	p.Cmd.Env = append(p.Cmd.Environ(), f.mark) // Environ is our environment if Env is nil
	p.Cmd.Env = append(p.Cmd.Env, "TMPDIR="+f.temp, "TMP="+f.temp, "TEMP="+f.temp,
		"XDG_STATE_HOME="+filepath.Join(filepath.Dir(f.temp), "state"))
	// Processes that the program leaves behind must not be killed when the program is: they are
	// judged.
	p.Attached = proc.TellsOfOthers
	p.Session = true
	return p
}

// newMark returns an environment variable, as NAME=value, by which we find all processes that one
// test started, even those in other process groups. The values differ only in digits, since numbers
// are ignored when outputs of programs are compared.
func newMark() string { return fmt.Sprintf("PIPEBENCH_CHECK=%016d", rand.Int64N(1e16)) }

// mostQuoted is how many characters the text of a result quotes from a program's line.
const mostQuoted = 120

// lastLine returns the last line of a text, cut after mostQuoted characters.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return view.Truncate(strings.TrimSpace(lines[len(lines)-1]), mostQuoted)
}

// size formats a number of bytes for a sentence: "65,536 B".
func size(n int64) string { return results.FormatGrouped(n) + " B" }

func duration(d time.Duration) string { return results.FormatDuration(float64(d)) }
