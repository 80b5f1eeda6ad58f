package drive

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	Request  string // what requests exercise, one of Requests; "" is RequestAuto

	// MCP: the tool to call ("" is "echo" if there is one, else a method that no server knows), its
	// argument that takes the payload ("" is its first text), and the others, a JSON object.
	Tool, Arg, Args string
	// MCP: the tool by which the limit of replies is sought ("" is the echo, and beyond the limit
	// of requests one that makes bytes), its argument that says how much ("" is its first number),
	// and the others, a JSON object.
	ReplyTool, ReplyArg, ReplyArgs string

	Language string // LSP: of the documents; "" is the first of Languages whose symbol the server finds

	Pipe       syspipe.Kind  // of standard input and output; "" is anonymous
	Capacity   int           // bytes of each pipe; 0 leaves it to the system
	WriteChunk int           // bytes given to the pipe at a time; 0 is a message in one call
	WritePause time.Duration // between two of those

	Start    time.Duration // how long the server may take until it has answered the handshake; 0 is 10 s
	Patience time.Duration // the least deadline for an answer; 0 is 1 s
	Longest  time.Duration // the greatest; 0 is 2 min
	Budget   time.Duration // how long a sweep measures one size; 0 is 300 ms

	Starts   int // of a server whose starts are compared; 0 is 50
	Requests int // after which memory is compared; 0 is 10,000

	MaxReply int // bytes of a message of the server's, beyond which it is said to have no end; 0 is 256 MiB

	Observe func(step string) // if set, is told what is tried, by the goroutine that measures

	Run  string // the run that records belong to
	Seed int64

	root      string // LSP: of the documents, a URI
	undrained bool   // leave standard error unread
	nonblock  bool   // hand the server a standard output in non-blocking mode
	behind    bool   // have a process between us start the server
	mark      string // "NAME=value" in Env, by which what the server starts is found; "" where nobody is
	scratch   string // the folder for temporary files in Env; "" where there is none
}

// Validate reports all that is wrong with the options, without starting anything.
func (o Options) Validate() error {
	_, err := o.withDefaults()
	return err
}

// withDefaults fills in what was left open, and reports all that is wrong with the rest.
func (o Options) withDefaults() (Options, error) {
	var faults []error
	if len(o.Command) == 0 {
		faults = append(faults, errors.New("no command to start"))
	}
	o.Pipe = cmp.Or(o.Pipe, syspipe.Anonymous)
	faults = append(faults, o.Pipe.Supported(), o.checkRequest(), compact(&o.Args), compact(&o.ReplyArgs))
	o.Request = cmp.Or(o.Request, RequestAuto)
	if o.Observe == nil {
		o.Observe = func(string) {}
	}
	if o.Protocol != "" && !slices.Contains(Protocols(), o.Protocol) {
		faults = append(faults, fmt.Errorf("unknown protocol %q (known: %s)", o.Protocol, strings.Join(Protocols(), ", ")))
	}
	if o.Framing != "" {
		if _, err := framers.Parse(o.Framing); err != nil {
			faults = append(faults, err)
		}
	}
	for d, usual := range map[*time.Duration]time.Duration{
		&o.Start: 10 * time.Second, &o.Patience: time.Second, &o.Longest: 2 * time.Minute, &o.Budget: 300 * time.Millisecond,
	} {
		*d = cmp.Or(max(*d, 0), usual)
	}
	o.MaxReply = cmp.Or(max(o.MaxReply, 0), 256<<20)
	o.Starts, o.Requests = cmp.Or(max(o.Starts, 0), 50), cmp.Or(max(o.Requests, 0), 10_000)
	if o.Capacity < 0 || o.WriteChunk < 0 || o.WritePause < 0 {
		faults = append(faults, errors.New("capacity, write chunk and write pause cannot be negative"))
	}
	if err := errors.Join(faults...); err != nil {
		return o, fmt.Errorf("drive: %w", err)
	}
	return o, nil
}

// checkRequest reports a request that is none, or cannot be.
func (o Options) checkRequest() error {
	switch {
	case o.Request != "" && !slices.Contains(Requests(), o.Request):
		return fmt.Errorf("unknown request %q (known: %s)", o.Request, strings.Join(Requests(), ", "))
	case o.ReplyArg+o.ReplyArgs != "" && o.ReplyTool == "":
		return errors.New("arguments for replies say nothing without their tool")
	case o.Tool != "" && (o.Request == RequestUnknown || o.Request == RequestDocument):
		return fmt.Errorf("tool %s is not called by request %q", o.Tool, o.Request)
	case o.Language != "" && o.Request != RequestDocument:
		return fmt.Errorf("language %q says nothing without request %q", o.Language, RequestDocument)
	}
	return nil
}

// compact makes a JSON object its members, each followed by a comma, on one line.
func compact(args *string) error {
	if *args == "" {
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(*args), &members); err != nil {
		return fmt.Errorf("arguments %s: want a JSON object: %w", *args, err)
	}
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var value bytes.Buffer
		if err := json.Compact(&value, members[name]); err != nil {
			return fmt.Errorf("arguments %s: %w", *args, err)
		}
		text = fmt.Appendf(text, "%s:%s,", quoted(name), value.Bytes())
	}
	*args = string(text)
	return nil
}
