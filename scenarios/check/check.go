package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// Options say what is checked, and how.
type Options struct {
	Run     string   // that the records belong to
	Command []string // what is checked; of a client, "{}" in it stands for the command of a server
	Env     []string // of what is checked; nil is ours
	Only    []string // names of situations; empty is all
	Stdin   []byte   // what a filter reads; nil is nothing

	Deterministic bool          // two runs of a program have to write the same
	Timeout       time.Duration // of one start; 0 is 5 s
	Config        string        // a file, a template of a client's configuration
	Expect        string        // what a client has to say when its server is good
	Serve         []string      // starts our server, which a client is given; nil is this program's serve

	// Of a server, how many are compared, and how long it has at least; 0 is what drive has.
	starts, requests int
	patience         time.Duration

	runtime string // what the command runs on, "" if that is not known

	Observe func(name string) // is told of each situation that begins, from any goroutine; may be nil
}

// A Sink takes the records as they come.
type Sink func(results.Line) error

// A situation is one thing that is done to what is checked.
type situation struct {
	// do tries it and tells the finding what came of it; what it does not judge is ok. An error
	// makes the verdict "cannot-tell".
	do    func(ctx context.Context, f *finding) error
	alone bool // nothing else runs meanwhile: it measures times
}

// A finding is the record of a situation while it is made.
type finding struct {
	results.Check
	evidence any    // a struct; nil for none
	class    string // of what is wrong, by which a runtime has advice of its own; "" for none
	mark     string // in the environment of all that the situation starts
	o        Options
}

// judge sets the verdict and what was found. The worst that a situation finds counts, and of
// several alike the first.
func (f *finding) judge(verdict, format string, args ...any) {
	rank := []string{results.CheckOK, results.CheckCannotTell, results.CheckSlow, results.CheckFails}
	if f.Found == "" || slices.Index(rank, verdict) > slices.Index(rank, f.Verdict) {
		f.Verdict, f.Found = verdict, fmt.Sprintf(format, args...)
	}
}

func (f *finding) ok(format string, args ...any)    { f.judge(results.CheckOK, format, args...) }
func (f *finding) fails(format string, args ...any) { f.judge(results.CheckFails, format, args...) }
func (f *finding) slow(format string, args ...any)  { f.judge(results.CheckSlow, format, args...) }
func (f *finding) cannotTell(format string, args ...any) {
	f.judge(results.CheckCannotTell, format, args...)
}

// env is the environment of what the situation starts: its mark is in it.
func (f *finding) env() []string {
	env := f.o.Env
	if env == nil {
		env = os.Environ()
	}
	return append(slices.Clone(env), f.mark)
}

// command readies a start of argv: in a session of its own, without our terminal, under the mark.
func (f *finding) command(argv []string) *proc.Process {
	p := proc.Command(argv[0], argv[1:]...)
	p.Cmd.Env = f.env()
	p.Attached = runtime.GOOS == "linux" // what it leaves is looked at, and ended by its mark
	separate(p)
	return p
}

// parallel is how many situations are tried at once: they mostly wait.
const parallel = 4

// try tries the situations of a side, several at once, and keeps a record of each in the order of
// the catalogue. What tries has no entry for is left out.
func (o Options) try(ctx context.Context, side catalogue.Side, tries map[string]situation, sink Sink) error {
	o.runtime = runtimeOf(o.Command)
	var chosen []catalogue.Misbehaviour
	for _, m := range catalogue.Situations(side) {
		if _, ok := tries[m.Name]; ok && (len(o.Only) == 0 || slices.Contains(o.Only, m.Name)) {
			chosen = append(chosen, m)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	made := make([]chan finding, len(chosen))
	free := make(chan bool, parallel)
	defer func() { // whatever began comes to its end
		cancel()
		for _, c := range made {
			<-c
		}
	}()
	for i := range chosen {
		made[i] = make(chan finding, 2)
	}
	go func() {
		for i, m := range chosen {
			if !tries[m.Name].alone {
				free <- true
				go func() {
					made[i] <- o.one(ctx, side, m, tries[m.Name])
					close(made[i])
					<-free
				}()
			}
		}
		for range parallel {
			free <- true
		}
		for i, m := range chosen {
			if tries[m.Name].alone {
				made[i] <- o.one(ctx, side, m, tries[m.Name])
				close(made[i])
			}
		}
	}()
	for _, c := range made {
		f := <-c
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := sink(f.Check); err != nil {
			return err
		}
	}
	return nil
}

// one tries one situation, and ends what it leaves.
func (o Options) one(ctx context.Context, side catalogue.Side, m catalogue.Misbehaviour, s situation) finding {
	if o.Observe != nil && ctx.Err() == nil {
		o.Observe(m.Name)
	}
	f := finding{o: o, mark: fmt.Sprintf("%s=%s/%s/%s", markName, o.Run, side, m.Name), Check: results.Check{
		Kind: results.KindCheck, Run: o.Run, Side: string(side), Name: m.Name, Verdict: results.CheckOK, How: m.Title, Command: o.Command,
		Runtime: o.runtime,
	}}
	err := ctx.Err()
	if err == nil {
		err = s.do(ctx, &f)
	}
	proc.EndMarked(f.mark, 0)
	if err == nil && f.evidence != nil {
		f.Evidence, err = results.NewEvidence(f.evidence)
	}
	if err != nil {
		f.judge(results.CheckCannotTell, "%s", strings.TrimSpace(err.Error()))
	}
	if f.Verdict == results.CheckFails || f.Verdict == results.CheckSlow {
		f.Advice = cmp.Or(f.Advice, advice[f.class][f.Runtime], m.Advice)
	} else {
		f.Advice, f.Reproduce = "", ""
	}
	f.Time = time.Now().UTC()
	return f
}

// markName is the variable in the environment of all that a situation starts, by which it is found
// again though it left its group.
const markName = "PIPEBENCH_CHECK"

// Validate reports what cannot be checked.
func (o Options) Validate(side catalogue.Side) error {
	if len(o.Command) == 0 {
		return errors.New("no command to check")
	}
	if side == catalogue.Client {
		if err := o.validateServer(); err != nil {
			return err
		}
	}
	for _, name := range o.Only {
		known := func(m catalogue.Misbehaviour) bool { return m.Name == name }
		if !slices.ContainsFunc(catalogue.Situations(side), known) {
			var names []string
			for _, m := range catalogue.Situations(side) {
				names = append(names, m.Name)
			}
			return fmt.Errorf("no situation %q for a %s; known are %s", name, side, strings.Join(names, ", "))
		}
	}
	return nil
}
