// Package actor starts this program again as one side of an experiment, and
// leaves none of it behind.
//
//	actor.Play(actor.Cast{"echo": func(s *actor.Stage) error { … }}) // first in main
//	…
//	a, err := actor.Prepare(ctx, "echo", args, end)
//	a.Cmd.Stdout = file // standard streams belong to the experiment
//	err = a.Start()
//	defer a.Dismiss()
//	err = a.Report(&answer)
//
// An actor's standard streams are free for what the experiment does with
// them. It is told its part by the environment, reports over a pipe of its
// own, and hangs on a leash: another pipe, whose other end the director holds.
// When that closes, by [Actor.Dismiss] or because the director died, the actor
// exits, whatever it was doing.
//
// An [Actor] and a [Stage] belong to one goroutine each, but Dismiss may be
// called by any.
package actor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// scriptEnv tells a process that it is an actor, and its part.
const scriptEnv = "PIPEBENCH_ACTOR"

// A script is an actor's part as it travels in the environment.
type script struct {
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args,omitempty"`
	Ends   []string        `json:"ends,omitempty"` // references to inherited pipe ends
	Leash  string          `json:"leash"`
	Report string          `json:"report"`
}

// An Actor is this program, started again to play a part.
type Actor struct {
	Cmd *exec.Cmd // its streams may be set until Start

	name   string
	script script
	leash  *syspipe.End // closing it ends the actor; nil where another holds it
	report *syspipe.End
	decode *json.Decoder
	lent   []*syspipe.End // the actor's own ends, closed here once it has them or never will

	dismiss sync.Once
	waited  sync.Once
	exit    error
}

// Lines are the two pipes between an actor and whoever directs it.
type Lines struct {
	leash, leashActor   *syspipe.End
	report, reportActor *syspipe.End
}

// NewLines opens the lines for an actor that another actor is to start.
func NewLines() (*Lines, error) {
	w, r, err := syspipe.Open(syspipe.Anonymous, 0)
	if err != nil {
		return nil, fmt.Errorf("open an actor's leash: %w", err)
	}
	rw, rr, err := syspipe.Open(syspipe.Anonymous, 0)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open an actor's report: %w", err), w.Close(), r.Close())
	}
	l := &Lines{leash: w, leashActor: r, report: rr, reportActor: rw}
	if err := Park(rr); err != nil {
		closeAll([]*syspipe.End{w, r, rw, rr})
		return nil, fmt.Errorf("open an actor's report: %w", err)
	}
	return l, nil
}

// Ends are the actor's ends of the lines, to be passed to whoever starts it
// with [PrepareOn].
func (l *Lines) Ends() (leash, report *syspipe.End) { return l.leashActor, l.reportActor }

// Director is the handle on an actor that another one started on these lines:
// it can be heard and dismissed, and has no Cmd.
func (l *Lines) Director(name string) *Actor {
	return &Actor{name: name, leash: l.leash, report: l.report, decode: json.NewDecoder(l.report)}
}

// Prepare readies an actor that plays the part of that name, with args (any
// JSON) and pipe ends, which it inherits. They are the actor's from here on,
// and closed in this process by Start, by Dismiss, and when Prepare fails. The
// actor is killed when ctx ends.
func Prepare(ctx context.Context, name string, args any, ends ...*syspipe.End) (*Actor, error) {
	lines, err := NewLines()
	if err != nil {
		closeAll(ends)
		return nil, err
	}
	a, err := PrepareOn(ctx, lines.leashActor, lines.reportActor, name, args, ends...)
	if err != nil {
		return nil, errors.Join(err, lines.leash.Close(), lines.report.Close())
	}
	a.leash, a.report = lines.leash, lines.report
	a.decode = json.NewDecoder(a.report)
	return a, nil
}

// PrepareShared is Prepare for one of several actors that share an end: the
// caller closes its own when it has started them all.
func PrepareShared(ctx context.Context, name string, args any, end *syspipe.End) (*Actor, error) {
	a, err := Prepare(ctx, name, args, end)
	if err == nil {
		a.lent = a.lent[:2]
	}
	return a, err
}

func closeAll(ends []*syspipe.End) {
	for _, e := range ends {
		e.Close() // one that is closed already says so, and that is all
	}
}

// PrepareOn is Prepare for an actor that is to be directed by whoever holds
// the other ends of leash and report.
func PrepareOn(ctx context.Context, leash, report *syspipe.End, name string, args any, ends ...*syspipe.End) (a *Actor, err error) {
	lent := append([]*syspipe.End{leash, report}, ends...)
	defer func() {
		if err != nil {
			closeAll(lent)
		}
	}()
	if _, actor := os.LookupEnv(scriptEnv); actor { // it would start itself without end
		return nil, errors.New("this process was started as an actor and plays no part: call Play first in main and in TestMain")
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program, to start it as an actor: %w", err)
	}
	a = &Actor{Cmd: exec.CommandContext(ctx, program), name: name, lent: lent}
	a.Cmd.WaitDelay = time.Second
	detach(a.Cmd)
	a.script.Name = name
	if a.script.Args, err = json.Marshal(args); err != nil {
		return nil, fmt.Errorf("write the part of %s: %w", name, err)
	}
	refs := make([]string, len(a.lent))
	for i, e := range a.lent {
		if refs[i], err = e.Pass(a.Cmd); err != nil {
			return nil, fmt.Errorf("hand %s its pipes: %w", name, err)
		}
	}
	a.script.Leash, a.script.Report, a.script.Ends = refs[0], refs[1], refs[2:]
	return a, nil
}

// Park leaves the waiting of pipe ends to Go's poller where the system has one
// for them; elsewhere a read blocks its thread, which is as good here.
func Park(ends ...*syspipe.End) error {
	for _, e := range ends {
		if err := e.SetIO(syspipe.Poller); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	return nil
}

// Start starts the actor and closes what was only opened for it.
func (a *Actor) Start() error {
	defer closeAll(a.lent)
	text, err := json.Marshal(a.script)
	if err != nil {
		return fmt.Errorf("write the part of %s: %w", a.name, err)
	}
	a.Cmd.Env = append(os.Environ(), scriptEnv+"="+string(text), "GOMAXPROCS=4") // a thread in a raw system call keeps its share of the scheduler
	if err := a.Cmd.Start(); err != nil {
		a.Dismiss()
		return fmt.Errorf("start %s: %w", a.name, err)
	}
	return nil
}

// Report waits for the actor's next report. The error is io.EOF when it left
// without another one. An actor that hangs is ended by the context it was
// prepared with.
func (a *Actor) Report(v any) error {
	if err := a.decode.Decode(v); err != nil {
		return fmt.Errorf("hear of %s: %w", a.name, err)
	}
	return nil
}

// Wait waits until the actor has exited, and returns how: an
// [*exec.ExitError] unless its part ended well.
func (a *Actor) Wait() error {
	a.waited.Do(func() {
		if a.Cmd != nil && a.Cmd.Process != nil {
			a.exit = a.Cmd.Wait()
		}
	})
	return a.exit
}

// Dismiss lets go of the leash, kills what does not leave by itself, and
// returns when the actor is gone. It may be called more than once.
func (a *Actor) Dismiss() {
	a.dismiss.Do(func() {
		closeAll(a.lent)
		if a.leash != nil {
			a.leash.Close()
		}
		if a.Cmd != nil && a.Cmd.Process != nil {
			a.Cmd.Process.Kill() // it may have left already
			a.Wait()
		}
		if a.report != nil {
			a.report.Close()
		}
	})
}

// Release lets go of the leash alone, so that the actor can say a last word
// (see [Stage.OnRelease]) before it leaves.
func (a *Actor) Release() { a.leash.Close() }
