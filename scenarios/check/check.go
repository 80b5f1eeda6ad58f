// Package check judges how programs, servers and clients made by others behave at their pipes.
//
//	err := check.Program(ctx, check.Options{Run: run, Command: []string{"grep", "-r", "main"}},
//		func(l results.Line) error { return w.Write(l) })
//
// Each situation of the catalogue ([catalogue.For]) is tried on a start of its own, several at
// once, and becomes one [results.Finding]: "ok", "fails", "slow", or "cannot-tell" with why. A
// correct program must never be called wrong: the verdict is "cannot-tell" if any doubt is left.
//
// Each start runs in a session of its own, so that it cannot touch the user's terminal. It has a
// deadline, and a folder of its own for temporary files. A situation that fails while others run is
// tried again alone. When a situation is over, nothing of it is left: its process group is killed,
// and so is, on Linux, any other process that inherited the situation's mark in its environment.
//
// [Program], [Server] and [Client] may be called concurrently; each calls its sink from one
// goroutine.
package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// Options say what is checked, and how.
type Options struct {
	Run     string        // names the run in the records
	Command []string      // what is checked; in a client's, "{}" stands for its server's command
	Env     []string      // environment of what is checked; nil is ours
	Only    []string      // names of situations; empty is all
	Timeout time.Duration // of one start; 0 is 5 s

	// For a program:
	Stdin         []byte // what a filter reads; nil is nothing
	Deterministic bool   // two runs have to write the same
	ExpectExit    *int   // the exit status when the output is a file; nil is any

	// For a server:
	Framing string // a framers spec; "": find out which one the server speaks
	// of MCP: the tool to call ("": echo, if there is one), and its argument that takes the payload
	// ("": its first text)
	Tool, Arg string

	// For a client:
	Protocol string   // one of Protocols; "" is the first
	Config   string   // name of the client's configuration file
	Template []byte   // that file's text, with placeholders for the server
	Expect   string   // what the client has to say when its server is good
	Serve    []string // command of our server, for the client to start; nil: this program's serve

	// Observe is called with each situation's name as it begins, from any goroutine; may be nil.
	Observe func(name string)

	// For a server; 0 is the usual value.
	starts    int           // how many starts are compared
	requests  int           // how many requests memory is watched for
	patience  time.Duration // the least that a request may take
	handshake time.Duration // that the handshake may take, and each answer of a session

	lines []byte // what our server writes to a client of lines; nil: our server speaks MCP
}

// usualTime is how long one start of a program or a client may take if no Timeout is given.
const usualTime = 5 * time.Second

// A Sink takes the records as they come.
type Sink func(results.Line) error

// A situation does one thing to what is checked, and records the result in the finding. The verdict
// is ok unless the situation sets another; if it returns an error, the verdict is "cannot-tell",
// and for a [notApplicableError] "unsupported".
type situation func(ctx context.Context, f *finding) error

// alone are the situations that run with nothing beside them, after all others: the first two
// measure times, and mcp-schema judges what the server sent in the others.
var alone = []string{"block-buffer", "many-starts", "mcp-schema"}

// A finding is the record of a situation, and what the situation needs while it is tried.
type finding struct {
	results.Finding // its Class selects the advice for a runtime
	name            string
	mild            bool   // a bad result is no failure: no protocol demands more
	evidence        any    // a struct; nil for none
	mark            string // variable in the environment of all that the situation starts
	temp            string // its folder for temporary files
	o               Options
}

// judge sets the verdict and what was found. If it is called more than once, the worst verdict
// counts, and the first of several equal ones.
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

// clear removes the verdict, and what was found so far.
func (f *finding) clear() {
	f.Verdict = results.OK
	f.Found = ""
	f.Class = ""
}

// command prepares a start of argv: in a session of its own, without our terminal, with the mark,
// and with folders of its own for temporary files and state. So a program does not meet locks,
// sockets and process numbers of an earlier situation. Caches and settings stay: programs need
// them.
func (f *finding) command(argv []string) *proc.Process {
	p := proc.Command(argv[0], argv[1:]...)
	p.Cmd.Env = f.o.Env
	p.Cmd.Env = append(p.Cmd.Environ(), f.mark)
	p.Cmd.Env = append(p.Cmd.Env, "TMPDIR="+f.temp, "TMP="+f.temp, "TEMP="+f.temp,
		"XDG_STATE_HOME="+filepath.Join(filepath.Dir(f.temp), "state"))
	p.Attached = proc.TellsOfOthers // processes that it leaves are found and ended by the mark
	p.Session = true
	return p
}

// parallel is how many situations are tried at once: they mostly wait.
const parallel = 4

// A trial is one situation that is tried. The channel done is closed when its finding is complete,
// or its time is over.
type trial struct {
	about   catalogue.Situation
	do      situation
	finding finding
	done    chan struct{}
}

// try tries the situations of a side, several at once, and keeps a record of each in the order of
// the catalogue. A situation without an entry in tries is left out.
func (o Options) try(
	ctx context.Context, side catalogue.Side, tries map[string]situation, sink Sink,
) error {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait() // wait for the situations that have begun
	defer cancel()
	var trials []*trial
	for _, s := range catalogue.For(side) {
		do := tries[s.Name]
		if do != nil && (len(o.Only) == 0 || slices.Contains(o.Only, s.Name)) {
			trials = append(trials, &trial{about: s, do: do, done: make(chan struct{})})
		}
	}
	all.Go(func() { o.tryAll(ctx, side, trials) })
	for _, t := range trials {
		<-t.done
		if err := sink(t.finding.Finding); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// tryInTime tries the situation of the trial. If ctx ended meanwhile, the verdict is "cannot-tell",
// whatever was seen.
func (o Options) tryInTime(ctx context.Context, side catalogue.Side, t *trial) {
	t.finding = o.tryOne(ctx, side, t.about, t.do)
	if ctx.Err() == nil {
		return
	}
	f := &t.finding
	f.clear()
	f.cannotTell("the check ended before this was judged")
	f.Evidence = ""
	f.Advice = ""
	f.Reproduce = ""
}

// tryAll tries most situations at once, and then the others one by one. A situation that failed
// beside others is tried once more by itself, before it counts as a failure.
func (o Options) tryAll(ctx context.Context, side catalogue.Side, trials []*trial) {
	var group errgroup.Group
	group.SetLimit(parallel)
	var failed []*trial
	var mu sync.Mutex
	for _, t := range trials {
		if slices.Contains(alone, t.about.Name) {
			continue
		}
		group.Go(func() error {
			o.tryInTime(ctx, side, t)
			if t.finding.Verdict != results.Fails || len(trials) == 1 {
				close(t.done)
				return nil
			}
			mu.Lock()
			failed = append(failed, t)
			mu.Unlock()
			return nil
		})
	}
	_ = group.Wait() // there are no errors
	for _, t := range trials {
		if slices.Contains(alone, t.about.Name) {
			o.tryInTime(ctx, side, t)
			close(t.done)
		}
	}
	for _, t := range failed {
		again := o.tryOne(ctx, side, t.about, t.do)
		if ctx.Err() != nil {
			t.finding.unsure("no time was left to try it again with nothing beside it")
		} else if again.Verdict != results.Fails {
			t.finding.doubt(again)
		}
		close(t.done)
	}
}

// doubt withdraws the verdict "fails" of a situation that did not fail when it was tried alone.
func (f *finding) doubt(again finding) {
	why := "tried again with nothing beside it: " + again.Found
	if again.Verdict != results.CannotTell {
		why += ": so it depends on what ran before or beside it"
	}
	f.unsure(why)
}

// unsure changes the verdict from "fails" to "cannot-tell", and adds why to what was found.
func (f *finding) unsure(why string) {
	f.Verdict = results.CannotTell
	f.Found += "; " + why
	f.Advice = ""
	f.Reproduce = ""
}

// tryOne tries one situation, ends what it leaves, and returns its finding.
func (o Options) tryOne(
	ctx context.Context, side catalogue.Side, about catalogue.Situation, do situation,
) finding {
	f := finding{name: about.Name, mild: about.Mild, o: o, mark: newMark()}
	f.Kind = results.KindFinding
	f.Run = o.Run
	f.ID = results.AreaCheck + "/" + string(side) + "/" + about.Name
	f.Title = about.Title
	f.About = o.Command
	f.Verdict = results.OK
	err := f.run(ctx, do)
	if err == nil && f.evidence != nil {
		f.Evidence, err = results.NewEvidence(f.evidence)
	}
	var notApplicable *notApplicableError
	switch {
	case errors.As(err, &notApplicable):
		f.judge(results.Unsupported, "%s", notApplicable)
	case err != nil:
		f.judge(results.CannotTell, "%s", strings.TrimSpace(err.Error()))
	}
	if f.Verdict == results.Fails || f.Verdict == results.Slow {
		f.Advice = cmp.Or(f.Advice, adviceFor(f.Class, o.Command), about.Advice)
	} else {
		f.Advice = ""
		f.Reproduce = ""
	}
	f.Time = time.Now().UTC()
	return f
}

// A situation returns a notApplicableError if it does not apply to what is checked.
type notApplicableError struct{ about string }

func (e *notApplicableError) Error() string { return "it is about " + e.about }

// run tries the situation, and ends and removes what it leaves.
func (f *finding) run(ctx context.Context, do situation) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if f.o.Observe != nil {
		f.o.Observe(f.name)
	}
	folder, err := os.MkdirTemp("", "pipebench-check-")
	if err != nil {
		return err
	}
	f.temp = filepath.Join(folder, "tmp")
	err = os.Mkdir(f.temp, 0o700)
	if err == nil {
		err = do(ctx, f)
	}
	proc.EndMarked(f.mark, 0)
	os.RemoveAll(folder) // an error is ignored: the program may have made files unremovable
	return err
}

// markName is a variable in the environment of all processes that a situation starts. By it they
// are found again even if they left their process group.
const markName = "PIPEBENCH_CHECK"

// newMark returns the environment variable of one situation, as NAME=value. Two marks differ only
// in digits: if a program prints its environment, two runs differ only by a number, which
// comparisons ignore.
func newMark() string { return fmt.Sprintf("%s=%016d", markName, rand.Int64N(1e16)) }

// Validate returns an error if the options do not say what to check.
func (o Options) Validate(side catalogue.Side) error {
	if len(o.Command) == 0 {
		return errors.New("no command to check")
	}
	if side == catalogue.Client {
		if err := o.validateClient(); err != nil {
			return err
		}
	}
	for _, name := range o.Only {
		if _, err := catalogue.Find(catalogue.For(side), name); err != nil {
			return fmt.Errorf("no situation %q for a %s; %w", name, side, err)
		}
	}
	return nil
}

// validateClient returns an error if the options do not tell the client which server to start.
func (o Options) validateClient() error {
	command := strings.Join(o.Command, " ")
	hasConfig := strings.Contains(command, "{config}")
	switch {
	case o.Config != "" && !hasConfig:
		return errors.New(
			`--config needs "{config}" in the command, which becomes the name of the file`)
	case o.Config == "" && hasConfig:
		return errors.New(
			`"{config}" in the command needs --config, the file that it becomes a copy of`)
	case o.Config == "" && !strings.Contains(command, "{}") &&
		!strings.Contains(command, "{command}"):
		return errors.New(`the client has to be told its server: ` +
			`write "{}" in its command where that of the server belongs`)
	}
	return nil
}
