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
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Driver drives one server, and starts it again whenever it fails.
type Driver struct {
	o        Options
	protocol *protocol
	pace     deadlineModel
	ready    time.Duration // that the first start took, until the server had answered
	refusal  string        // the code of the error that a server gives for an unknown method
	least    map[int]int64 // round trips of a size that are demanded of a sweep

	folder string // of the documents, ours to remove; "" where there are none

	mu       sync.Mutex
	c        *conn                   // nil between a failure and the next start
	starting context.CancelCauseFunc // gives up the start that is under way; nil while none is
	closed   bool
	starts   int

	failedStarts int    // after a failure, that no record tells of yet
	failure      string // how a sweep failed, for a search that finds no limit
	unswept      int    // bytes from which on a sweep had no time, 0 where it had
}

// Open starts the server, finds out what it speaks, and shakes hands. It fails with a [*StartError]
// if the command cannot be run at all, and with a [*HandshakeError] if it cannot be spoken to.
func Open(ctx context.Context, o Options) (*Driver, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Driver{o: o}
	if d.o.Request == RequestDocument {
		// Some language servers look around where a document lies: in an empty folder.
		if d.folder, err = os.MkdirTemp("", "pipebench-documents-"); err != nil {
			return nil, fmt.Errorf("drive: a folder for documents: %w", err)
		}
		path := filepath.ToSlash(d.folder)
		if !strings.HasPrefix(path, "/") {
			path = "/" + path // a drive's letter
		}
		d.o.root = (&url.URL{Scheme: "file", Path: path}).String()
	}
	if err := d.begin(ctx); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// begin starts the server, and learns what it speaks, how it refuses, and whether its answers hold
// what was sent.
func (d *Driver) begin(ctx context.Context) (err error) {
	began := time.Now()
	if d.protocol = newProtocol(d.o); d.protocol == nil {
		if d.protocol, d.c, err = detect(ctx, d.o); err != nil {
			return err
		}
	}
	if !slices.Contains(d.protocol.requests, d.o.Request) {
		known := strings.Join(d.protocol.requests, ", ")
		return fmt.Errorf("drive: %s has no request %q, only %s", d.protocol.name, d.o.Request, known)
	}
	if !d.protocol.tools() && d.o.Tool+d.o.Arg+d.o.Args+d.o.ReplyTool != "" {
		return fmt.Errorf("drive: %s has no tools that could be called with arguments", d.protocol.name)
	}
	if d.c == nil {
		if d.c, err = d.start(ctx); err != nil {
			return err
		}
	}
	d.starts, d.ready = 1, time.Since(began)
	out, err := d.try(ctx, transportRequest)
	d.refusal = out.code
	if p := d.protocol; err == nil && p.tryEcho {
		p.echoes = true
		out, err = d.try(ctx, toolRequest)
		p.echoes = out.verdict == OK && out.code == ""
	}
	return err
}

// start starts the server and shakes hands.
func (d *Driver) start(ctx context.Context) (*conn, error) {
	c, err := connect(d.o, d.protocol.wire)
	if err != nil {
		return nil, err
	}
	return d.greet(ctx, c)
}

// greet shakes hands with a server that was started, and ends it where that fails.
func (d *Driver) greet(ctx context.Context, c *conn) (*conn, error) {
	c.speak(d.protocol)
	var err error
	if d.protocol.greet != nil {
		err = d.protocol.greet(ctx, c, d.o.Start)
	}
	if err == nil && c.whole.Load() == 0 {
		// Nothing was asked in the handshake: a first sign of life keeps the start of the server
		// out of the time that a later answer has.
		if _, err = c.ask(ctx, d.smallest(transportRequest).number(0), d.o.Start); err != nil {
			err = fmt.Errorf("a first request: %w", err)
		}
	}
	if err == nil {
		return c, nil
	}
	refused := handshakeError(d.o, c, err)
	return nil, cmp.Or(context.Cause(ctx), refused)
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

// Starts returns how often the server was started.
func (d *Driver) Starts() int { return d.starts }

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
	if d.folder != "" {
		os.RemoveAll(d.folder) // a server may have left something in it; a folder that stays is no failure of the server's
	}
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
	if d.starting = cancel; d.closed {
		cancel(errClosed)
	}
	d.mu.Unlock()
	c, err := d.restart(starting)
	d.mu.Lock()
	d.starting = nil
	// Once the driver is closed nobody would end this server, nor what is written to it.
	if err = cmp.Or(err, context.Cause(starting)); err == nil {
		d.c = c
		d.starts++
	}
	d.mu.Unlock()
	if err != nil && c != nil {
		c.shutdown(false)
	}
	return c, err
}

// heed ends a write that is under way when ctx ends, by closing the server's input, until it is told
// to stop.
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
	// mostTries is how often a server is started again before it is given up: one that does not come
	// to life once may the next time, and a sweep is not thrown away for it.
	mostTries = 3
	// longestPause is how long a second start waits at most after one that failed, a third twice that. The first after a server
	// that was ready is at once: one that fails at a size is no crash loop.
	longestPause = 100 * time.Millisecond
)

// restart starts a server that was running before.
func (d *Driver) restart(ctx context.Context) (*conn, error) {
	for tries := 1; ctx.Err() == nil; tries++ {
		c, err := d.start(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
			return c, err
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
	if d.c == c {
		d.c = nil
	}
}

// try makes one small request.
func (d *Driver) try(ctx context.Context, kind requestKind) (outcome, error) {
	return d.roundTrip(ctx, d.smallest(kind), 0)
}

// request makes a request of size bytes, or of as few as it takes.
func (d *Driver) request(kind requestKind, size int) *requestTemplate {
	t := d.protocol.request(kind, size)
	t.refusal = d.refusal
	return t
}

// smallest makes a request that any server takes, with room for its number.
func (d *Driver) smallest(kind requestKind) *requestTemplate {
	return d.request(kind, len(d.request(kind, 0).msg)+4*stampDigits)
}
