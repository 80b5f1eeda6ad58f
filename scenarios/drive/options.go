package drive

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/target"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// Options say what to start and how to speak to it. Only Command is needed.
type Options struct {
	Command []string // program and arguments; no shell is involved
	Env     []string // environment of the server; nil is that of this process
	Dir     string   // working directory of the server; "" is that of this process

	Protocol string // "mcp", "lsp", "jsonrpc" or "lines"; "" and "auto": Open finds out
	Framing  string // a spec of package framers; "" is the protocol's own framing
	Lenient  bool   // skip malformed lines in the header of a message
	Request  string // what requests exercise, one of Requests; "" is RequestAuto

	// For MCP: the tool to call. "" is the tool "echo"; a server without that tool is asked for an
	// unknown method instead. An answer with isError counts as an error. A tool that takes a number
	// in place of a text is a ReplyTool.
	Tool string
	Arg  string // the tool's argument for the payload; "" is its first that is a string
	Args string // the tool's other arguments, a JSON object
	// For MCP: the tool to call in the search for the limit of replies; "" leaves the choice to the
	// driver.
	ReplyTool string
	ReplyArg  string // that tool's argument for the number of bytes; "": its first number

	Language string // for LSP: the language of the documents, one of Languages or any other

	Pipe     syspipe.Kind // the kind of standard input and output; "" is an anonymous pipe
	Capacity int          // bytes of each pipe; 0 leaves it to the system

	Start    time.Duration // the deadline for the answer to the handshake; 0 is 10 s
	Patience time.Duration // the shortest deadline for any other answer; 0 is 1 s
	Longest  time.Duration // the longest deadline for an answer; 0 is 2 min
	Budget   time.Duration // how long a sweep measures one size; 0 is 300 ms

	MaxReply int // bytes; a longer message from the server counts as endless; 0 is 256 MiB

	// Observe, if set, is called with a text that says what is tried next. The goroutine that
	// measures calls it.
	Observe func(step string)

	Run string // the name of the run, which goes into each record
	// Recording is the file that Replay sends: advice names it, and Open starts the server anew.
	Recording string
}

// Values of Options.Request: what requests ask the server to do.
const (
	// RequestAuto calls the tool "echo" of an MCP server. For a server without that tool, it means
	// RequestUnknown.
	RequestAuto = target.RequestAuto
	// RequestUnknown asks for a method that no server knows, in a message padded to the wanted
	// size. The server only reads the message and refuses it.
	RequestUnknown = target.RequestUnknown
	// RequestTool calls a tool of an MCP server.
	RequestTool = target.RequestTool
	// RequestDocument sends a language server a document of the wanted size
	// ("textDocument/didOpen"), asks for the symbols in it, and closes it.
	RequestDocument = target.RequestDocument
)

// Requests lists the values of Options.Request.
func Requests() []string { return target.Requests() }

// Protocols lists the names of the protocols, "auto" first.
func Protocols() []string { return target.Protocols() }

// Languages lists the programming languages in which we can make a source file for a language
// server to open.
func Languages() []string { return target.Languages() }

// Validate returns an error about all that is wrong with the options, without starting anything.
func (o Options) Validate() error {
	_, err := o.withDefaults()
	return err
}

// withDefaults fills in the options that were left empty, and returns an error about all that is
// wrong.
func (o Options) withDefaults() (Options, error) {
	o.Pipe = cmp.Or(o.Pipe, syspipe.Anonymous)
	o.Request = cmp.Or(o.Request, RequestAuto)
	o.Start = cmp.Or(max(o.Start, 0), 10*time.Second)
	o.Patience = cmp.Or(max(o.Patience, 0), time.Second)
	o.Longest = cmp.Or(max(o.Longest, 0), 2*time.Minute)
	o.Budget = cmp.Or(max(o.Budget, 0), 300*time.Millisecond)
	o.MaxReply = cmp.Or(max(o.MaxReply, 0), 256<<20)
	if o.Observe == nil {
		o.Observe = func(string) {}
	}
	var wrong []error
	if len(o.Command) == 0 {
		wrong = append(wrong, errors.New("no command to start"))
	}
	if o.Capacity < 0 {
		wrong = append(wrong, errors.New("the capacity cannot be negative"))
	}
	if o.Protocol != "" && !slices.Contains(Protocols(), o.Protocol) {
		wrong = append(wrong, fmt.Errorf("unknown protocol %q (known: %s)",
			o.Protocol, strings.Join(Protocols(), ", ")))
	}
	_, err := framers.Parse(cmp.Or(o.Framing, "ndjson"))
	wrong = append(wrong, err, o.Pipe.Supported(), o.checkRequest())
	o.Args, err = members(o.Args)
	wrong = append(wrong, err)
	if err := errors.Join(wrong...); err != nil {
		return o, fmt.Errorf("drive: %w", err)
	}
	return o, nil
}

// checkRequest returns an error if the request is unknown, or if other options contradict it.
func (o Options) checkRequest() error {
	switch {
	case !slices.Contains(Requests(), o.Request):
		return fmt.Errorf("unknown request %q (known: %s)",
			o.Request, strings.Join(Requests(), ", "))
	case o.ReplyArg != "" && o.ReplyTool == "":
		return errors.New("an argument for replies says nothing without their tool")
	case o.Tool != "" && (o.Request == RequestUnknown || o.Request == RequestDocument):
		return fmt.Errorf("tool %s is not called by request %q", o.Tool, o.Request)
	case o.Language != "" && o.Request != RequestDocument:
		return fmt.Errorf("language %q says nothing without request %q",
			o.Language, RequestDocument)
	case o.Language == "" && o.Request == RequestDocument:
		return fmt.Errorf("request %q needs a language, such as %s",
			RequestDocument, strings.Join(Languages(), ", "))
	}
	return nil
}

// members returns the text inside the braces of a JSON object, with a comma at its end. The result
// is "" for an empty object.
func members(object string) (string, error) {
	if object == "" {
		return "", nil
	}
	var text bytes.Buffer
	if err := json.Compact(&text, []byte(object)); err != nil {
		return "", fmt.Errorf("arguments %s: want a JSON object: %w", object, err)
	}
	list, opens := strings.CutPrefix(text.String(), "{")
	if !opens {
		return "", fmt.Errorf("arguments %s: want a JSON object", object)
	}
	list = strings.TrimSuffix(list, "}")
	if list != "" {
		list += ","
	}
	return list, nil
}

// commandLine returns a pipebench drive command for requests of this size, or of the usual sizes if
// size is 0.
func (o Options) commandLine(size int, flags ...string) string {
	line := append([]string{"pipebench", "drive"}, flags...)
	add := func(flag, value string) {
		if value != "" {
			line = append(line, flag, value)
		}
	}
	if size > 0 {
		add("--size", results.SizeArgument(int64(size)))
	}
	if o.Protocol != "auto" {
		add("--protocol", o.Protocol)
	}
	add("--framing", o.Framing)
	if o.Request != RequestAuto {
		add("--request", o.Request)
	}
	add("--language", o.Language)
	add("--tool", o.Tool)
	add("--arg", o.Arg)
	if o.Args != "" { // without its braces, and with a comma
		add("--tool-args", "{"+strings.TrimSuffix(o.Args, ",")+"}")
	}
	add("--reply-tool", o.ReplyTool)
	add("--reply-arg", o.ReplyArg)
	if o.Pipe != syspipe.Anonymous {
		add("--pipe", string(o.Pipe))
	}
	if o.Capacity > 0 {
		add("--capacity", results.SizeArgument(int64(o.Capacity)))
	}
	if o.Lenient {
		line = append(line, "--lenient")
	}
	line = append(append(line, "--"), o.Command...)
	return proc.ShellLine(results.HideSecrets(line))
}

func (o Options) target() target.Options {
	return target.Options{
		Command: o.Command, Env: o.Env, Dir: o.Dir,
		Protocol: o.Protocol, Framing: o.Framing, Lenient: o.Lenient, Request: o.Request,
		Tool:      target.ToolCall{Name: o.Tool, Arg: o.Arg, Others: o.Args},
		ReplyTool: target.ToolCall{Name: o.ReplyTool, Arg: o.ReplyArg},
		Language:  o.Language,
		Pipes:     child.Options{MaxMessage: o.MaxReply, Pipe: o.Pipe, Capacity: o.Capacity},
		Start:     o.Start, Patience: o.Patience, Longest: o.Longest, Observe: o.Observe,
	}
}
