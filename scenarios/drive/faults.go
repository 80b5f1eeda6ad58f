package drive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/syspipe"
)

// A FaultEvidence is what the verdict on a server rests on that a client or the system misbehaved
// towards.
type FaultEvidence struct {
	Command  []string `json:"command"`
	Protocol string   `json:"protocol"` // with its revision
	Does     string   `json:"does"`     // what was done to the server

	*results.FailureEvidence
	Why        string `json:"why,omitempty"`
	WriteError string `json:"write,omitempty"`
	// how long the server stayed, or was waited for
	LeftAfterNS int64  `json:"left_after_ns,omitempty"`
	Ended       string `json:"ended,omitempty"` // the verdict on its end
	Answered    *int64 `json:"requests_answered,omitempty"`
	Announced   int64  `json:"announced_bytes,omitempty"`
	Addresses   int64  `json:"address_space_bytes,omitempty"` // at most, of the server

	Starts *StartsEvidence `json:"starts,omitempty"`
	Memory *MemoryEvidence `json:"memory,omitempty"`
}

// A treatment is what a client, or the system, does to a server.
type treatment struct {
	do  func(context.Context, *faultRun) error
	set func(*Options) // what it needs of the pipes; nil for nothing
	raw bool           // it starts the server itself
	end bool           // a server may end over it
	rpc bool           // it is about JSON-RPC
	all bool           // it is about all processes that the server started

	mild bool // what it finds is no failure: no protocol demands otherwise
}

// treatments are by name in the catalogue. Each has a server started for it.
var treatments = map[string]treatment{
	"dirty-line": {do: dirtyLine},
	"split-utf8": {do: splitUTF8, set: func(o *Options) { o.WriteChunk = 71 }},
	"trickle": {do: func(ctx context.Context, r *faultRun) error {
		r.asked = r.d.request(toolRequest, 4<<10)
		return r.meet(ctx, r.asked)
	}, set: func(o *Options) { o.WriteChunk = 1 }},
	"slow-reader": {do: func(ctx context.Context, r *faultRun) error {
		return r.leaveUnread(ctx, 64<<10, 64) // 4 MiB: more than fits into any pipe on the way
	}},
	"unread-stderr": {do: unreadStderr, set: func(o *Options) { o.undrained = true }},
	"nonblocking-stdout": {do: func(ctx context.Context, r *faultRun) error {
		if r.d.o.Pipe == syspipe.Named {
			return untried("the mode of a named pipe is not the server's alone")
		}
		return r.leaveUnread(ctx, 256<<10, 4)
	}, set: func(o *Options) { o.nonblock = true }},
	"closed-stdout": {do: closedStdout},
	"eof-mid-frame": {do: func(_ context.Context, r *faultRun) error {
		msg := r.d.smallest(toolRequest).number(1)
		r.sendRaw(msg[:len(msg)/2])
		r.c.stdin.Close()
		r.awaitExit(max(leaveAtEOF, r.d.o.gone()))
		return nil
	}},
	"wrong-framing": {do: wrongFraming, end: true, rpc: true, mild: true},
	"lying-length":  {do: lyingLength},

	"end-idle": {do: func(_ context.Context, r *faultRun) error {
		r.c.stdin.Close()
		r.leaves(r.d.o.gone(), "the end of its input")
		return nil
	}},
	"end-in-flight": {do: endInFlight},
	"end-at-start":  {do: endAtStart, raw: true},
	"sigterm": {do: func(_ context.Context, r *faultRun) error {
		return r.signal(syscall.SIGTERM, "SIGTERM")
	}},
	"sigint": {do: func(_ context.Context, r *faultRun) error {
		return r.signal(syscall.SIGINT, "SIGINT")
	}},
	"client-killed":  {do: clientKilled, all: true, set: func(o *Options) { o.behind = true }},
	"held-output":    {do: heldOutput, all: true},
	"stray-output":   {do: strayOutput, rpc: true},
	"cancel":         {do: cancelRequests},
	"ids":            {do: idsOfEveryType, rpc: true},
	"batch":          {do: batch, rpc: true},
	"unknown-method": {do: unknownMethodRefused, rpc: true},
	"pipelined":      {do: pipelined, rpc: true},
	"large-request":  {do: largeRequest},
	"many-starts":    {do: manyStarts, raw: true},
	"memory-growth":  {do: memoryGrowth},
}

// notTried is the error of a fault that says nothing about the server, and why.
type notTried string

func (why notTried) Error() string { return string(why) }

// untried is the error of a treatment that says nothing about the server.
func untried(format string, args ...any) error { return notTried(fmt.Sprintf(format, args...)) }

func dirtyLine(ctx context.Context, r *faultRun) error {
	if r.c.framing.String() != "ndjson" || !r.d.protocol.jsonRPC {
		return untried("it is about JSON-RPC in lines, which the server does not speak")
	}
	r.sendRaw([]byte("\n  \nthis is a log line\n{\"broken\":\n"))
	return r.meet(ctx, r.d.smallest(toolRequest))
}

// closedStdout sends three requests in turn: a child that another goroutine is just starting may
// have a copy of the output for a while.
func closedStdout(_ context.Context, r *faultRun) error {
	r.c.stdout.Close()
	t := r.d.smallest(transportRequest)
	for i := range int64(3) {
		msg := slices.Clone(t.number(i))
		defer time.AfterFunc(time.Duration(i)*r.d.o.Patience/2, func() { r.c.send(msg) }).Stop()
	}
	r.awaitExit(max(leaveAtEOF, r.d.o.gone()))
	return nil
}

func endAtStart(_ context.Context, r *faultRun) error {
	c, err := connect(r.d.o, r.d.protocol.wire)
	if err != nil {
		return err
	}
	r.c = c
	defer c.shutdown(false)
	c.stdin.Close()
	r.leaves(r.d.o.gone()+r.d.beside(), "the end of its input, before anything was said")
	return nil
}

// A Finding is how a server met one treatment.
type Finding struct {
	Verdict  Verdict // OK, Slow, NotTried, or how it failed
	Fine     bool    // OK, or an end that is as good
	Mild     bool    // no failure, whatever was found: no protocol demands otherwise
	Found    string  // in a sentence with its figure; of NotTried, why
	Advice   string  // "" where none is needed
	Evidence FaultEvidence
}

// A faultRun is a server that one treatment is tried on, and what came of it.
type faultRun struct {
	d *Driver
	c *conn // nil of a treatment that starts it itself

	// The request whose answers are judged, or nil. Where it fails without the treatment, too, the
	// treatment is not to blame.
	asked *requestTemplate

	Finding
}

// judge sets a verdict and what was found. The first that is not OK counts.
func (r *faultRun) judge(v Verdict, format string, args ...any) {
	if r.Verdict == OK {
		r.Verdict, r.Found = v, fmt.Sprintf(format, args...)
	}
}

// Treat does to a server of its own what one entry of the catalogue, of the situations of a server, says.
// A mark, "NAME=value", goes into the environment of the server, beside a folder of its own for
// temporary files: by it is found what the server leaves behind, and that is ended, too. Without a
// mark the server has our environment.
//
// Treat may be called by several goroutines at once.
func (d *Driver) Treat(
	ctx context.Context,
	m catalogue.Situation,
	mark string,
) (Finding, error) {
	t, ok := treatments[m.Name]
	if !ok {
		return Finding{}, errors.New("not known to drive")
	}
	plain := d.with(nil)
	plain.o.Start = max(d.o.Start, d.beside())
	if mark != "" {
		remove, err := plain.o.markServer(mark)
		if err != nil {
			return Finding{}, err
		}
		defer remove()
	}
	own := plain.with(t.set)
	for _, d := range []*Driver{plain, own} {
		defer d.end(false)
		defer d.heed(ctx)()
	}
	r := &faultRun{d: own, Finding: Finding{Verdict: OK, Mild: t.mild, Evidence: FaultEvidence{
		Command:         results.HideSecrets(d.o.Command),
		Protocol:        d.Protocol(),
		Does:            m.Title,
		FailureEvidence: new(results.FailureEvidence),
	}}}
	err := r.try(ctx, t, plain)
	r.Fine, r.Found = r.Verdict == OK || t.end && r.Verdict.Ended(), r.sentence()
	if why, untried := errors.AsType[notTried](err); untried {
		r.Verdict, r.Fine, r.Found, r.Advice, err = NotTried, false, string(why), string(why), nil
	} else if r.Verdict != OK {
		r.Advice = m.Title + ": a server should " + m.Advice
	}
	return r.Finding, cmp.Or(err, ctx.Err())
}

// try does what a treatment does. If a request was not served it is sent to a server that is not
// treated, too: the treatment may not be to blame.
func (r *faultRun) try(ctx context.Context, t treatment, plain *Driver) error {
	if t.rpc && !r.d.protocol.jsonRPC {
		return untried("it is about JSON-RPC, which the server does not speak")
	}
	if t.all && r.d.o.mark == "" {
		return untried("this system does not tell which processes others started")
	}
	if !t.raw {
		c, err := r.d.live(ctx)
		if err != nil {
			return err
		}
		r.c = c
	}
	if err := t.do(ctx, r); err != nil {
		return err
	}
	if r.Verdict == OK || r.asked == nil {
		return nil
	}
	alone, err := plain.roundTrip(ctx, r.asked, 1)
	if err == nil && alone.verdict != OK {
		size := results.FormatSize(int64(len(r.asked.msg)))
		return untried("a request of %s is not served in any case: %s", size, alone.verdict.text())
	}
	return err
}

// sentence says what was found.
func (r *faultRun) sentence() string {
	switch e := r.Evidence; {
	case r.Found != "":
		return r.Found
	case e.Why != "":
		return r.Verdict.text() + ": " + e.Why
	case e.Ended != "":
		return fmt.Sprintf(
			"left after %s: %s",
			results.FormatDuration(float64(e.LeftAfterNS)),
			e.Ended,
		)
	case e.LeftAfterNS > 0:
		return fmt.Sprintf(
			"%s: still there after %s",
			r.Verdict,
			results.FormatDuration(float64(e.LeftAfterNS)),
		)
	case r.Verdict == OK:
		return "answered as it should"
	}
	return r.Verdict.text()
}

// found takes what a request met.
func (r *faultRun) found(out outcome) {
	if r.Verdict = out.verdict; out.verdict != OK {
		r.Evidence.FailureEvidence, r.Evidence.Why = out.evidence, out.why
	}
}

// meet makes a round trip and takes what it met.
func (r *faultRun) meet(ctx context.Context, t *requestTemplate) error {
	out, err := r.d.roundTrip(ctx, t, 1)
	if err == nil {
		r.found(out)
	}
	return err
}

// sendRaw gives bytes to the server that are no message of a framing's making.
func (r *faultRun) sendRaw(p []byte) {
	defer r.c.watchWrite(r.d.o.Patience)()
	_, err := r.c.in.Write(p)
	r.note(err)
}

// send sends a message, however slowly the server reads.
func (r *faultRun) send(msg []byte) { r.note(r.c.sendWithin(r.d.o.Patience, msg)) }

// note keeps the error of a write, if it is one.
func (r *faultRun) note(err error) {
	if err != nil {
		r.Evidence.WriteError = err.Error()
	}
}

// awaitExit waits for a server that should end, and says how it did. One that is at work then, as
// when it has no CPU for long, may be given the same time again.
func (r *faultRun) awaitExit(limit time.Duration) {
	more := r.c.extension(2)
	before, left := more.last, r.c.Ended(limit)
	for !left && more.granted() {
		left = r.c.Ended(limit)
	}
	now := r.c.counters()
	r.Evidence.LeftAfterNS = int64(now.at.Sub(before.at))
	switch {
	case left:
		r.Evidence.Ended = string(r.c.exitVerdict())
	case spun(before, now):
		r.Verdict = "stays, and burns a CPU"
	default:
		r.Verdict = "stays"
	}
}

func splitUTF8(ctx context.Context, r *faultRun) error {
	t, err := r.echo(8 << 10)
	if err != nil {
		return err
	}
	const text = "é漢😀aß語🜁" // 2, 3, 4, 1, 2, 3 and 4 bytes
	b := t.payload()
	for n := stampDigits; n+len(text) <= len(b)-stampDigits; {
		n += copy(b[n:], text)
	}
	return r.meet(ctx, t)
}

// echo makes a request of a server whose answers hold what was sent.
func (r *faultRun) echo(size int) (*requestTemplate, error) {
	t := r.d.request(toolRequest, size)
	if !t.echoes {
		return nil, untried("the answers of the server do not hold what was sent")
	}
	return t, nil
}

// leaveUnread sends requests while nobody reads the answers, then reads, and compares them.
func (r *faultRun) leaveUnread(ctx context.Context, size, n int) error {
	asked, err := r.echo(size)
	if err != nil {
		return err
	}
	r.asked = asked
	r.c.out.gate.Store(new(make(chan struct{}))) // from the next read on
	reads := time.AfterFunc(r.d.o.Patience, r.c.resumeReading)
	defer reads.Stop()
	load := Load{Size: size, Inflight: n, Duration: defaultLoad}
	round, err := r.d.loadRound(ctx, load, r.asked, int64(n))
	if err != nil {
		return err
	}
	r.found(round.outcome)
	r.Evidence.PeakBytes = ifKnown(r.c.PeakMemory())
	return nil
}

func unreadStderr(ctx context.Context, r *faultRun) error {
	r.asked = r.d.request(toolRequest, 1<<10)
	s, out, err := r.d.sample(ctx, r.asked, 200, 0)
	if err != nil {
		return err
	}
	if out.verdict != OK {
		r.Evidence.Answered = &s.Messages
	}
	if e := out.evidence; out.verdict == Deaf && e != nil && e.UnreadStderr != nil &&
		*e.UnreadStderr > 0 {
		out.verdict = Deadlock
	}
	r.found(out)
	return nil
}

const (
	fairRequest = 1 << 20          // bytes that a request has at most, of a client in use
	limitTime   = 20 * time.Second // that the search for a lower limit takes at most
)

// largeRequest grows a request, and looks for the largest that the server takes.
func largeRequest(ctx context.Context, r *faultRun) error {
	most, cancel := context.WithTimeout(ctx, limitTime)
	defer cancel()
	sized := func(size int) *requestTemplate { return r.d.request(transportRequest, size) }
	t, err := r.d.findLimit(most, requestSide, sized, fairRequest)
	if t.Kind == "" || t.SearchedTo != nil && err != nil {
		return untried("requests took too long to be made larger")
	}
	switch failed := t.Evidence.Limit; {
	case t.RequestLimit == nil:
		r.Found = fmt.Sprintf(
			"takes requests of %s; larger ones are looked at by pipebench drive --find-limit",
			stat.FormatBytes(*t.SearchedTo),
		)
	case t.Verdict == results.VerdictErrorReply:
		r.Found = fmt.Sprintf("refuses requests of %s with an error, and takes those of %s",
			stat.FormatBytes(int64(failed.FailedAt)), stat.FormatBytes(*t.RequestLimit))
	default:
		r.judge(
			Verdict(t.Verdict),
			"%s at a request of %s, where those of %s are answered",
			Verdict(t.Verdict).text(),
			stat.FormatBytes(int64(failed.FailedAt)),
			stat.FormatBytes(*t.RequestLimit),
		)
		r.Evidence.FailureEvidence, r.Evidence.Why = t.Evidence.Failure, t.Evidence.Why
	}
	return nil
}

// refusesFrame finds an answer to the first request, or to one whose id could not be read, in
// whatever framing it comes.
var refusesFrame = regexp.MustCompile(`"id"\s*:\s*(1000000001\b|null|"")`)

func wrongFraming(_ context.Context, r *faultRun) error {
	msg := r.d.smallest(transportRequest).number(1)
	framed := append(slices.Clone(msg), '\n')
	if r.c.framing.String() == "ndjson" {
		framed = fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(msg), msg)
	}
	said := r.c.overhear()
	r.sendRaw(framed)
	refused := func() bool { return refusesFrame.MatchString(said.String()) }
	more, ended := r.c.extension(2), r.c.Ended(r.d.o.Patience)
	for !ended && !refused() && more.granted() {
		ended = r.c.Ended(r.d.o.Patience)
	}
	if ended {
		r.Verdict = r.c.exitVerdict()
		closedWithin(r.c.drained, leaveAtTerm)
	} else if !refused() {
		r.Verdict = "waits in silence"
	}
	r.Evidence.StderrTail = r.c.stderrLines()
	return nil
}

// announced is a length that a careless server allocates, in bytes.
const announced = 2_000_000_000

// lyingLength looks at memory that was taken, and at that which was only reserved: many allocators
// touch what they give out no sooner than it is used.
func lyingLength(_ context.Context, r *faultRun) error {
	if r.c.framing.String() != "content-length" {
		return untried("it is about messages whose length is announced")
	}
	resident, addresses := ifKnown(r.c.PeakMemory()), r.addresses()
	if resident == nil {
		return untried("this system does not tell how much memory a process has")
	}
	r.sendRaw(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n{}", announced))
	gone := false
	for i := 0; i < 10 && !gone; i++ { // what a process had is not known of one that has ended
		gone = r.c.Ended(r.d.o.Patience / 10)
		r.Evidence.Addresses = max(r.Evidence.Addresses, r.addresses())
	}
	r.Evidence.PeakBytes, r.Evidence.Announced = ifKnown(r.c.PeakMemory()), announced
	switch after := r.Evidence.PeakBytes; {
	case after != nil && *after-*resident > announced/2,
		r.Evidence.Addresses-addresses > announced/2:
		r.Verdict = "allocates what is announced"
	case gone:
		r.Evidence.Ended = string(r.c.exitVerdict())
	}
	return nil
}

// addresses returns the largest address space of the server so far, 0 where it is not known.
func (r *faultRun) addresses() int64 {
	n, _ := r.c.PeakAddresses()
	return n
}
