package actor

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"github.com/pipebench/pipebench/syspipe"
)

// A Part is what an actor plays. Its error goes to standard error and makes
// the exit code 1.
type Part func(*Stage) error

// A Cast is the parts that a program can play, by name.
type Cast map[string]Part

// A Stage is what an actor has to play its part with.
type Stage struct {
	Ends []*syspipe.End // in the order in which the director gave them

	args   json.RawMessage
	leash  *syspipe.End
	report *syspipe.End

	mu        sync.Mutex
	onRelease func()

	reporting sync.Mutex // a last word may come while the part speaks
}

// Play plays a part and exits, if this process was started as an actor of the
// cast; else it returns at once. Call it first in main and in TestMain of
// every program that directs one.
func Play(cast Cast) {
	text, ok := os.LookupEnv(scriptEnv)
	if !ok {
		return
	}
	var s script
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		fail(fmt.Errorf("read the part in %s: %w", scriptEnv, err))
	}
	part, ok := cast[s.Name]
	if !ok {
		return // a part of another cast
	}
	os.Unsetenv(scriptEnv)
	stage, err := s.enter()
	if err != nil {
		fail(err)
	}
	go stage.leaveWithLeash()
	if err := part(stage); err != nil {
		fail(fmt.Errorf("%s: %w", s.Name, err))
	}
	os.Exit(0)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// enter takes up what the director handed over.
func (s script) enter() (*Stage, error) {
	stage := &Stage{args: s.Args}
	var err error
	if stage.leash, err = syspipe.Inherited(s.Leash); err != nil {
		return nil, err
	}
	if stage.report, err = syspipe.Inherited(s.Report); err != nil {
		return nil, err
	}
	for _, ref := range s.Ends {
		e, err := syspipe.Inherited(ref)
		if err != nil {
			return nil, err
		}
		stage.Ends = append(stage.Ends, e)
	}
	return stage, Park(stage.leash)
}

// leaveWithLeash ends the process when the director lets go.
func (s *Stage) leaveWithLeash() {
	s.leash.Read(make([]byte, 1)) // nothing is ever written: it returns at the end
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.onRelease != nil {
		s.onRelease()
	}
	os.Exit(0)
}

// OnRelease sets what is done when the director lets go, before the process
// exits.
func (s *Stage) OnRelease(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onRelease = f
}

// Args fills in the arguments that the director gave.
func (s *Stage) Args(v any) error {
	if err := json.Unmarshal(s.args, v); err != nil {
		return fmt.Errorf("read the arguments: %w", err)
	}
	return nil
}

// Report tells the director something, as JSON.
func (s *Stage) Report(v any) error {
	s.reporting.Lock()
	defer s.reporting.Unlock()
	if err := json.NewEncoder(s.report).Encode(v); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// Linger waits until the director lets go: the process keeps its pipes open
// until then.
func (s *Stage) Linger() { select {} }
