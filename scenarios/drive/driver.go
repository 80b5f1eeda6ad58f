// Package drive starts a real stdio server, loads it, and says how fast it is, how it grows with
// the size of a message, at which byte it breaks, and how.
//
//	d, err := drive.Open(ctx, drive.Options{Command: []string{"my-server", "--stdio"}})
//	if err != nil {
//		return err
//	}
//	defer d.Close()
//	err = d.Sweep(ctx, drive.Doubling(1<<10, 16<<20), sink) // round trips, a record a size
//	limits, err := d.FindLimits(ctx, 64<<20, sink)           // the exact last size that works
//
// A server author's own test is one call of [Check]:
//
//	drive.Check(t, exec.Command("./my-server"), drive.Limit(16<<20), drive.Slope(1.3))
//
// The server is a child with its standard streams on pipes of our choosing. What it is spoken to in
// (MCP, LSP, bare JSON-RPC, or lines) is found out, or given, and so is what requests exercise: the
// transport alone, a tool of an MCP server, or the documents of a language server (see [Requests]).
// Every request has one deadline for being accepted and one for being answered; after a failure the
// server is asked whether it still lives, its exit status, CPU time, memory, unread bytes and last
// lines on standard error are taken, and it is started again.
//
// Sizes are those of messages, in bytes, the framing's terminator or header not counted.
//
// # Who may call concurrently
//
// A Driver belongs to one goroutine. Close may be called by any, and ends what is under way.
// Several Drivers may run side by side, but then their figures are of a shared machine.
//
// # Not promised
//
// The driver shares the machine with the server: its share of CPU time is in every record, and the
// figure is the pair's. A server that answers after its deadline counts as one that does not;
// deadlines grow with what the server took for smaller messages. What the server writes anywhere
// but to its standard streams is not looked at.
package drive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/syspipe"
)

// A Driver drives one server, and starts it again whenever it fails.
//
// Its methods return an error that is ours, or that of a server that cannot be started any more.
// What a server does wrong is no error but an outcome.
type Driver struct {
	o        Options
	protocol *protocol
	paces    [transportRequest + 1]deadlineModel // by kind of request
	// that the first start took, until the server had answered
	ready time.Duration
	// the code of the error that a server gives for an unknown method
	refusal string
	// round trips of a size that are demanded of a sweep
	least map[int]int64

	folder string // of the documents, ours to remove; "" where there are none

	mu       sync.Mutex
	c        *conn                   // nil between a failure and the next start
	starting context.CancelCauseFunc // gives up the start that is under way; nil while none is
	closed   bool
	starts   int

	failedStarts int    // after a failure, that no record tells of yet
	failure      string // how a sweep failed, for a search that finds no limit
	unswept      int    // bytes from which on a sweep had no time, 0 where it had
	toolFails    bool   // the tool did not answer a first, small request
}

// Open starts the server, finds out what it speaks, and shakes hands. It fails with a [*StartError]
// if the command cannot be run at all, and with a [*HandshakeError] if it cannot be spoken to.
func Open(ctx context.Context, o Options) (*Driver, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Driver{o: o}
	if err := d.begin(ctx); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// begin starts the server, and learns what it speaks, how it refuses, and whether its answers hold
// what was sent.
func (d *Driver) begin(ctx context.Context) error {
	if d.o.Request == RequestDocument {
		if err := d.makeFolder(); err != nil {
			return err
		}
	}
	began := time.Now()
	d.protocol = newProtocol(d.o)
	if d.protocol == nil {
		p, c, err := detect(ctx, d.o)
		if err != nil {
			return err
		}
		d.protocol, d.c = p, c
	}
	p := d.protocol
	if !slices.Contains(p.requests, d.o.Request) {
		return fmt.Errorf("drive: %s has no request %q, only %s",
			p.name, d.o.Request, strings.Join(p.requests, ", "))
	}
	if !p.tools() && d.o.Tool+d.o.Arg+d.o.Args+d.o.ReplyTool != "" {
		return fmt.Errorf("drive: %s has no tools that could be called with arguments", p.name)
	}
	if d.c == nil {
		c, err := d.start(ctx)
		if err != nil {
			return err
		}
		d.c = c
	}
	d.starts, d.ready = 1, time.Since(began)
	return d.learn(ctx)
}

// learn makes first requests, and learns how the server refuses and whether its answers hold what
// was sent.
func (d *Driver) learn(ctx context.Context) error {
	out, err := d.first(ctx, transportRequest)
	if err != nil {
		return err
	}
	d.refusal = out.code
	d.paces[toolRequest] = d.paces[transportRequest]
	if !d.protocol.tryEcho {
		return nil
	}
	d.protocol.echoes = true
	out, err = d.first(ctx, toolRequest)
	d.protocol.echoes = out.verdict == OK && out.code == ""
	d.toolFails = out.verdict != OK && out.verdict != ErrorReply
	return err
}

// makeFolder makes an empty folder for documents: some language servers look around where one lies.
func (d *Driver) makeFolder() error {
	folder, err := os.MkdirTemp("", "pipebench-documents-")
	if err != nil {
		return fmt.Errorf("drive: a folder for documents: %w", err)
	}
	d.folder = folder
	path := "/" + strings.TrimPrefix(filepath.ToSlash(d.folder), "/") // before a drive's letter
	d.o.root = (&url.URL{Scheme: "file", Path: path}).String()
	return nil
}

// start starts the server and shakes hands.
func (d *Driver) start(ctx context.Context) (*conn, error) {
	c, err := connect(d.o, d.protocol.wire)
	if err != nil {
		return nil, err
	}
	if err := d.greet(ctx, c); err != nil {
		return nil, err
	}
	return c, nil
}

// greet shakes hands with a server that was started, and ends it if that fails.
func (d *Driver) greet(ctx context.Context, c *conn) error {
	c.protocol.Store(d.protocol)
	h := handshake{conn: c, ctx: ctx, within: d.o.Start}
	var err error
	if d.protocol.greet != nil {
		err = d.protocol.greet(h)
	}
	if err == nil && c.whole.Load() == 0 {
		// Nothing was asked in the handshake: a first sign of life keeps the start of the server
		// out of the time that a later answer has.
		_, err = h.ask("a first request", d.smallest(transportRequest).number(0))
	}
	if err != nil {
		return cmp.Or(context.Cause(ctx), handshakeError(d.o, c, err))
	}
	return nil
}

// Protocol returns what the server speaks, with the revision where there is one: "mcp 2025-11-25",
// "lines".
func (d *Driver) Protocol() string { return d.protocol.name }

// speaks returns the protocol without its revision.
func (d *Driver) speaks() string {
	name, _, _ := strings.Cut(d.Protocol(), " ")
	return name
}

// Framing returns the spec of how it tells messages apart.
func (d *Driver) Framing() string { return d.protocol.wire.String() }

// Request says in words what the driver sends.
func (d *Driver) Request() string {
	switch p := d.protocol; {
	case p.sends == "":
		return "method " + unknownMethod + ", which is to be refused"
	case p.echoes:
		return p.sends + ", its answers compared byte by byte"
	}
	return d.protocol.sends
}

// Close ends the server. It may be called by anyone, ends what is under way, and may be called
// again.
func (d *Driver) Close() error {
	d.end(true)
	return nil
}

// end ends the server; one that is not worth the wait is not given time to leave.
func (d *Driver) end(politely bool) {
	d.mu.Lock()
	c := d.c
	d.c, d.closed = nil, true
	if d.starting != nil {
		d.starting(errClosed)
	}
	d.mu.Unlock()
	if c != nil {
		c.shutdown(politely)
	}
	// "" is none; a server may have left something in it, and if it stays that is no failure of the
	// server's
	os.RemoveAll(d.folder)
}

// live returns the running server, and starts it again if it is not running, unless the driver is
// closed, or closed meanwhile.
func (d *Driver) live(ctx context.Context) (*conn, error) {
	if c := d.running(); c != nil {
		return c, nil
	}
	starting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d.mu.Lock()
	d.starting = cancel
	if d.closed {
		cancel(errClosed)
	}
	d.mu.Unlock()
	c, err := d.restart(starting)
	d.mu.Lock()
	d.starting = nil
	// Once the driver is closed nobody would end this server, nor what is written to it.
	err = cmp.Or(err, context.Cause(starting))
	if err == nil {
		d.c = c
		d.starts++
	}
	d.mu.Unlock()
	if err != nil && c != nil {
		c.shutdown(false)
	}
	return c, err
}

// heed ends a write that is under way when ctx ends, by closing the server's input, until it is
// told to stop.
func (d *Driver) heed(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		if c := d.running(); c != nil {
			c.stdin.Close()
		}
	})
}

// running returns the server, nil where none runs.
func (d *Driver) running() *conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.c
}

const (
	// mostTries is how often a server is started again before it is given up: one that does not
	// come to life once may the next time, and a sweep is not thrown away for it.
	mostTries = 3
	// longestPause is how long a second start waits at most after one that failed, a third twice
	// that. The first after a server that was ready is at once: one that fails at a size is no
	// crash loop.
	longestPause = 100 * time.Millisecond
)

// restart starts a server that was running before.
func (d *Driver) restart(ctx context.Context) (*conn, error) {
	for tries := 1; ctx.Err() == nil; tries++ {
		c, err := d.start(ctx)
		switch {
		case err == nil:
			return c, nil
		case ctx.Err() != nil:
			return nil, err
		case tries == mostTries:
			return nil, fmt.Errorf("start it again, %d times: %w", tries, err)
		}
		d.failedStarts++
		select {
		case <-time.After(rand.N(time.Duration(tries) * longestPause)):
		case <-ctx.Done():
		}
	}
	return nil, context.Cause(ctx)
}

// discard ends a server that failed. The next request gets a new one.
func (d *Driver) discard(c *conn) {
	c.shutdown(false)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.c = nil
}

// first makes one small request of a kind of which nothing is known: the server has as long as for
// its start.
func (d *Driver) first(ctx context.Context, kind requestKind) (outcome, error) {
	d.paces[kind] = deadlineModel{1, d.o.Start / margin}
	out, err := d.roundTrip(ctx, d.smallest(kind), 0)
	if out.verdict != OK {
		d.paces[kind] = deadlineModel{}
	}
	return out, err
}

// request makes a request of size bytes, or of as few as it takes.
func (d *Driver) request(kind requestKind, size int) *requestTemplate {
	p := d.protocol
	t := p.request(kind, size)
	t.kind, t.refusal = kind, d.refusal
	// where there are tools, nothing else echoes
	t.echoes = p.echoes && (kind == toolRequest || !p.tools())
	return t
}

// smallest makes a request that any server takes, with room for its number.
func (d *Driver) smallest(kind requestKind) *requestTemplate {
	return d.request(kind, len(d.request(kind, 0).msg)+4*stampDigits)
}

// Options say what to start and how to speak to it. Only Command is needed.
type Options struct {
	Command []string // program and arguments; no shell is involved
	Env     []string // of the server; nil is ours
	Dir     string   // where it runs; "" is where we run

	Protocol string // "mcp", "lsp", "jsonrpc", "lines"; "" and "auto" find out
	Framing  string // a framers spec; "" is the protocol's own
	Lenient  bool   // malformed lines of a header are skipped
	Request  string // what requests exercise, one of Requests; "" is RequestAuto

	// MCP: the tool to call ("" is "echo" if there is one, else a method that no server knows), its
	// argument that takes the payload ("" is its first text), and the others, a JSON object.
	Tool, Arg, Args string
	// MCP: the tool by which the limit of replies is sought ("" is the echo, and beyond the limit
	// of requests one that makes bytes), its argument that says how much ("" is its first number),
	// and the others, a JSON object.
	ReplyTool, ReplyArg, ReplyArgs string

	// LSP: of the documents; "" is the first of Languages whose symbol the server finds
	Language string

	Pipe       syspipe.Kind  // of standard input and output; "" is anonymous
	Capacity   int           // bytes of each pipe; 0 leaves it to the system
	WriteChunk int           // bytes given to the pipe at a time; 0 is a message in one call
	WritePause time.Duration // between two of those

	// how long the server may take until it has answered the handshake; 0 is 10 s
	Start    time.Duration
	Patience time.Duration // the least deadline for an answer; 0 is 1 s
	Longest  time.Duration // the greatest; 0 is 2 min
	Budget   time.Duration // how long a sweep measures one size; 0 is 300 ms

	// bytes of a message of the server's, beyond which it is said to have no end; 0 is 256 MiB
	MaxReply int

	Observe func(step string) // if set, is told what is tried, by the goroutine that measures

	Run string // the run that records belong to

	root string // LSP: of the documents, a URI
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
	faults = append(
		faults,
		o.Pipe.Supported(),
		o.checkRequest(),
		compact(&o.Args),
		compact(&o.ReplyArgs),
	)
	o.Request = cmp.Or(o.Request, RequestAuto)
	if o.Observe == nil {
		o.Observe = func(string) {}
	}
	if o.Protocol != "" && !slices.Contains(Protocols(), o.Protocol) {
		faults = append(
			faults,
			fmt.Errorf(
				"unknown protocol %q (known: %s)",
				o.Protocol,
				strings.Join(Protocols(), ", "),
			),
		)
	}
	_, err := framers.Parse(cmp.Or(o.Framing, "ndjson"))
	faults = append(faults, err)
	o.Start = cmp.Or(max(o.Start, 0), 10*time.Second)
	o.Patience = cmp.Or(max(o.Patience, 0), time.Second)
	o.Longest = cmp.Or(max(o.Longest, 0), 2*time.Minute)
	o.Budget = cmp.Or(max(o.Budget, 0), 300*time.Millisecond)
	o.MaxReply = cmp.Or(max(o.MaxReply, 0), 256<<20)
	if o.Capacity < 0 || o.WriteChunk < 0 || o.WritePause < 0 {
		faults = append(
			faults,
			errors.New("capacity, write chunk and write pause cannot be negative"),
		)
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
		return fmt.Errorf(
			"unknown request %q (known: %s)",
			o.Request,
			strings.Join(Requests(), ", "),
		)
	case o.ReplyArg+o.ReplyArgs != "" && o.ReplyTool == "":
		return errors.New("arguments for replies say nothing without their tool")
	case o.Tool != "" && (o.Request == RequestUnknown || o.Request == RequestDocument):
		return fmt.Errorf("tool %s is not called by request %q", o.Tool, o.Request)
	case o.Language != "" && o.Request != RequestDocument:
		return fmt.Errorf(
			"language %q says nothing without request %q",
			o.Language,
			RequestDocument,
		)
	}
	return nil
}

// compact makes a JSON object its members, each followed by a comma, on one line.
func compact(args *string) error {
	if *args == "" {
		return nil
	}
	text := jsontext.Value(*args)
	err := text.Compact()
	if err == nil && text.Kind() != '{' {
		err = errors.New("it is none")
	}
	if err != nil {
		return fmt.Errorf("arguments %s: want a JSON object: %w", *args, err)
	}
	if *args = string(text[1 : len(text)-1]); *args != "" {
		*args += ","
	}
	return nil
}
