// Package drive puts load on a server that speaks over its standard input and output. It says how
// fast the server is, how its CPU time grows with the size of a message, and where and how it
// breaks.
//
//	d, err := drive.Open(ctx, drive.Options{Command: []string{"my-server", "--stdio"}})
//	if err != nil {
//		return err
//	}
//	defer d.Close()
//	sweep, err := d.Sweep(ctx, drive.Doubling(1<<10, 16<<20), sink) // one record for each size
//	limits, err := d.FindLimits(ctx, 64<<20, sink)                   // the last size that works
//
// For a test of your own server, see package drivetest. A size is the number of bytes in a message,
// without what the framing adds. Driver and server share the machine, so each figure is about both.
//
// A Driver belongs to one goroutine. If the context of a call ends, the server ends, too.
package drive

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

// A Driver puts load on one server, and starts the server again whenever it fails. The methods
// return an error only if the driver itself fails, or if the server cannot be started any more.
type Driver struct {
	options  Options
	target   target.Options // how the server is started
	protocol *target.Protocol

	server   *target.Server // nil between a failure and the next start
	starts   int
	inChunks bool     // an earlier process of the server split its answers into chunks
	bare     bool     // an earlier process of the server ended lines of headers with LF alone
	unopened bool     // an LSP server gets no document
	warned   []string // the formats of the warnings that warnOnce has given

	strays     int64  // the most lines without a message that a process of the server wrote
	firstStray string // the first of these lines
	logged     int64  // the most bytes that a process of the server wrote to standard error

	demanded map[int]int64 // how many round trips a sweep must make at least, by size
	// failedStarts counts failed restarts of the server that no record mentions yet.
	failedStarts int
	sweepFailed  bool // the server failed in the sweep over the sizes
	sweepCut     bool // the sweep had no time for all sizes
}

// A StartError is returned when the command could not be started at all.
type StartError = target.StartError

// A HandshakeError is returned if the command starts, but no handshake with it succeeds. Its Advice
// says what to look at.
type HandshakeError = target.HandshakeError

// An OptionError says that the server lacks something that the options name, such as a tool.
type OptionError = target.OptionError

// A Sink is called with each record when the record is complete. If it returns an error, the work
// ends.
type Sink func(results.Line) error

// Open starts the server, finds out what it speaks, and shakes hands. The error is a [*StartError]
// if the command cannot be run, a [*HandshakeError] if no handshake succeeds, and an
// [OptionError] if the options do not suit the server.
func Open(ctx context.Context, o Options) (*Driver, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Driver{options: o, target: o.target()}
	s, err := target.Open(ctx, d.target)
	if err != nil {
		return nil, err
	}
	d.protocol = s.Protocol()
	d.unopened = d.protocol.Speaks() == "lsp" && o.Request != RequestDocument
	d.setServer(s)
	if o.Recording != "" {
		d.end(true /* politely */)
		if _, err := d.live(ctx); err != nil {
			d.Close()
			return nil, err
		}
	}
	return d, nil
}

func (d *Driver) setServer(s *target.Server) {
	s.Ignore() // from now on, drop answers that come when nobody waits for them
	d.server = s
	d.starts++
	d.noteOutput()
}

// Protocol returns what the server speaks, such as "lines", or "mcp 2025-11-25" with its revision.
func (d *Driver) Protocol() string { return d.protocol.Name }

// PID returns the process number of the server, or 0 while it does not run.
func (d *Driver) PID() int {
	if d.server == nil {
		return 0
	}
	return d.server.Process.Cmd.Process.Pid
}

// Framing returns how the server tells messages apart, as a spec of package framers such as
// "ndjson".
func (d *Driver) Framing() string {
	if d.inChunks || d.server != nil && d.server.InChunks() {
		return "adaptive"
	}
	return d.protocol.Framing.String()
}

// Request says in words what the driver sends.
func (d *Driver) Request() string { return d.protocol.Sends() }

// Close ends the server. It may be called again.
func (d *Driver) Close() error {
	d.end(true /* politely */)
	d.protocol.Close()
	return nil
}

// end ends the server if it runs. If politely is set, the server may exit by itself first.
func (d *Driver) end(politely bool) {
	if d.server != nil {
		d.inChunks = d.inChunks || d.server.InChunks()
		d.bare = d.bare || d.server.BareHeaders() > 0
		if politely {
			d.server.Shutdown()
		} else {
			d.server.Close()
		}
	}
	d.server = nil
}

const (
	mostTries = 3                     // tries to start a server again: one failure may be chance
	pause     = 50 * time.Millisecond // after the first failed try; after the second, twice this
)

// live returns the server, and starts it first if it is not running.
func (d *Driver) live(ctx context.Context) (*target.Server, error) {
	if d.server != nil {
		d.noteOutput()
		return d.server, nil
	}
	for tries := 1; ; tries++ {
		s, err := target.Start(ctx, d.target, d.protocol)
		if err == nil {
			d.setServer(s)
			return s, nil
		}
		if tries == mostTries || ctx.Err() != nil {
			return nil, fmt.Errorf("start it again, %d times: %w", tries, err)
		}
		d.failedStarts++
		child.Within(ctx.Done(), time.Duration(tries)*pause)
	}
}

// discard ends a server that failed. It notes how fast the server answered, since deadlines follow
// from the speed.
func (d *Driver) discard() {
	d.protocol.Paces = d.server.Paces
	d.end(false /* politely */)
}

// observe reports what is done next, with the id of the server's process so that a user can look at
// the process.
func (d *Driver) observe(step string) {
	if d.server != nil {
		step = fmt.Sprintf("process %d: %s", d.PID(), step)
	}
	d.options.Observe(step)
}

// trip sends the i-th copy of the request and waits for the answer. What the server does wrong is
// in the outcome, not in the error. If the server cannot go on, trip ends it.
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
	judgeFrames(&out)
	return out, err
}

// judgeFrames turns an answer that was split into chunks into a failure, since clients cannot read
// chunks.
func judgeFrames(out *target.Outcome) {
	if out.Verdict == target.OK && out.InFrames {
		out.Verdict = target.InFrames
	}
}

// tripAlive makes a trip and, if the request is answered, calls checkAlive.
func (d *Driver) tripAlive(
	ctx context.Context, r *target.Request, i int64,
) (target.Outcome, error) {
	out, err := d.trip(ctx, r, i)
	if err == nil && out.Verdict == target.OK {
		err = d.checkAlive(ctx, &out)
	}
	return out, err
}

// checkAlive sends a small request to a server that has just answered, and replaces the outcome if
// this request fails. Without this check, the next message would be blamed for the failure. If no
// such request is known that the server answers, checkAlive does nothing.
func (d *Driver) checkAlive(ctx context.Context, out *target.Outcome) error {
	if d.protocol.Silent {
		return nil
	}
	after, err := d.trip(ctx, d.protocol.Smallest(target.Transport), 0)
	if err != nil || after.Verdict == target.OK {
		return err
	}
	after.Why = "a small request after it was not answered: " + after.Why
	after.Size = out.Size
	*out = after
	return nil
}

// record returns a new record, with warnings that no earlier record has given.
func (d *Driver) record() results.Target {
	t := results.Target{
		Kind: results.KindTarget, Run: d.options.Run, Time: time.Now().UTC(),
		Command: d.options.Command, Protocol: d.protocol.Speaks(), Verdict: string(target.OK),
		Evidence: results.TargetEvidence{
			Server: &results.ServerEvidence{
				Spoken: d.Protocol(), Framing: d.Framing(), Pipe: string(d.options.Pipe),
				Request:      d.Request(),
				SmallReplies: d.protocol.HasTools() && !d.protocol.CallsTool(),
				Uncompared:   d.protocol.CallsTool() && !d.protocol.Echoes,
			},
			Capacity: d.options.Capacity,
		},
	}
	if d.failedStarts > 0 {
		warn(&t, "%d starts of the server after a failure came to nothing, and the next did not",
			d.failedStarts)
	}
	d.failedStarts = 0
	if d.unopened {
		o := d.options
		o.Request = RequestDocument
		o.Language = "LANGUAGE"
		d.warnOnce(&t, "no document was opened: %s does; for files of yours, record their session "+
			"with pipebench tap --bodies, and replay it with drive --messages", o.commandLine(0))
	}
	d.warnOfHeaders(&t)
	if d.protocol.OneRead.Load() {
		d.warnOnce(&t, "the server %s", target.AdviceOneRead)
	}
	return t
}

const bareHeaders = "LF alone ends lines of its headers: clients that look for CR LF (\\r\\n) " +
	"wait for ever"

func (d *Driver) hasBareHeaders() bool {
	return d.bare || d.server != nil && d.server.BareHeaders() > 0
}

// warnOfHeaders warns, once, of headers in which LF alone ends a line.
func (d *Driver) warnOfHeaders(t *results.Target) {
	if d.hasBareHeaders() {
		t.Evidence.Server.BareHeaders = true
		d.warnOnce(t, bareHeaders)
	}
}

// loud is half of what a usual pipe holds. A server that wrote more to standard error fills that
// pipe in a session twice as long, and may then wait for a reader.
const loud = 32 << 10

// noteOutput notes what the running server has written beside messages. A server that failed does
// not run any more: the pieces of a broken answer are no lines without a message.
func (d *Driver) noteOutput() {
	lines, first := d.server.Strays.Lines()
	d.strays = max(d.strays, lines)
	d.firstStray = cmp.Or(d.firstStray, first)
	d.logged = max(d.logged, d.server.Stderr.Total())
}

// warnOfOutput warns of lines on standard output without a message, and of much on standard error.
func (d *Driver) warnOfOutput(t *results.Target) {
	if d.server != nil {
		d.noteOutput()
	}
	t.Evidence.Server.StrayLines = d.strays
	if d.strays > 0 {
		d.warnOnce(t, "lines on standard output without a message, the first: %q; log to "+
			"standard error", d.firstStray)
	}
	if d.logged > loud {
		t.Evidence.Server.LoggedBytes = d.logged
		d.warnOnce(t, "it wrote %s to standard error so far, and drive read them: a client that "+
			"does not read them can hang, since a pipe holds 65,536 B at most on most systems",
			stat.FormatBytes(d.logged))
	}
}

// warnOfSideEffects warns of what the server wrote in addition to its answers, and of its headers.
func (d *Driver) warnOfSideEffects(t *results.Target) {
	d.warnOfHeaders(t)
	d.warnOfOutput(t)
	if d.server == nil {
		return
	}
	unasked, ids := d.server.Strays.Unasked()
	t.Evidence.Server.ExtraAnswers = unasked
	if unasked > 0 {
		const mostNamed = 3
		if len(ids) > mostNamed {
			ids = append(ids[:mostNamed], "...")
		}
		warn(t, "%s came that nobody waited for (id %s): to no request, or the second to one",
			results.FormatCount(int(unasked), "answer"), strings.Join(ids, ", "))
	}
}

// unasked returns how many answers came that nobody waited for since the server was started.
func (d *Driver) unasked() int64 {
	if d.server == nil {
		return 0
	}
	n, _ := d.server.Strays.Unasked()
	return n
}

func warn(t *results.Target, format string, args ...any) {
	t.Warnings = append(t.Warnings, fmt.Sprintf(format, args...))
}

// warnOnce warns unless an earlier record of the driver has a warning of the same format.
func (d *Driver) warnOnce(t *results.Target, format string, args ...any) {
	if !slices.Contains(d.warned, format) {
		d.warned = append(d.warned, format)
		warn(t, format, args...)
	}
}

// setFailure notes in t that a request was not served. The advice in t gets a command that sends it
// again, with the given flags, and waits longer. A size of 0 stands for several sizes.
func (d *Driver) setFailure(t *results.Target, out target.Outcome, size int, flags ...string) {
	t.Verdict = string(out.Verdict)
	flags = append(flags, "--patience", "1m")
	if size == 0 && d.options.Recording != "" {
		flags = append(flags, "--messages", d.options.Recording)
	}
	t.Evidence.Advice = out.Advice(d.options.commandLine(size, flags...))
	t.Evidence.Failure = out.Evidence
	t.Evidence.Why = out.Why
}

func setVerdict(t *results.Target, v target.Verdict) {
	t.Verdict = string(v)
	t.Evidence.Advice = v.Advice()
}
