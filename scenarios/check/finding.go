package check

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A finding is the record of a situation, with what is needed while the situation is tried.
type finding struct {
	// The record. Its Class selects the advice, together with the runtime of the program.
	results.Finding
	name string // of the situation
	// If mild is set, f.fails sets the verdict "slow", since no protocol forbids what the situation
	// looks for.
	mild     bool
	evidence any    // a struct, which becomes the record's Evidence; nil for none
	mark     string // NAME=value in the environment of each process that the situation starts
	temp     string // the folder for temporary files of these processes
	options  Options
}

// judge sets the verdict and says what was found. If it is called several times, the worst verdict
// counts, and among equal verdicts the first. So a situation may call f.fails for each fault, and
// f.ok at its end.
func (f *finding) judge(verdict results.Verdict, format string, args ...any) {
	if f.Found == "" || rank(verdict) > rank(f.Verdict) {
		f.Verdict = verdict
		f.Found = fmt.Sprintf(format, args...)
	}
}

// rank orders verdicts: the higher, the worse.
func rank(v results.Verdict) int {
	switch v {
	case results.CannotTell:
		return 1
	case results.Slow:
		return 2
	case results.Fails:
		return 3
	}
	return 0
}

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

// clear sets the verdict back to "ok", and forgets what was found and its class.
func (f *finding) clear() {
	f.Verdict = results.OK
	f.Found = ""
	f.Class = ""
}

// withdraw sets the verdict "cannot-tell", and adds the reason to what was found. It drops the
// advice and the command that reproduces the failure.
func (f *finding) withdraw(why string) {
	f.Verdict = results.CannotTell
	f.Found += "; " + why
	f.Advice = ""
	f.Reproduce = ""
}

// command prepares a process that runs argv in a session of its own, without our terminal, and with
// the mark in its environment. Its folders for temporary files and state hold no locks, sockets or
// PID files of an earlier situation. It shares our caches and settings, because programs need them.
func (f *finding) command(argv []string) *proc.Process {
	p := proc.Command(argv[0], argv[1:]...)
	p.Cmd.Env = f.options.Env
	p.Cmd.Env = append(p.Cmd.Environ(), f.mark) // Environ is our environment if Env is nil
	p.Cmd.Env = append(p.Cmd.Env, "TMPDIR="+f.temp, "TMP="+f.temp, "TEMP="+f.temp,
		"XDG_STATE_HOME="+filepath.Join(filepath.Dir(f.temp), "state"))
	// If the system tells about other processes, the mark shows which of them the program left
	// behind. They must not be killed with the program, because the situation judges them.
	p.Attached = proc.TellsOfOthers
	p.Session = true
	return p
}

// markName is a variable in the environment of every process that a situation starts. Its value
// tells which situation started the process, even if the process has left its process group.
const markName = "PIPEBENCH_CHECK"

// newMark returns the variable for one situation, as NAME=value. Marks differ only in digits: a
// program may print its environment, and comparisons of outputs ignore numbers.
func newMark() string { return fmt.Sprintf("%s=%016d", markName, rand.Int64N(1e16)) }

// mostQuoted is the largest number of bytes of a line that a sentence quotes.
const mostQuoted = 120

// lastLine returns the last line of a text, shortened to mostQuoted bytes.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if len(last) > mostQuoted {
		last = strings.ToValidUTF8(last[:mostQuoted], "") + "…"
	}
	return last
}

// size formats a number of bytes for a sentence: "65,536 B".
func size(n int64) string { return results.FormatGrouped(n) + " B" }

func duration(d time.Duration) string { return results.FormatDuration(float64(d)) }
