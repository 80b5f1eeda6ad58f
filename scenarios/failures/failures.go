// Package failures reproduces the ways in which programs fail on stdin and stdout. It is for
// pipebench's commands and may change.
//
// A failure is shown in one of three ways. A small program of ours is wrong in one way, and check
// says what happens (programs.go). A stream of bytes has something odd in it, and readers take it
// apart in memory (readers.go). Or two ends do what they do, and it is seen how far they get
// (exchange.go, endless.go). All of it becomes a [results.Finding] "failure/NAME/PART".
package failures

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
)

// Classes say how something fails: the Class of a finding. The worst are those that no program
// notices: no error, exit code 0.
const (
	Sound      = "sound"       // everything arrived
	Noticed    = "noticed"     // something was lost, and the program that lost it was told
	Refused    = "refused"     // nothing was taken, and the reader said so
	Grows      = "grows"       // memory grows out of proportion with what is allowed
	Stuck      = "stuck"       // nothing moves any more, and no error says so
	Orphaned   = "orphaned"    // a process outlived the one it was for
	Corrupted  = "corrupted"   // what arrived is not what was sent, and passes for it
	SilentLoss = "silent-loss" // something was lost, and nobody was told
)

// A Failure is one way in which stdio fails.
type Failure struct {
	Name   string
	Title  string // what goes wrong, in a line for a list
	Advice string // what to do about it
	show   func(context.Context, *recorder) error
}

// All lists the failures.
func All() []Failure {
	return []Failure{
		{"reader-gone", "the reader leaves while a program writes",
			"take EPIPE for the end of the conversation, and await an answer for what must not " +
				"be lost", showPrograms},
		{"exit-before-drain", "a program exits while its output waits in a queue",
			"exit by returning from the event loop, or when the stream says that it has drained",
			showPrograms},
		{"nonblocking-stdout",
			"a child inherits a non-blocking standard output and does not know it",
			"look at the count of every write, and go on at the byte where it stopped when there " +
				"is room", showPrograms},
		{"orphan", "a server whose client was killed",
			"read standard input all the time, and exit at its end", showPrograms},
		{"stderr-undrained", "a server logs to a standard error that nobody reads",
			"whoever starts a server reads its standard error to the end, or gives it a file",
			showPrograms},
		{"both-write-first", "both sides write before they read",
			"read on a thread or task of its own, always", showExchange},
		{"interleave", "several writers share one pipe",
			"let one process, or one lock, own the pipe", showStreams},
		{"split-utf8", "a chunk ends inside a character",
			"split and join bytes; decode the message", showStreams},
		{"dirty-lines", "something that is no message gets between the messages",
			"keep standard output for messages alone; let a reader report a bad line and go on " +
				"with the next one", showStreams},
		{"framing-mismatch", "the two sides do not agree on a framing",
			"put a deadline on the first answer, and say in its error which framing was spoken",
			showStreams},
		{"no-newline", "a line that never ends",
			"check the length of what is buffered after every read, before the buffer grows",
			showEndlessLines},
	}
}

// moved are names that were failures once, and the commands that show the same now.
var moved = map[string]string{
	"full-pipe":    "pipebench run --preset waiting",
	"head-of-line": "pipebench tune",
	"growth":       "pipebench run --preset readers",
}

// Find returns the failure of that name; its error lists the known names.
func Find(name string) (Failure, error) {
	var known []string
	for _, f := range All() {
		if f.Name == name {
			return f, nil
		}
		known = append(known, f.Name)
	}
	if instead := moved[name]; instead != "" {
		return Failure{}, fmt.Errorf("failure %q is measured by: %s", name, instead)
	}
	return Failure{}, fmt.Errorf("failure %q is not known; known are %s",
		name, strings.Join(known, ", "))
}

// Options are what is told to whoever shows a failure.
type Options struct {
	Run     string            // names the run in its findings
	Program []string          // starts this program; nil: the one that runs
	Timeout time.Duration     // of one start of a program that is checked; 0 is startTime
	Observe func(step string) // if set, is told of each step as it begins
}

// Show reproduces the failure, and gives its findings to keep as they come. When it returns no
// process, pipe or file of it is left.
func (f Failure) Show(ctx context.Context, o Options, keep func(results.Finding) error) error {
	if o.Program == nil {
		path, err := os.Executable()
		if err != nil {
			return err
		}
		o.Program = []string{path}
	}
	if err := f.show(ctx, &recorder{Options: o, failure: f, keep: keep}); err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return nil
}

// A recorder keeps what a failure shows.
type recorder struct {
	Options
	failure Failure
	keep    func(results.Finding) error
}

// step says what is about to be done.
func (r *recorder) step(part string) {
	if r.Observe != nil {
		r.Observe(part)
	}
}

// record completes a finding about a part of the failure, and keeps it. A finding without a verdict
// has that of its class.
func (r *recorder) record(part string, f results.Finding) error {
	f.Kind = results.KindFinding
	f.Run = r.Run
	f.Time = time.Now().UTC()
	f.ID = results.AreaFailure + "/" + r.failure.Name + "/" + part
	f.Title = r.failure.Title
	if f.Verdict == "" {
		f.Verdict = verdictOf(f.Class)
	}
	if f.Verdict == results.Fails || f.Verdict == results.Depends {
		f.Advice = r.failure.Advice
	}
	return r.keep(f)
}

// verdictOf is the verdict on what a class says of. What the program was told it can act on.
func verdictOf(class string) results.Verdict {
	switch class {
	case Sound:
		return results.OK
	case Noticed, Refused, Grows:
		return results.Depends
	}
	return results.Fails
}
