package drive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
	"github.com/pipebench/pipebench/syspipe"
)

// A FaultEvidence is what the verdict on a server rests on that a client or the system misbehaved
// towards.
type FaultEvidence struct {
	Command  []string `json:"command"`
	Protocol string   `json:"protocol"` // with its revision
	Does     string   `json:"does"`     // what was done to the server

	*results.FailureEvidence
	Why         string `json:"why,omitempty"`
	WriteError  string `json:"write,omitempty"`
	LeftAfterNS int64  `json:"left_after_ns,omitempty"` // how long the server stayed, or was waited for
	Ended       string `json:"ended,omitempty"`         // the verdict on its end
	Answered    *int64 `json:"requests_answered,omitempty"`
	Announced   int64  `json:"announced_bytes,omitempty"`
}

// A clientFault does to a server what a client of the catalogue does.
type clientFault struct {
	do  func(context.Context, *faultRun) error
	set func(*Options) // what it needs of the pipes; nil for nothing
}

// clientFaults are by name in the catalogue. Each has a server started for it.
var clientFaults = map[string]clientFault{
	"dirty-line":         {do: dirtyLine},
	"split-utf8":         {splitUTF8, func(o *Options) { o.WriteChunk = 71 }},
	"trickle":            {trickle, func(o *Options) { o.WriteChunk = 1 }},
	"slow-reader":        {do: slowReader},
	"unread-stderr":      {unreadStderr, func(o *Options) { o.undrained = true }},
	"nonblocking-stdout": {nonblockingStdout, func(o *Options) { o.nonblock = true }},
	"closed-stdout":      {do: closedStdout},
	"eof-mid-frame":      {do: eofMidFrame},
	"wrong-framing":      {do: wrongFraming},
	"lying-length":       {do: lyingLength},
}

// A faultRun is a server that one fault is tried on, and what came of it.
type faultRun struct {
	d        *Driver
	c        *conn
	verdict  Verdict
	evidence FaultEvidence
}

// Faults does to the server what the catalogue's clients of those names do, or all of them without
// names, as far as that says something about a server of this protocol, and keeps a record of each.
// Each has a server of its own.
func (d *Driver) Faults(ctx context.Context, sink Sink, names ...string) error {
	for _, m := range catalogue.Of(catalogue.Client) {
		if len(names) > 0 && !slices.Contains(names, m.Name) {
			continue
		}
		f, err := d.tryFault(ctx, m)
		if errors.Is(err, errUnsupported) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		if err := sink(f); err != nil {
			return err
		}
	}
	return nil
}

// errUnsupported says that a fault says nothing about a server of this protocol.
var errUnsupported = errors.New("not for this protocol")

func (d *Driver) tryFault(ctx context.Context, m catalogue.Misbehaviour) (results.Fault, error) {
	fault, ok := clientFaults[m.Name]
	if !ok {
		return results.Fault{}, errors.New("not known to drive")
	}
	own := d.with(func(o *Options) {
		if fault.set != nil {
			fault.set(o)
		}
	})
	defer own.end(false)
	c, err := own.live(ctx)
	if err != nil {
		return results.Fault{}, err
	}
	r := &faultRun{d: own, c: c, verdict: OK, evidence: FaultEvidence{
		Command: d.o.Command, Protocol: d.Protocol(), Does: m.Title, FailureEvidence: new(results.FailureEvidence),
	}}
	if err := fault.do(ctx, r); err != nil {
		return results.Fault{}, err
	}
	f := results.Fault{
		Kind: results.KindFault, Run: d.o.Run, Time: time.Now().UTC(), ID: m.Name, Verdict: string(r.verdict),
	}
	if r.verdict != OK {
		f.Advice = m.Title + ": a server should " + m.Advice
	}
	f.Evidence, err = results.NewEvidence(r.evidence)
	return f, err
}

// found takes what a request met.
func (r *faultRun) found(out outcome) {
	if r.verdict = out.verdict; out.verdict != OK {
		r.evidence.FailureEvidence, r.evidence.Why = out.evidence, out.why
	}
}

// sendRaw gives bytes to the server that are no message of a framing's making.
func (r *faultRun) sendRaw(p []byte) error {
	defer r.c.watchWrite(r.d.o.Patience)()
	_, err := r.c.in.Write(p)
	return err
}

// awaitExit waits for a server that should end, and says how it did.
func (r *faultRun) awaitExit() {
	before := r.c.counters()
	left := r.c.Ended(leaveAtEOF)
	now := r.c.counters()
	r.evidence.LeftAfterNS = int64(now.at.Sub(before.at))
	switch {
	case left:
		r.evidence.Ended = string(r.c.exitVerdict())
	case spun(before, now):
		r.verdict = "stays, and burns a CPU"
	default:
		r.verdict = "stays"
	}
}

func dirtyLine(ctx context.Context, r *faultRun) error {
	if r.c.framing.String() != "ndjson" || !r.d.protocol.about().jsonRPC {
		return errUnsupported
	}
	if err := r.sendRaw([]byte("\n  \nthis is a log line\n{\"broken\":\n")); err != nil {
		r.evidence.WriteError = err.Error()
	}
	out, err := r.d.try(ctx, toolRequest)
	r.found(out)
	return err
}

// echoed makes a request of size bytes whose answer holds them.
func (r *faultRun) echoed(size int) (*requestTemplate, error) {
	t, err := r.d.requests(toolRequest)(size)
	if err == nil && !t.echoes {
		err = errUnsupported
	}
	return t, err
}

func splitUTF8(ctx context.Context, r *faultRun) error {
	t, err := r.echoed(8 << 10)
	if err != nil {
		return err
	}
	const text = "é漢😀aß語🜁" // 2, 3, 4, 1, 2, 3 and 4 bytes
	b := t.payload()
	for n := stampDigits; n+len(text) <= len(b)-stampDigits; {
		n += copy(b[n:], text)
	}
	out, err := r.d.roundTrip(ctx, t, 1)
	r.found(out)
	return err
}

func trickle(ctx context.Context, r *faultRun) error {
	t, err := r.d.requests(toolRequest)(4 << 10)
	if err != nil {
		return err
	}
	out, err := r.d.roundTrip(ctx, t, 1)
	r.found(out)
	return err
}

// unreadBytes is how much is asked for while nobody reads: more than fits into any pipe on the way.
const unreadBytes = 4 << 20

func slowReader(ctx context.Context, r *faultRun) error {
	t, err := r.echoed(64 << 10)
	if err != nil {
		return err
	}
	return r.leaveUnread(ctx, t, unreadBytes/len(t.msg))
}

func nonblockingStdout(ctx context.Context, r *faultRun) error {
	if r.d.o.Pipe == syspipe.Named {
		return errUnsupported
	}
	t, err := r.echoed(256 << 10)
	if err != nil {
		return err
	}
	return r.leaveUnread(ctx, t, 4)
}

// leaveUnread sends requests while nobody reads the answers, then reads, and compares them.
func (r *faultRun) leaveUnread(ctx context.Context, t *requestTemplate, n int) error {
	r.c.pauseReading()
	reads := time.AfterFunc(r.d.o.Patience, r.c.resumeReading)
	defer reads.Stop()
	l := Load{Size: len(t.msg), Inflight: n, Duration: defaultLoad}
	round, err := r.d.loadRound(ctx, l, t, int64(n))
	if err != nil {
		return err
	}
	r.found(round.outcome)
	r.evidence.PeakBytes = r.c.peakMemory()
	return nil
}

func unreadStderr(ctx context.Context, r *faultRun) error {
	t, err := r.d.requests(toolRequest)(1 << 10)
	if err != nil {
		return err
	}
	for i := range int64(200) {
		out, err := r.d.roundTrip(ctx, t, i)
		if err == nil && out.verdict == OK {
			continue
		}
		r.evidence.Answered = &i
		if e := out.evidence; out.verdict == Deaf && e != nil && e.UnreadStderr != nil && *e.UnreadStderr > 0 {
			out.verdict = Deadlock
		}
		r.found(out)
		return err
	}
	return nil
}

func closedStdout(_ context.Context, r *faultRun) error {
	r.c.stdout.Close()
	t, err := r.d.smallest(transportRequest)
	if err != nil {
		return err
	}
	for i := range int64(3) {
		if r.c.send(t.number(i)) != nil {
			break // it has gone already
		}
	}
	r.awaitExit()
	return nil
}

func eofMidFrame(_ context.Context, r *faultRun) error {
	t, err := r.d.smallest(toolRequest)
	if err != nil {
		return err
	}
	if err := r.sendRaw(t.number(1)[:len(t.msg)/2]); err != nil {
		return err
	}
	r.c.stdin.Close()
	r.awaitExit()
	return nil
}

func wrongFraming(ctx context.Context, r *faultRun) error {
	if !r.d.protocol.about().jsonRPC {
		return errUnsupported
	}
	t, err := r.d.smallest(transportRequest)
	if err != nil {
		return err
	}
	msg := t.number(1)
	if r.c.framing.String() == "ndjson" {
		msg = fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(msg), msg)
	} else {
		msg = append(append([]byte(nil), msg...), '\n')
	}
	before := r.c.out.bytes.Load()
	if err := r.sendRaw(msg); err != nil {
		r.evidence.WriteError = err.Error()
	}
	r.verdict = "waits in silence"
	if r.c.Ended(r.d.o.Patience) {
		r.verdict = r.c.exitVerdict()
		r.c.drainStderr()
	} else if r.c.out.bytes.Load() > before {
		r.verdict = OK
	}
	r.evidence.StderrTail = r.c.stderrLines()
	return ctx.Err()
}

// announced is a length that a careless server allocates, in bytes.
const announced = 2_000_000_000

func lyingLength(ctx context.Context, r *faultRun) error {
	if r.c.framing.String() != "content-length" {
		return errUnsupported
	}
	before := r.c.peakMemory()
	if err := r.sendRaw(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n{}", announced)); err != nil {
		return err
	}
	gone := r.c.Ended(r.d.o.Patience)
	after := r.c.peakMemory()
	if before == nil || after == nil {
		return errUnsupported
	}
	r.evidence.PeakBytes, r.evidence.Announced = after, announced
	switch grown := *after - *before; {
	case grown > announced/2:
		r.verdict = "allocates what is announced"
	case gone:
		r.evidence.Ended = string(r.c.exitVerdict())
	}
	return ctx.Err()
}
