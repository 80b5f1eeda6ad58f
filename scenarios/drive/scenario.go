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

// A treatment does to a server what a client of the catalogue does.
type treatment struct {
	play func(context.Context, *stage) error
	set  func(*Options) // what it needs of the pipes; nil for nothing
}

// treatments are by name in the catalogue. Each has a server started for it.
var treatments = map[string]treatment{
	"dirty-line":         {play: dirtyLine},
	"split-utf8":         {splitUTF8, func(o *Options) { o.WriteChunk = 71 }},
	"trickle":            {trickle, func(o *Options) { o.WriteChunk = 1 }},
	"slow-reader":        {play: slowReader},
	"unread-stderr":      {unreadStderr, func(o *Options) { o.undrained = true }},
	"nonblocking-stdout": {nonblockingStdout, func(o *Options) { o.nonblock = true }},
	"closed-stdout":      {play: closedStdout},
	"eof-mid-frame":      {play: eofMidFrame},
	"wrong-framing":      {play: wrongFraming},
	"lying-length":       {play: lyingLength},
}

// A stage is a server that a scenario is played on.
type stage struct {
	d     *Driver
	c     *conn
	fault *results.Fault
	seen  map[string]any // the fault's evidence
}

// Faults does to the server what the catalogue's clients of those names do, or all of them without names, as far as that says
// something about a server of this protocol, and keeps a record of each. Each has a server of its own.
func (d *Driver) Faults(ctx context.Context, keep Keep, names ...string) error {
	for _, m := range catalogue.Of(catalogue.Client) {
		if len(names) > 0 && !slices.Contains(names, m.Name) {
			continue
		}
		f, err := d.play(ctx, m)
		if errors.Is(err, errNotHere) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		if err := keep(*f); err != nil {
			return err
		}
	}
	return nil
}

// errNotHere says that a scenario says nothing about a server of this protocol.
var errNotHere = errors.New("not for this protocol")

func (d *Driver) play(ctx context.Context, m catalogue.Misbehaviour) (*results.Fault, error) {
	t, ok := treatments[m.Name]
	if !ok {
		return nil, errors.New("no such treatment")
	}
	own := d.with(func(o *Options) {
		if t.set != nil {
			t.set(o)
		}
	})
	defer own.end(false)
	f := &results.Fault{
		Kind: results.KindFault, Run: d.o.Run, ID: m.Name, Verdict: string(OK),
	}
	c, err := own.live(ctx)
	if err != nil {
		return nil, err
	}
	s := &stage{own, c, f, map[string]any{"command": d.o.Command, "protocol": d.Protocol(), "does": m.Title}}
	err = t.play(ctx, s)
	f.Evidence = results.MustEvidence(s.seen)
	f.Time = time.Now().UTC()
	if f.Verdict != string(OK) {
		f.Advice = m.Title + ": a server should " + m.Advice
	}
	return f, err
}

// found takes what a request met.
func (s *stage) found(out outcome) {
	s.fault.Verdict = string(out.verdict)
	if out.verdict == OK {
		return
	}
	for name, value := range out.evidence.fields() {
		s.seen[name] = value
	}
	s.seen["why"] = out.why
}

// note adds to the evidence.
func (s *stage) note(name string, value any) { s.seen[name] = value }

// raw gives bytes to the server that are no message of a framing's making.
func (s *stage) raw(p []byte) error {
	stuck := s.c.watch(s.d.o.Patience)
	_, err := s.c.in.Write(p)
	stuck.end(state{})
	return err
}

// leaves waits for a server that should end, and says how it did.
func (s *stage) leaves() {
	before, began := s.c.cpu(), time.Now()
	left := s.c.ended(leaveAtEOF)
	s.note("left_after_ns", int64(time.Since(began)))
	switch {
	case left:
		s.note("ended", string(s.c.verdict()))
		return
	case spun(before, s.c.cpu(), time.Since(began)):
		s.fault.Verdict = "stays, and burns a CPU"
	default:
		s.fault.Verdict = "stays"
	}
}

// spun reports whether a process with nothing to do used a good part of a CPU.
func spun(before, after cpuTime, elapsed time.Duration) bool {
	worked := after.since(before)
	return worked != nil && float64(*worked) > busy*float64(elapsed)
}

func dirtyLine(ctx context.Context, s *stage) error {
	if s.c.framing.String() != "ndjson" || s.d.dialect.answer() == nil {
		return errNotHere
	}
	if err := s.raw([]byte("\n  \nthis is a log line\n{\"broken\":\n")); err != nil {
		s.note("write", err.Error())
	}
	out, err := s.d.try(ctx, askTool)
	s.found(out)
	return err
}

func splitUTF8(ctx context.Context, s *stage) error {
	shape, err := s.d.request(askTool, 8<<10)
	if err != nil {
		return err
	}
	if !shape.echoes {
		return errNotHere
	}
	mixed(shape.payload())
	out, err := s.d.trip(ctx, shape, 1)
	s.found(out)
	return err
}

// mixed fills a payload with characters of all lengths.
func mixed(b []byte) {
	const text = "é漢😀aß語🜁" // 2, 3, 4, 1, 2, 3 and 4 bytes
	n := 0
	for n+len(text) <= len(b)-2*stampDigits {
		n += copy(b[stampDigits+n:], text)
	}
}

func trickle(ctx context.Context, s *stage) error {
	shape, err := s.d.request(askTool, 4<<10)
	if err != nil {
		return err
	}
	out, err := s.d.trip(ctx, shape, 1)
	s.found(out)
	return err
}

// unreadBytes is how much is asked for while nobody reads: more than fits into any pipe on the way.
const unreadBytes = 4 << 20

func slowReader(ctx context.Context, s *stage) error {
	shape, err := s.d.request(askTool, 64<<10)
	if err != nil {
		return err
	}
	if !shape.echoes {
		return errNotHere
	}
	return s.unreadFor(ctx, shape, unreadBytes/len(shape.msg))
}

func nonblockingStdout(ctx context.Context, s *stage) error {
	shape, err := s.d.request(askTool, 256<<10)
	if err != nil {
		return err
	}
	if !shape.echoes || s.d.o.Pipe == syspipe.Named {
		return errNotHere
	}
	return s.unreadFor(ctx, shape, 4)
}

// unreadFor sends requests while nobody reads the answers, then reads, and compares them.
func (s *stage) unreadFor(ctx context.Context, shape *shape, n int) error {
	l := Load{Size: len(shape.msg), Inflight: n, Duration: defaultLoad}
	s.c.hold()
	reads := time.AfterFunc(s.d.o.Patience, s.c.readOn)
	defer reads.Stop()
	r, err := s.d.once(ctx, l, shape, int64(n))
	if err != nil {
		return err
	}
	s.found(r.outcome)
	if peak := s.c.peakMemory(); peak != nil {
		s.note("peak_bytes", *peak)
	}
	return nil
}

func unreadStderr(ctx context.Context, s *stage) error {
	shape, err := s.d.request(askTool, 1<<10)
	if err != nil {
		return err
	}
	for i := range int64(200) {
		out, err := s.d.trip(ctx, shape, i)
		if err != nil || out.verdict != OK {
			s.note("requests_answered", i)
			if stuck := out.evidence.StuckError; out.verdict == Deaf && stuck != nil && *stuck > 0 {
				out.verdict = Deadlock
			}
			s.found(out)
			return err
		}
	}
	return nil
}

func closedStdout(_ context.Context, s *stage) error {
	s.c.stdout.Close()
	shape, err := s.d.smallest(askTransport)
	if err != nil {
		return err
	}
	for i := range int64(3) {
		if s.c.send(shape.number(i)) != nil {
			break // it has gone already
		}
	}
	s.leaves()
	return nil
}

func eofMidFrame(_ context.Context, s *stage) error {
	shape, err := s.d.smallest(askTool)
	if err != nil {
		return err
	}
	if err := s.raw(shape.number(1)[:len(shape.msg)/2]); err != nil {
		return err
	}
	s.c.stdin.Close()
	s.leaves()
	return nil
}

func wrongFraming(ctx context.Context, s *stage) error {
	if s.d.dialect.answer() == nil {
		return errNotHere
	}
	shape, err := s.d.smallest(askTransport)
	if err != nil {
		return err
	}
	msg := shape.number(1)
	if s.c.framing.String() == "ndjson" {
		msg = fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(msg), msg)
	} else {
		msg = append(append([]byte(nil), msg...), '\n')
	}
	before := s.c.out.bytes.Load()
	if err := s.raw(msg); err != nil {
		s.note("write", err.Error())
	}
	s.fault.Verdict = "waits in silence"
	if s.c.ended(s.d.o.Patience) {
		s.fault.Verdict = string(s.c.verdict())
		s.c.hearOut()
	} else if s.c.out.bytes.Load() > before {
		s.fault.Verdict = string(OK)
	}
	if words := s.c.words.lines(); len(words) > 0 {
		s.note("stderr_tail", words)
	}
	return ctx.Err()
}

// announced is a length that a careless server allocates, in bytes.
const announced = 2_000_000_000

func lyingLength(ctx context.Context, s *stage) error {
	if s.c.framing.String() != "content-length" {
		return errNotHere
	}
	before := s.c.peakMemory()
	if err := s.raw(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n{}", announced)); err != nil {
		return err
	}
	gone := s.c.ended(s.d.o.Patience)
	after := s.c.peakMemory()
	if before == nil || after == nil {
		return errNotHere
	}
	s.note("peak_bytes", *after)
	s.note("announced_bytes", announced)
	switch grown := *after - *before; {
	case grown > announced/2:
		s.fault.Verdict = "allocates what is announced"
	case gone:
		s.note("ended", string(s.c.verdict()))
	}
	return ctx.Err()
}
