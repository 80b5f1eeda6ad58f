package target

import (
	"errors"
	"fmt"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/syspipe"
)

// Options say what to start and how to speak to it. Only Command is needed.
type Options struct {
	Command []string // program and arguments; no shell is involved
	Env     []string // of the server; nil is ours
	Dir     string   // where it runs; "" is where we run

	Protocol string // "mcp", "lsp", "jsonrpc", "lines"; "" and "auto" find out
	Framing  string // a framers spec; "" is the protocol's own
	Tool     string // MCP: the tool to call; "" is "echo" if there is one, else a method that no server knows
	Arg      string // MCP: the tool's argument that takes the payload; "" is its first text

	Pipe       syspipe.Kind  // of standard input and output; "" is anonymous
	Capacity   int           // bytes of each pipe; 0 leaves it to the system
	WriteChunk int           // bytes given to the pipe at a time; 0 is a message in one call
	WritePause time.Duration // between two of those

	Start    time.Duration // how long the server may take until it has answered the handshake; 0 is 10 s
	Patience time.Duration // the least deadline for an answer; 0 is 1 s
	Longest  time.Duration // the greatest; 0 is 2 min
	Budget   time.Duration // how long a sweep measures one size; 0 is 300 ms

	Run  string // the run that records belong to
	Seed int64

	undrained bool // leave standard error unread
	nonblock  bool // hand the server a standard output in non-blocking mode
}

const (
	defaultStart    = 10 * time.Second
	defaultPatience = time.Second
	defaultLongest  = 2 * time.Minute
	defaultBudget   = 300 * time.Millisecond
)

// withDefaults fills in what was left open, and says all that is wrong with the rest.
func (o Options) withDefaults() (Options, error) {
	var faults []error
	if len(o.Command) == 0 {
		faults = append(faults, errors.New("no command to start"))
	}
	if o.Pipe == "" {
		o.Pipe = syspipe.Anonymous
	}
	faults = append(faults, o.Pipe.Supported())
	if _, err := dialectNamed(o.Protocol); err != nil {
		faults = append(faults, err)
	}
	if o.Framing != "" {
		if _, err := framers.Parse(o.Framing); err != nil {
			faults = append(faults, err)
		}
	}
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{{&o.Start, defaultStart}, {&o.Patience, defaultPatience}, {&o.Longest, defaultLongest}, {&o.Budget, defaultBudget}} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	if o.Capacity < 0 || o.WriteChunk < 0 || o.WritePause < 0 {
		faults = append(faults, errors.New("capacity, write chunk and write pause cannot be negative"))
	}
	if err := errors.Join(faults...); err != nil {
		return o, fmt.Errorf("drive: %w", err)
	}
	return o, nil
}
