package actor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/scenarios/faults/actor"
	"github.com/pipebench/pipebench/syspipe"
)

// A program that forgot to call Play runs its main again as its own actor, and
// that one its own, until the machine has no processes left.
func TestAnActorThatPlaysNothingStartsNone(t *testing.T) {
	t.Setenv("PIPEBENCH_ACTOR", `{"Name":"of no cast"}`)
	if _, err := actor.Prepare(t.Context(), "deaf", nil); err == nil || !strings.Contains(err.Error(), "call Play first") {
		t.Errorf("got %v", err)
	}
}

func TestMain(m *testing.M) {
	actor.Play(cast)
	os.Exit(m.Run())
}

var cast = actor.Cast{
	"greeter": func(s *actor.Stage) error {
		var name string
		if err := s.Args(&name); err != nil {
			return err
		}
		fmt.Println("on standard output")
		return s.Report("hello, " + name)
	},
	"echo": func(s *actor.Stage) error {
		p := make([]byte, 100)
		n, err := s.Ends[0].Read(p)
		if err != nil {
			return err
		}
		_, err = s.Ends[1].Write(p[:n])
		return err
	},
	"deaf": func(s *actor.Stage) error {
		if err := s.Report("here"); err != nil {
			return err
		}
		s.Linger()
		return nil
	},
	"dying": func(s *actor.Stage) error {
		s.OnRelease(func() { s.Report("farewell") })
		if err := s.Report("here"); err != nil {
			return err
		}
		s.Linger()
		return nil
	},
	"failing": func(*actor.Stage) error { return errors.New("broke a leg") },
	"director": func(s *actor.Stage) error { // starts a deaf actor and dies of its own hand
		a, err := actor.PrepareOn(context.Background(), s.Ends[0], s.Ends[1], "deaf", nil)
		if err != nil {
			return err
		}
		return a.Start()
	},
}

// start prepares and starts an actor that is dismissed with the test.
func start(t *testing.T, part string, args any, ends ...*syspipe.End) *actor.Actor {
	t.Helper()
	a, err := actor.Prepare(t.Context(), part, args, ends...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Dismiss)
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAnActorReportsAndLeavesItsStreamsAlone(t *testing.T) {
	a, err := actor.Prepare(t.Context(), "greeter", "world")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Dismiss()
	var out strings.Builder
	a.Cmd.Stdout = &out
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	var got string
	if err := a.Report(&got); err != nil || got != "hello, world" {
		t.Errorf("report %q, %v", got, err)
	}
	if err := a.Report(&got); !errors.Is(err, io.EOF) {
		t.Errorf("after the last report: %v", err)
	}
	if err := a.Wait(); err != nil || out.String() != "on standard output\n" {
		t.Errorf("exit %v, output %q", err, out.String())
	}
}

func TestAnActorHasItsEnds(t *testing.T) {
	w, in, err := syspipe.Open(syspipe.Anonymous, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	out, r, err := syspipe.Open(syspipe.Anonymous, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	start(t, "echo", nil, in, out)
	if _, err := w.Write([]byte("ping")); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r) // ends only if nobody here holds the actor's ends
	if err != nil || string(got) != "ping" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestADismissedActorIsGone(t *testing.T) {
	a := start(t, "deaf", nil)
	var here string
	if err := a.Report(&here); err != nil {
		t.Fatal(err)
	}
	a.Dismiss()
	a.Dismiss()
	if a.Cmd.ProcessState == nil {
		t.Error("not waited for")
	}
}

func TestAReleasedActorSaysALastWord(t *testing.T) {
	a := start(t, "dying", nil)
	var word string
	if err := a.Report(&word); err != nil {
		t.Fatal(err)
	}
	a.Release()
	if err := a.Report(&word); err != nil || word != "farewell" {
		t.Errorf("got %q, %v", word, err)
	}
	if err := a.Wait(); err != nil {
		t.Errorf("exit %v", err)
	}
}

func TestAFailedPartIsAnExitCode(t *testing.T) {
	a, err := actor.Prepare(t.Context(), "failing", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Dismiss()
	var words strings.Builder
	a.Cmd.Stderr = &words
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	var status *exec.ExitError
	if err := a.Wait(); !errors.As(err, &status) || status.ExitCode() != 1 || !strings.Contains(words.String(), "failing: broke a leg") {
		t.Errorf("exit %v, said %q", err, words.String())
	}
}

// An actor outlives the process that started it, but not whoever holds the leash.
func TestAnActorHangsOnItsLeashAlone(t *testing.T) {
	lines, err := actor.NewLines()
	if err != nil {
		t.Fatal(err)
	}
	orphan := lines.Director("the orphan")
	defer orphan.Dismiss()
	leash, report := lines.Ends()
	parent := start(t, "director", nil, leash, report)
	var here string
	if err := orphan.Report(&here); err != nil {
		t.Fatal(err)
	}
	if err := parent.Wait(); err != nil {
		t.Fatal(err)
	}
	orphan.Release()
	if err := orphan.Report(&here); !errors.Is(err, io.EOF) { // its end of the line closes when it exits
		t.Errorf("still there: %v", err)
	}
}

func TestAnActorThatCannotStartLeavesNothing(t *testing.T) {
	w, r, err := syspipe.Open(syspipe.Anonymous, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	a, err := actor.Prepare(t.Context(), "deaf", nil, r)
	if err != nil {
		t.Fatal(err)
	}
	a.Cmd.Path = "/nonexistent"
	if err := a.Start(); err == nil {
		t.Error("started")
	}
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("its end is open: %v", err)
	}
}
