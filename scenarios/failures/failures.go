// Package failures reproduces the ways in which programs fail on stdin and stdout. It is for
// pipebench's commands and may change.
//
// A failure is shown by a small program with one fault (programs.go), by a stream with odd bytes
// that readers split into messages (readers.go), or by an experiment in a process of its own
// (memory.go). Each result is a [results.Finding] with an ID "failure/NAME/PART".
package failures

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/scenarios/experiment"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// The class of a finding says how something fails.
const (
	Sound      = "sound"       // everything arrived
	Noticed    = "noticed"     // something was lost, and the program that lost it got an error
	Refused    = "refused"     // nothing was taken, and the reader said so
	Grows      = "grows"       // memory grows out of proportion with what is allowed
	Stuck      = "stuck"       // nothing moves any more, and no error says so
	Orphaned   = "orphaned"    // a process outlived the process that it served
	Corrupted  = "corrupted"   // what arrived is not what was sent, but looks valid
	SilentLoss = "silent-loss" // something was lost, without an error anywhere
)

// A Failure is one way in which stdio fails.
type Failure struct {
	Name   string
	Title  string // what goes wrong, in a line for a list
	Advice string // what to do about it

	program     *program
	readings    func() ([]reading, error)
	experiments []experiment.Experiment // each ID names the part of the failure that is shown
}

// All lists the failures.
func All() []Failure {
	return []Failure{
		{Name: "reader-gone", Title: "the reader leaves while a program writes",
			Advice: "take EPIPE for the end of the conversation, and await an answer for what " +
				"must not be lost",
			program: &program{part: "ignores-it", side: catalogue.Program,
				words: "specimen print-on", situation: "reader-leaves-midway", class: Stuck}},
		{Name: "exit-before-drain", Title: "a program exits while its output waits in a queue",
			Advice: "exit by returning from the event loop, or when the stream says that it has " +
				"drained",
			program: &program{part: "exits", side: catalogue.Program,
				words: "specimen queue-and-exit", situation: "late-reader", class: SilentLoss}},
		{Name: "nonblocking-stdout",
			Title: "a child inherits a non-blocking standard output and does not know it",
			Advice: "look at the count of every write, and go on at the byte where it stopped " +
				"when there is room",
			program: &program{part: "ignores-short-writes", side: catalogue.Program,
				words: "specimen write-once", situation: "nonblocking-pipe", class: SilentLoss}},
		{Name: "orphan", Title: "a server whose client was killed",
			Advice: "read standard input all the time, and exit at its end",
			program: &program{part: "deaf", side: catalogue.Server,
				words: "specimen ignore-end", situation: "client-killed", class: Orphaned}},
		{Name: "stderr-undrained", Title: "a server logs to a standard error that nobody reads",
			Advice: "whoever starts a server reads its standard error to the end, or gives it " +
				"a file",
			program: &program{part: "logs-much", side: catalogue.Server,
				words:     "serve --fault stderr-flood=64KiB",
				situation: "unread-stderr", class: Stuck}},
		{Name: "interleave", Title: "several writers share one pipe",
			Advice:   "let one process, or one lock, own the pipe",
			readings: mixedWriters},
		{Name: "split-utf8", Title: "a chunk ends inside a character",
			Advice:   "split and join bytes; decode the message",
			readings: splitCharacters},
		{Name: "broken-chunks", Title: "chunks come late, lost, swapped or altered",
			Advice: "give up a message of which nothing has come for a while, and add a checksum " +
				"where bytes may change",
			readings: brokenChunks},
		{Name: "partial-reads", Title: "a read brings a part of a line",
			Advice:   "keep what was read until its newline has come",
			readings: partialReads},
		{Name: "oversized-line", Title: "a line is longer than its reader allows",
			Advice: "answer an oversized request under its own id: a client waits for every " +
				"answer that does not come",
			readings: oversizedLines},
		{Name: "dirty-lines", Title: "something that is no message gets between the messages",
			Advice: "keep standard output for messages alone; let a reader report a bad line and " +
				"go on with the next one",
			readings: dirtyLines},
		{Name: "framing-mismatch", Title: "the two sides do not agree on a framing",
			Advice: "put a deadline on the first answer, and say in its error which framing was " +
				"spoken",
			readings: mismatches},
		{Name: "no-newline", Title: "a line that never ends",
			Advice: "check the length of what is buffered after every read, before the buffer " +
				"grows",
			experiments: endlessLines},
		{Name: "kept-memory", Title: "a receiver keeps memory for messages that are gone",
			Advice:      "let go of a large buffer as soon as its message is delivered",
			experiments: largeMessages},
	}
}

// Find returns the failure with that name. If there is none, the error lists the known names.
func Find(name string) (Failure, error) {
	var known []string
	for _, f := range All() {
		if f.Name == name {
			return f, nil
		}
		known = append(known, f.Name)
	}
	return Failure{}, fmt.Errorf("failure %q is not known; known are %s",
		name, strings.Join(known, ", "))
}

// Options say how to show a failure.
type Options struct {
	Timeout time.Duration     // for one run of a program that is checked; 0 means startTime
	Observe func(part string) // if set, is called as each part begins
}

// Show reproduces the failure, and calls keep with each finding, without the run and the time. When
// it returns, all its processes, pipes and files are gone.
func (f Failure) Show(ctx context.Context, o Options, keep func(results.Finding) error) error {
	r := &recorder{Options: o, failure: f, keep: keep}
	var err error
	switch {
	case f.program != nil:
		err = r.check(ctx, f.program)
	case f.readings != nil:
		err = r.read(ctx, f.readings)
	default:
		err = r.runExperiments(ctx, f.experiments)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return nil
}

// A recorder completes the findings about a failure, and passes them to the function keep.
type recorder struct {
	Options
	failure Failure
	keep    func(results.Finding) error
}

// observe calls Observe, if that is set, when a part begins.
func (r *recorder) observe(part string) {
	if r.Observe != nil {
		r.Observe(part)
	}
}

// record completes a finding about a part of the failure, and passes it to the function keep. If
// the finding has no verdict, record takes the verdict for its class.
func (r *recorder) record(part string, f results.Finding) error {
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

// verdictOf returns the verdict for a class of failure. The verdict is "depends" instead of "fails"
// if an error reported the failure, or if nothing was lost.
func verdictOf(class string) results.Verdict {
	switch class {
	case Sound:
		return results.OK
	case Noticed, Refused, Grows:
		return results.Depends
	}
	return results.Fails
}

// work names the job of a process that runs one experiment. This program starts itself as that
// process.
const work = "failures/experiment"

// Jobs returns the jobs of the processes that [Failure.Show] starts, for [proc.Main].
func Jobs() map[string]proc.Job {
	var all []experiment.Experiment
	for _, f := range All() {
		all = append(all, f.experiments...)
	}
	return experiment.Jobs(work, all, nil /* no helper processes */)
}

// runExperiments runs experiments. Each shows one or more parts of the failure.
func (r *recorder) runExperiments(ctx context.Context, all []experiment.Experiment) error {
	for _, e := range all {
		r.observe(e.ID)
		err := experiment.Run(ctx, work, e, func(f results.Finding) error {
			return r.record(f.ID, f)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
