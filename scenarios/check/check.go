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
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/catalogue"
)

// Options say what is checked, and how.
type Options struct {
	Run     string        // names the run in the records
	Command []string      // what is checked; in a client's, "{}" stands for its server's command
	Env     []string      // environment of what is checked; nil is our own
	Only    []string      // names of situations; empty is all
	Timeout time.Duration // how long one start may take; 0 is 5 s

	// For a program:
	Stdin         []byte // what a filter reads; nil is nothing
	Deterministic bool   // a program that writes different bytes in two runs fails
	ExpectExit    *int   // the exit status when the output is a file; nil is any

	// For a server:
	Framing string // a framers spec; "": find out which one the server speaks
	Tool    string // the tool of MCP that is called; "": echo, if there is one
	Arg     string // the tool's argument that takes the payload; "": its first text

	// For a client:
	Protocol string   // one of Protocols; "" is the first
	Config   string   // name of the client's configuration file
	Template []byte   // that file's text, with placeholders for the server
	Expect   string   // what the client has to say when its server is good
	Serve    []string // command of our server, for the client to start; nil: this program's serve

	// Observe is called with each situation's name as it begins, from any goroutine; may be nil.
	Observe func(name string)

	// For a server; set by tests only, 0 is the usual value.
	starts    int           // how many starts are compared
	requests  int           // how many requests are made while memory is watched
	patience  time.Duration // the shortest deadline of a request
	handshake time.Duration // the shortest deadline of the handshake, and of an answer of MCP

	lines []byte // what our server writes to a client of lines; nil: our server speaks MCP
}

// usualTime is how long one start of a program or a client may take if no Timeout is given.
const usualTime = 5 * time.Second

// A Sink takes the records as they come.
type Sink func(results.Line) error

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
