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
// A server author's own test is one call of drivetest.Check.
//
// The server is a child with its standard streams on pipes of our choosing. What it is spoken to in
// (MCP, LSP, bare JSON-RPC, or lines) is found out, or given, and so is what requests exercise: the
// transport alone, a tool of an MCP server, or the documents of a language server (see [Requests]).
// Every request has one deadline for being accepted and one for being answered, which are put off
// while the server is at work; after a failure the server is asked whether it still lives, its exit
// status, CPU time, memory, unread bytes and last lines on standard error are taken, and it is
// started again.
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
	"strings"
	"sync"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

var errClosed = errors.New("drive: the driver is closed")

// A Driver drives one server, and starts it again whenever it fails.
//
// Its methods return an error that is ours, or that of a server that cannot be started any more.
// A server that does something wrong is an outcome, no error.
type Driver struct {
	o        Options
	server   target.Options
	protocol *target.Protocol
	folder   string // of the documents, ours to remove; "" if there are none

	mu       sync.Mutex
	s        *target.Server          // nil between a failure and the next start
	starting context.CancelCauseFunc // gives up the start that is under way; nil while none is
	closed   bool
	starts   int

	least        map[int]int64 // round trips of a size that are demanded of a sweep
	failedStarts int           // after a failure, that no record tells of yet
	failure      string        // how a sweep failed, for a search that finds no limit
	unswept      int           // bytes from which on a sweep had no time, 0 if it had
	notChunks    bool          // what looked like a chunk was none
}

// Open starts the server, finds out what it speaks, and shakes hands. It fails with a [*StartError]
// if the command cannot be run at all, and with a [*HandshakeError] if it cannot be spoken to.
func Open(ctx context.Context, o Options) (*Driver, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Driver{o: o, server: o.target(), starts: 1}
	if o.Request == RequestDocument {
		if err := d.makeFolder(); err != nil {
			return nil, err
		}
	}
	s, err := target.Open(ctx, d.server)
	if err != nil {
		os.RemoveAll(d.folder)
		return nil, err
	}
	d.take(s)
	d.protocol = s.Protocol()
	return d, nil
}

// take makes s the server that is driven.
func (d *Driver) take(s *target.Server) {
	s.Ignore() // answers that come when nobody waits for them
	d.s = s
}

// makeFolder makes an empty folder for documents: some language servers look around where one lies.
func (d *Driver) makeFolder() error {
	folder, err := os.MkdirTemp("", "pipebench-documents-")
	if err != nil {
		return fmt.Errorf("drive: a folder for documents: %w", err)
	}
	d.folder = folder
	path := "/" + strings.TrimPrefix(filepath.ToSlash(d.folder), "/") // before a drive's letter
	d.server.Root = (&url.URL{Scheme: "file", Path: path}).String()
	return nil
}

// Protocol returns what the server speaks, with the revision if there is one: "mcp 2025-11-25",
// "lines".
func (d *Driver) Protocol() string { return d.protocol.Name }

// Framing returns the spec of how it tells messages apart.
func (d *Driver) Framing() string { return d.protocol.Framing.String() }

// Request says in words what the driver sends.
func (d *Driver) Request() string { return d.protocol.Sends() }

// Close ends the server. It may be called by anyone, ends what is under way, and may be called
// again.
func (d *Driver) Close() error {
	d.mu.Lock()
	s := d.s
	d.s = nil
	d.closed = true
	if d.starting != nil {
		d.starting(errClosed)
	}
	d.mu.Unlock()
	if s != nil {
		s.Shutdown(true)
	}
	// "" is none; a server may have left something in it, and if it stays that is no failure of the
	// server's
	os.RemoveAll(d.folder)
	return nil
}

// running returns the server, nil if none runs.
func (d *Driver) running() *target.Server {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.s
}

// live returns the running server, and starts it again if it is not running, unless the driver is
// closed, or closed meanwhile.
func (d *Driver) live(ctx context.Context) (*target.Server, error) {
	if s := d.running(); s != nil {
		return s, nil
	}
	starting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d.mu.Lock()
	d.starting = cancel
	if d.closed {
		cancel(errClosed)
	}
	d.mu.Unlock()
	s, err := d.restart(starting)
	d.mu.Lock()
	d.starting = nil
	// Once the driver is closed nobody would end this server, nor what is written to it.
	err = cmp.Or(err, context.Cause(starting))
	if err == nil {
		d.take(s)
		d.starts++
	}
	d.mu.Unlock()
	if err != nil && s != nil {
		s.Shutdown(false)
	}
	return s, err
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
func (d *Driver) restart(ctx context.Context) (*target.Server, error) {
	for tries := 1; ctx.Err() == nil; tries++ {
		s, err := target.Start(ctx, d.server, d.protocol)
		switch {
		case err == nil:
			return s, nil
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

// discard ends a server that failed. The next request gets a new one, which goes on with its pace.
func (d *Driver) discard(s *target.Server) {
	d.protocol.Paces = s.Paces
	s.Shutdown(false)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.s = nil
}

// trip sends the request's i-th copy and waits for its answer. Its error is ours, or that the
// server cannot be started any more; what the server does wrong is in the outcome, and it has been
// ended then.
func (d *Driver) trip(
	ctx context.Context, r *target.Request, i int64,
) (target.Outcome, error) {
	s, err := d.live(ctx)
	if err != nil {
		return target.Outcome{}, err
	}
	out, err := s.Trip(ctx, r, i)
	if err == nil && out.Lives() {
		return out, nil
	}
	d.discard(s)
	if err != nil {
		return out, err
	}
	if again, works := d.tripInChunks(ctx, s, r, i); works {
		return again, nil
	}
	return out, nil
}

// tripInChunks makes a round trip that failed once more, if the server seems to have answered in
// chunks. It reports false, and leaves the framing as it was, if that fails, too.
func (d *Driver) tripInChunks(
	ctx context.Context, failed *target.Server, r *target.Request, i int64,
) (out target.Outcome, works bool) {
	f := failed.Chunks()
	if f == nil || d.notChunks {
		return out, false
	}
	was := d.protocol
	inChunks := *was
	inChunks.Framing = f
	d.protocol = &inChunks
	s, err := d.live(ctx)
	if err == nil {
		out, err = s.Trip(ctx, r, i)
		if err == nil && out.Lives() {
			return out, true
		}
		d.discard(s)
	}
	d.protocol = was
	d.notChunks = ctx.Err() == nil
	return out, false
}

// checkAlive asks a server that has answered for another sign of life: one that ends over a message
// after its answer would else seem to end over the next.
func (d *Driver) checkAlive(ctx context.Context, out *target.Outcome) error {
	after, err := d.trip(ctx, d.protocol.Smallest(target.Transport), 0)
	if err != nil || after.Verdict == OK {
		return err
	}
	after.Why = "it was answered, but a small request after it was not: " + after.Why
	after.Size = out.Size
	*out = after
	return nil
}

// record begins a record about this server.
func (d *Driver) record() results.Target {
	t := results.Target{
		Kind: results.KindTarget, Run: d.o.Run, Time: time.Now().UTC(),
		Command: d.o.Command, Protocol: d.protocol.Speaks(), Verdict: string(OK),
		Evidence: results.TargetEvidence{
			Server: &results.ServerEvidence{
				Spoken: d.Protocol(), Framing: d.Framing(), Pipe: string(d.o.Pipe),
				Request: d.Request(), WriteChunk: d.o.WriteChunk, WritePause: int64(d.o.WritePause),
			},
			Capacity: d.o.Capacity,
		},
	}
	if d.failedStarts > 0 {
		warn(&t, "%d starts of the server after a failure came to nothing, and the next did not",
			d.failedStarts)
	}
	d.failedStarts = 0
	return t
}

// loud is how much a server may write to standard error before it is warned of: what a pipe holds,
// so that it would block unread.
const loud = 64 << 10

// warnOfSideEffects warns of what the server did on the side that may trouble a client.
func (d *Driver) warnOfSideEffects(t *results.Target) {
	s := d.running()
	if s == nil {
		return
	}
	lines, first := s.Strays.Lines()
	if lines > 0 {
		warn(t, "%d lines on standard output are no messages, the first: %q", lines, first)
	}
	late := s.Strays.Unasked.Load()
	if late > 0 {
		warn(t, "%d answers came that nobody waited for: to no request, or the second to one", late)
	}
	sent := s.In.Bytes()
	logged := s.Stderr().Total()
	if logged > max(sent, loud) {
		warn(t, "it wrote %d bytes to standard error for %d bytes of requests: "+
			"a client that does not read them will hang", logged, sent)
	}
}
