// Package check judges how programs, servers and clients made by others behave at their pipes.
//
//	err := check.Program(ctx, check.Options{Run: run, Command: []string{"grep", "-r", "main"}},
//		func(l results.Line) error { return w.Write(l) })
//
// The package tests each situation that [catalogue.For] lists, and reports the outcome as a
// [results.Finding]. If any doubt is left, the verdict is "cannot-tell".
//
// Each process under test gets a deadline, a folder for temporary files, and no access to the
// user's terminal. When a test is over, its processes are killed. Only on Linux does this include
// processes that have left their process group.
//
// [Program], [Server] and [Client] may be called concurrently. Each of these functions calls its
// sink from one goroutine only.
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
	Run string // names the run in the records
	// Command is what is checked. In a client's command, "{}" stands for the command of the server
	// that the client has to start.
	Command []string
	Env     []string // environment of the command; nil is that of this process
	Only    []string // names of the situations to try; empty is all
	// Timeout limits one run of a program or a client; 0 stands for 5 s. For a server, Timeout
	// limits the time without any work on an answer, 10 s at least, and the search for a limit,
	// 20 s at least.
	Timeout time.Duration

	// For a program:
	Stdin         []byte // what the program reads from standard input; nil is nothing
	Deterministic bool   // if set, it is a failure to write different bytes in two runs
	ExpectExit    *int   // the required exit status when the output is a file; nil: any will do

	// For a server:
	Framing string // how messages are separated, such as "ndjson"; "" if not known
	Tool    string // the MCP tool to call; "": the tool "echo", if the server has it
	Arg     string // the tool's argument for our text; "": the first that is a string

	// For a client:
	Protocol string // "mcp", or "lines" for any JSON in lines; "" is "mcp"
	Config   string // name of the client's configuration file; "" for none
	Template []byte // text of the configuration file, with placeholders for the server's command
	Expect   string // text that the client has to print when its server has no fault
	// Serve is the command of our test server. It replaces "{}" in Command. Nil stands for this
	// program with the argument "serve".
	Serve []string

	// Observe, if set, is called with the name of each test that begins. The calls come from
	// several goroutines.
	Observe func(name string)

	// For a server. Only our own unit tests set these fields; 0 stands for the usual value.
	starts   int           // how many starts of the server the test "many-starts" compares
	requests int           // how many requests the test "memory-growth" makes in each round
	patience time.Duration // the shortest deadline for an answer
	longest  time.Duration // the longest deadline for an answer
	// The shortest deadline for an answer in the handshake, and in tests of the rules of MCP.
	handshake time.Duration

	// What our test server writes to a client that reads lines; nil if our server speaks MCP.
	lines []byte
}

// usualTime is the Timeout of a program or a client if none is given.
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
		_, err := catalogue.Find(catalogue.For(side), name)
		if err == nil {
			continue
		}
		if _, unknown := catalogue.Find(catalogue.For(catalogue.Server), name); unknown == nil {
			err = errors.New("it is one of --server")
		}
		return fmt.Errorf("no situation %q for a %s; %w", name, side, err)
	}
	return nil
}

// validateClient returns an error if the client is not told which server to start.
func (o Options) validateClient() error {
	command := strings.Join(o.Command, " ")
	hasConfig := strings.Contains(command, "{config}")
	switch {
	case hasConfig != (o.Config != ""):
		return errors.New(`"{config}" in the command and --config need each other: ` +
			`the first becomes the name of a copy of the file`)
	case o.Config == "" && !strings.Contains(command, "{}") &&
		!strings.Contains(command, "{command}"):
		return errors.New(`the client has to be told its server: ` +
			`write "{}" in its command where that of the server belongs`)
	}
	return nil
}
