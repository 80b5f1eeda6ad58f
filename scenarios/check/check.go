// Package check judges how a program, a server or a client of others behaves at its pipes.
//
//	err := check.Program(ctx, check.Options{Run: run, Command: []string{"grep", "-r", "main"}},
//		func(l results.Line) error { return w.Write(l) })
//
// Each situation of the catalogue ([catalogue.For]) is tried on a start of its own, several
// at once, and becomes one [results.Finding]: "ok", "fails", "slow", or "cannot-tell" with why. A
// right program is never to be called wrong: what does not show it beyond doubt is "cannot-tell".
//
// What is checked has a session of its own, so that it cannot touch the user's terminal, a
// deadline, and a folder of its own for temporary files. What failed while others were tried is
// tried again alone. When a situation is over nothing of it is left: its process group is killed,
// and on Linux whatever else inherited the mark of the situation in its environment.
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
	Run     string        // that the records belong to
	Command []string      // what is checked; in that of a client "{}" is the command of its server
	Env     []string      // of what is checked; nil is ours
	Only    []string      // names of situations; empty is all
	Timeout time.Duration // of one start; 0 is 5 s

	// Of a program.
	Stdin         []byte // what a filter reads; nil is nothing
	Deterministic bool   // two runs have to write the same
	ExpectExit    *int   // the exit status when the output is a file; nil is any

	// Of a server.
	Framing string // in which it is spoken to, a framers spec; "" finds out

	// Of a client.
	Protocol string   // one of Protocols; "" is the first
	Config   string   // the name of a file, a template of the client's configuration
	Template []byte   // what that file holds
	Expect   string   // what the client has to say when its server is good
	Serve    []string // starts our server, which the client is given; nil: this program's serve

	// Observe is told of each situation that begins, from any goroutine; may be nil.
	Observe func(name string)

	// Of a server, how many are compared, and how long it has at least; 0 is what drive has. It may
	// take start until it has answered the handshake, and for each answer of a session; 0 is
	// leastStart.
	starts, requests int
	patience, start  time.Duration

	lines []byte // what the server of a client of lines writes; nil: it is one of MCP
}

// usualTime is how long one start of a program or a client may take where nothing else is said.
const usualTime = 5 * time.Second

// A Sink takes the records as they come.
type Sink func(results.Line) error

// A situation does one thing to what is checked, and records in the finding what came of it. The
// verdict is ok unless it says otherwise; an error makes it "cannot-tell", and an
// [aboutOthersError] "unsupported".
type situation func(ctx context.Context, f *finding) error

// alone are the situations beside which nothing else runs: they measure times.
var alone = []string{"block-buffer", "many-starts"}

// A finding is the record of a situation while it is made.
type finding struct {
	results.Finding // its Class is what a runtime has advice of its own for
	name            string
	mild            bool   // what is wrong is no failure: nothing demands otherwise
	evidence        any    // a struct; nil for none
	mark            string // in the environment of all that the situation starts
	temp            string // its folder for temporary files
	o               Options
}

// judge sets the verdict and what was found. The worst that a situation finds counts, and of
// several alike the first.
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

// clear takes back what was judged so far.
func (f *finding) clear() {
	f.Verdict = results.OK
	f.Found = ""
	f.Class = ""
}

// command readies a start of argv: in a session of its own, without our terminal, under the mark,
// with folders of its own for temporary files and state: locks, sockets and process numbers of one
// situation are not met in the next. Caches and settings, which programs need, stay.
func (f *finding) command(argv []string) *proc.Process {
	p := proc.Command(argv[0], argv[1:]...)
	p.Cmd.Env = f.o.Env
	p.Cmd.Env = append(p.Cmd.Environ(), f.mark)
	p.Cmd.Env = append(p.Cmd.Env, "TMPDIR="+f.temp, "TMP="+f.temp, "TEMP="+f.temp,
		"XDG_STATE_HOME="+filepath.Join(filepath.Dir(f.temp), "state"))
	p.Attached = proc.TellsOfOthers // what it leaves is looked at, and ended by its mark
	p.Session = true
	return p
}

// parallel is how many situations are tried at once: they mostly wait.
const parallel = 4

// A trial is one situation that is tried. Done is closed when its finding is made, or its time is
// over.
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
	defer all.Wait() // whatever began comes to its end
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

// judge tries the situation of the trial. If ctx ends meanwhile, whatever was seen is no verdict.
func (o Options) judge(ctx context.Context, side catalogue.Side, t *trial) {
	t.finding = o.one(ctx, side, t.about, t.do)
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

// tryAll tries most situations at once, and then the others one by one. What failed beside others
// is tried once more by itself, before it counts as a failure.
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
			o.judge(ctx, side, t)
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
			o.judge(ctx, side, t)
			close(t.done)
		}
	}
	for _, t := range failed {
		again := o.one(ctx, side, t.about, t.do)
		if ctx.Err() != nil {
			t.finding.unsure("no time was left to try it again with nothing beside it")
		} else if again.Verdict != results.Fails {
			t.finding.doubt(again)
		}
		close(t.done)
	}
}

// doubt takes back that a situation failed, because it did not fail with nothing beside it.
func (f *finding) doubt(again finding) {
	why := "tried again with nothing beside it: " + again.Found
	if again.Verdict != results.CannotTell {
		why += ": so it depends on what ran before or beside it"
	}
	f.unsure(why)
}

// unsure takes back that a situation failed, and adds why to what was found.
func (f *finding) unsure(why string) {
	f.Verdict = results.CannotTell
	f.Found += "; " + why
	f.Advice = ""
	f.Reproduce = ""
}

// one tries one situation, and ends what it leaves.
func (o Options) one(
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
	var others *aboutOthersError
	switch {
	case errors.As(err, &others):
		f.judge(results.Unsupported, "%s", others)
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

// An aboutOthersError is what a situation returns that is not about a program like this one.
type aboutOthersError struct{ about string }

func (e *aboutOthersError) Error() string { return "it is about " + e.about }

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
	os.RemoveAll(folder) // what was made unremovable there is no failure of ours
	return err
}

// markName is the variable in the environment of all that a situation starts, by which it is found
// again though it left its group.
const markName = "PIPEBENCH_CHECK"

// newMark returns the variable of one situation. Two of them differ in digits alone, so that what a
// program prints of its environment differs no more than by a number.
func newMark() string { return fmt.Sprintf("%s=%016d", markName, rand.Int64N(1e16)) }

// Validate reports what cannot be checked.
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

// validateClient reports where a client would not learn of its server.
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
