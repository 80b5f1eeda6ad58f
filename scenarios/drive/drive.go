// Package drive starts a real stdio server, loads it, and says how fast it is, how it grows with
// the size of a message, at which byte it breaks, and how.
//
//	d, err := drive.Open(ctx, drive.Options{Command: []string{"my-server", "--stdio"}})
//	if err != nil {
//		return err
//	}
//	defer d.Close()
//	sweep, err := d.Sweep(ctx, drive.Doubling(1<<10, 16<<20), sink) // a record a size
//	limits, err := d.FindLimits(ctx, 64<<20, sink)                   // the last size that works
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
// A Driver belongs to one goroutine. The end of a context ends what is under way, and the server
// with it. Several Drivers may run side by side, but then their figures are of a shared machine.
//
// # Not promised
//
// The driver shares the machine with the server: its share of CPU time is in every record, and the
// figure is the pair's. A server that answers after its deadline counts as one that does not;
// deadlines grow with what the server took for smaller messages. What the server writes anywhere
// but to its standard streams is not looked at.
package drive

import (
	"context"
	"fmt"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

// A Driver drives one server, and starts it again whenever it fails. It is of no use after Close.
//
// Its methods return an error that is ours, or that of a server that cannot be started any more.
// A server that does something wrong is an outcome, no error.
type Driver struct {
	o        Options
	server   target.Options
	protocol *target.Protocol

	s        *target.Server // nil between a failure and the next start
	starts   int
	inChunks bool // a server before this one has answered in chunks where it is sent lines

	least        map[int]int64 // round trips of a size that are demanded of a sweep
	failedStarts int           // after a failure, that no record tells of yet
	failure      string        // how a sweep failed, for a search that finds no limit
	unswept      int           // bytes from which on a sweep had no time, 0 if it had
}

// A StartError is returned when the command could not be started at all.
type StartError = target.StartError

// A HandshakeError is returned for a command that starts and cannot be spoken to. Its Advice says
// what to look at first.
type HandshakeError = target.HandshakeError

// A Sink takes each record as it is finished. An error from it ends the work.
type Sink func(results.Line) error

// Open starts the server, finds out what it speaks, and shakes hands. It fails with a [*StartError]
// if the command cannot be run at all, and with a [*HandshakeError] if it cannot be spoken to.
func Open(ctx context.Context, o Options) (*Driver, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Driver{o: o, server: o.target()}
	s, err := target.Open(ctx, d.server)
	if err != nil {
		return nil, err
	}
	d.protocol = s.Protocol()
	d.take(s)
	return d, nil
}

// take makes s the server that is driven.
func (d *Driver) take(s *target.Server) {
	s.Ignore() // answers that come when nobody waits for them
	d.s = s
	d.starts++
}

// Protocol returns what the server speaks, with the revision if there is one: "mcp 2025-11-25",
// "lines".
func (d *Driver) Protocol() string { return d.protocol.Name }

// Framing returns the spec of how it tells messages apart.
func (d *Driver) Framing() string {
	if d.inChunks || d.s != nil && d.s.InChunks() {
		return "adaptive"
	}
	return d.protocol.Framing.String()
}

// Request says in words what the driver sends.
func (d *Driver) Request() string { return d.protocol.Sends() }

// Close ends the server. It may be called again.
func (d *Driver) Close() error {
	d.end(true)
	d.protocol.Close()
	return nil
}

// end ends the server if it runs. A polite one lets it leave by itself first.
func (d *Driver) end(politely bool) {
	if d.s != nil {
		d.inChunks = d.inChunks || d.s.InChunks()
		d.s.Shutdown(politely)
	}
	d.s = nil
}

const (
	// mostTries is how often a server is started again before it is given up: one that does not
	// come to life once may the next time, and a sweep is not thrown away for it.
	mostTries = 3
	// pause is how long a second start waits after one that failed, a third twice that. The first
	// after a server that was ready is at once: one that fails at a size is no crash loop.
	pause = 50 * time.Millisecond
)

// live returns the running server, and starts it again if it is not running.
func (d *Driver) live(ctx context.Context) (*target.Server, error) {
	if d.s != nil {
		return d.s, nil
	}
	for tries := 1; ; tries++ {
		s, err := target.Start(ctx, d.server, d.protocol)
		if err == nil {
			d.take(s)
			return s, nil
		}
		if tries == mostTries || ctx.Err() != nil {
			return nil, fmt.Errorf("start it again, %d times: %w", tries, err)
		}
		d.failedStarts++
		select {
		case <-time.After(time.Duration(tries) * pause):
		case <-ctx.Done():
		}
	}
}

// discard ends a server that failed. The next request gets a new one, which goes on with its pace.
func (d *Driver) discard() {
	d.protocol.Paces = d.s.Paces
	d.end(false)
}

// observe tells what is done, and with which process, which may be inspected meanwhile.
func (d *Driver) observe(step string) {
	if d.s != nil {
		step = fmt.Sprintf("process %d: %s", d.s.Process.Cmd.Process.Pid, step)
	}
	d.o.Observe(step)
}

// trip sends the request's i-th copy and waits for its answer. Its error is ours, or that the
// server cannot be started any more; the outcome holds what the server does wrong, and it has been
// ended then.
func (d *Driver) trip(
	ctx context.Context, r *target.Request, i int64,
) (target.Outcome, error) {
	s, err := d.live(ctx)
	if err != nil {
		return target.Outcome{}, err
	}
	out, err := s.Trip(ctx, r, i)
	if err != nil || !out.Lives() {
		d.discard()
	}
	return out, err
}

// checkAlive asks a server that has answered for another sign of life: one that ends over a message
// after its answer would else seem to end over the next.
func (d *Driver) checkAlive(ctx context.Context, out *target.Outcome) error {
	after, err := d.trip(ctx, d.protocol.Smallest(target.Transport), 0)
	if err != nil || after.Verdict == target.OK {
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
		Command: d.o.Command, Protocol: d.protocol.Speaks(), Verdict: string(target.OK),
		Evidence: results.TargetEvidence{
			Server: &results.ServerEvidence{
				Spoken: d.Protocol(), Framing: d.Framing(), Pipe: string(d.o.Pipe),
				Request: d.Request(),
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
	s := d.s
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

// warn adds a warning to a record.
func warn(t *results.Target, format string, args ...any) {
	t.Warnings = append(t.Warnings, fmt.Sprintf(format, args...))
}

// setFailure makes t the record of a request of a size that was not served; 0 is any.
func (d *Driver) setFailure(t *results.Target, out target.Outcome, size int) {
	t.Verdict = string(out.Verdict)
	t.Evidence.Advice = out.Advice(d.o.commandLine(size))
	t.Evidence.Failure = out.Evidence
	t.Evidence.Why = out.Why
}

func setVerdict(t *results.Target, v target.Verdict) {
	t.Verdict = string(v)
	t.Evidence.Advice = v.Advice()
}
