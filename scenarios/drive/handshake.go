package drive

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// An answer to a request of the handshake, copied out of the buffer it was read into.
type answer struct {
	result  json.RawMessage
	failure *jsonrpc.Error
	raw     []byte
	id      string // as it stands there; "" where there is none
	kind    jsonrpc.Kind
}

func (a answer) decode(to any) error {
	if a.failure != nil {
		return fmt.Errorf("the server refuses: %w", a.failure)
	}
	if err := json.Unmarshal(a.result, to); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	return nil
}

// readAnswer copies a message and decodes it if it is an answer. It is less strict than
// [jsonrpc.Parse]: a server whose answers lack their version, or hold a null error beside a result,
// is to be driven all the same.
func readAnswer(msg []byte, e jsonrpc.Envelope) answer {
	a := answer{raw: bytes.Clone(msg), id: string(e.ID), kind: e.Kind()}
	if !a.kind.Answers() {
		return a
	}
	var parts struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(a.raw, &parts); err != nil {
		a.kind = jsonrpc.None
		return a
	}
	a.result = parts.Result
	if parts.Error != nil && string(parts.Error) != "null" {
		a.failure = jsonrpc.ParseError(parts.Error)
	}
	return a
}

// Why a request of the handshake got no answer.
var (
	errSilent  = errors.New("no answer in time")
	errLeft    = errors.New("the server closed its output")
	errMute    = errors.New("the server does not take what is sent")
	errGarbage = errors.New("what it writes is no answer")
	errEcho    = errors.New("it sends back what it is sent, as a filter of lines does")
	errEndless = errors.New("no message end")
)

// callID is the id of the handshake's requests: they follow each other, and are the only ones
// meanwhile.
const callID = "1"

// A handshake is what is said to a server that has just been started.
type handshake struct {
	*conn
	ctx    context.Context
	within time.Duration // for each answer
	said   *proc.Tail    // what the server says, as it comes; nil if nobody listens
}

// say sends a message that is not answered.
func (h handshake) say(msg []byte) error {
	if err := h.send(msg); err != nil {
		return fmt.Errorf("%w: %w", errLeft, err)
	}
	return nil
}

// call sends a request and waits for its answer.
func (h handshake) call(method, params string) (answer, error) {
	return h.ask(method, jsonrpc.AppendRequest(nil, callID, method, []byte(params)))
}

// ask sends a message, which errors call by a name, and waits for the answer: the next that comes.
func (h handshake) ask(name string, msg []byte) (answer, error) {
	d := h.dialogue(h.within, func() error { return h.send(msg) })
	defer d.close()
	d.within = h.within
	a, err := d.next(h.ctx)
	if a.kind == jsonrpc.Request {
		err = errEcho
	}
	if err != nil {
		return a, fmt.Errorf("%s: %w", name, err)
	}
	return a, nil
}

// settle is how long after a line that is no answer the answer may still come: some servers greet
// in words first.
const settle = time.Second

// askFirst sends the first request to a server of which nothing is known, and waits for its answer.
// Lines before it are strays, unless nothing else comes: then the first of them is returned.
func (h handshake) askFirst(sent []byte) (answer, error) {
	d := h.dialogue(h.within, func() error { return h.send(sent) })
	defer d.close()
	d.within = h.within
	var line *answer
	for {
		a, err := d.next(h.ctx)
		switch {
		case line != nil && (errors.Is(err, errSilent) || errors.Is(err, errMute)):
			return *line, nil
		case err != nil, a.kind.Answers(), bytes.Equal(a.raw, sent):
			return a, err
		case bytes.HasPrefix(bytes.ToLower(a.raw), []byte("content-length")):
			return a, fmt.Errorf("%w: it answers with Content-Length headers", errGarbage)
		case a.kind != jsonrpc.None:
			continue
		}
		h.strays.nonMessage(a.raw)
		if line == nil {
			line, d.within = &a, 0
			d.timer.Reset(min(settle, h.within))
		}
	}
}

// A dialogue is messages on their way to the server, and what it says meanwhile.
type dialogue struct {
	c     *conn
	heard chan answer
	over  chan struct{} // closed by close: what is heard from then on is dropped
	sent  chan error    // how the sending ended; nil once that is known
	timer *time.Timer   // ends the wait for an answer

	within time.Duration // by which the wait is put off for a server that gets on; 0 for never
	more   *extension    // since its time was up
}

// A server that is at work when its time is up is slow to begin, as on a busy machine, and not
// silent: it is looked at for a while, and gets as much time again, slowStarts times.
const (
	slowStarts  = 2
	longestLook = time.Second / 2
)

// extend has the wait go on where there is reason to.
func (d *dialogue) extend() bool {
	switch {
	case d.within == 0:
		return false
	case d.more == nil:
		d.more = new(d.c.extension(slowStarts))
		d.timer.Reset(min(d.within/4, longestLook))
		return true
	}
	d.timer.Reset(d.within)
	return d.more.granted()
}

// dialogue has send called, and copies every message that comes until close. The goroutine that
// reads waits for next to take it: a server may say much before it answers.
func (c *conn) dialogue(within time.Duration, send func() error) *dialogue {
	d := &dialogue{
		c: c, heard: make(chan answer, 64), over: make(chan struct{}),
		sent: make(chan error, 1), timer: time.NewTimer(within),
	}
	receive := receiver(func(msg []byte, e jsonrpc.Envelope, _ time.Time) {
		select {
		case d.heard <- readAnswer(msg, e):
		case <-d.over:
		}
	})
	c.receiver.Store(&receive)
	go func() { d.sent <- send() }()
	return d
}

func (d *dialogue) close() {
	d.timer.Stop()
	d.c.receiver.Store(nil)
	close(d.over)
}

// next waits for an answer.
func (d *dialogue) next(ctx context.Context) (answer, error) {
	for {
		select {
		case a := <-d.heard:
			return a, nil
		case err := <-d.sent:
			if err != nil {
				// one that has gone is the common cause
				return answer{}, fmt.Errorf("%w: %w", errLeft, err)
			}
			d.sent = nil
		case <-d.c.closed:
			if len(d.heard) == 0 {
				return answer{}, d.c.silence()
			}
		case <-d.timer.C:
			if d.extend() {
				continue
			}
			if d.sent != nil {
				return answer{}, errMute
			}
			return answer{}, errSilent
		case <-ctx.Done():
			return answer{}, context.Cause(ctx)
		}
	}
}

// A HandshakeError is returned for a command that starts and cannot be spoken to.
type HandshakeError struct {
	Command []string
	// how it ended or failed: "exit 1", "deaf", "error reply", "corrupt" for garbage
	Verdict Verdict
	Why     string   // what was tried
	Stderr  []string // its last lines on standard error
}

func (e *HandshakeError) Error() string {
	ended := view.EndText(string(e.Verdict), len(e.Stderr) > 0)
	s := fmt.Sprintf("%s: %s: %s", e.Command[0], ended, e.Why)
	if len(e.Stderr) > 0 {
		s += "; its last words: " + strings.Join(e.Stderr, " | ")
	}
	return s
}

// Advice says what to look at first. That of a verdict on a message would not do: there was none of
// a size yet.
func (e *HandshakeError) Advice() string {
	if e.Verdict.Ended() {
		return advice()["handshake ended"]
	}
	return cmp.Or(advice()["handshake "+string(e.Verdict)], e.Verdict.Advice())
}

// handshakeError explains why a server could not be greeted, and ends it.
func handshakeError(o Options, c *conn, why error) error {
	e := &HandshakeError{Command: o.Command, Why: why.Error(), Verdict: ErrorReply}
	before := c.strays.unasked.Load()
	if errors.Is(why, errSilent) { // some answer when their input ends
		c.stdin.Close()
		closedWithin(c.closed, leaveAtEOF)
	}
	switch {
	case errors.Is(why, errLeft) && c.Ended(leaveAtTerm):
		e.Verdict = c.exitVerdict()
	case errors.Is(why, errSilent) && c.strays.unasked.Load() > before:
		e.Verdict = Buffered
	case errors.Is(why, errLeft), errors.Is(why, errSilent), errors.Is(why, errMute):
		e.Verdict = Deaf
	case errors.Is(why, errEndless):
		e.Verdict = Endless
	case errors.Is(why, errGarbage), errors.Is(why, errEcho):
		e.Verdict = Corrupt
	}
	c.shutdown(false)
	e.Stderr = c.stderrLines()
	return e
}

// A greeting is what came of an attempt to speak to a server of which nothing is known: a server
// that was greeted, or why it was not.
type greeting struct {
	p   *protocol
	c   *conn
	err error
}

// headstart is how long the first attempt may be without success before the second begins beside
// it: most servers answer in less, and one that waits for headers would wait for ever.
const headstart = 1500 * time.Millisecond

// detect starts the server and finds out what it speaks by speaking to it: in lines first, since
// most speak in lines, then with headers. Each attempt has a server of its own and all the time
// that a handshake may take; when one succeeds, the other's server is ended before detect returns.
// The server that is returned has been greeted.
func detect(ctx context.Context, o Options) (*protocol, *conn, error) {
	trying, cancel := context.WithCancel(ctx)
	defer cancel()
	var settled atomic.Pointer[greeting]
	attempt := func(wire framers.Framing, speak speaker) (g greeting) {
		if trying.Err() != nil {
			return g // it is not needed
		}
		g = greet(trying, o, o.framing(wire), speak)
		failed, _ := errors.AsType[*HandshakeError](g.err)
		final := failed == nil || failed.Verdict == Endless // which headers would not end either
		switch {
		case final && settled.CompareAndSwap(nil, &g):
			cancel()
		case g.c != nil: // it came too late
			g.c.shutdown(false)
		}
		return g
	}
	var lines greeting
	over := make(chan struct{})
	go func() {
		defer close(over)
		lines = attempt(framers.NDJSON(), speakMCP)
	}()
	closedWithin(over, min(headstart, o.Start/2))
	headers := attempt(framers.ContentLength(), speakLSP)
	<-over
	found := settled.Load()
	switch {
	case ctx.Err() != nil:
		if found != nil && found.c != nil {
			found.c.shutdown(false)
		}
		return nil, nil, context.Cause(ctx)
	case found == nil:
		if g := tryLesser(ctx, o); g.c != nil {
			return g.p, g.c, nil
		}
		return nil, nil, bothFailed(lines, headers)
	}
	return found.p, found.c, found.err
}

// lesserTime is how long a server has to answer in a framing that few servers have.
const lesserTime = 2 * time.Second

// tryLesser speaks to the server in one framing after another that few servers have.
func tryLesser(ctx context.Context, o Options) greeting {
	if o.Framing != "" {
		return greeting{}
	}
	o.Start = min(o.Start, lesserTime)
	for _, f := range lesserFramings() {
		g := greet(ctx, o, f, speakMCP)
		if g.c != nil || ctx.Err() != nil {
			return g
		}
	}
	return greeting{}
}

// bothFailed makes one error of those of two attempts: what a server did says more than its
// silence.
func bothFailed(lines, headers greeting) error {
	e, other := lines.err.(*HandshakeError), headers.err.(*HandshakeError)
	if e.Verdict == Deaf || other.Verdict == ErrorReply {
		e, other = other, e
	}
	if e.Verdict != ErrorReply { // an answer says why by itself
		e.Why = lines.err.(*HandshakeError).Why + "; and " + headers.err.(*HandshakeError).Why
	}
	return e
}

// A speaker speaks to a server that has just been started, until it knows what that speaks.
type speaker func(handshake, Options) (*protocol, error)

// greet starts a server and speaks to it.
func greet(ctx context.Context, o Options, wire framers.Framing, speak speaker) greeting {
	var other *otherFraming
	c, err := connect(o, wire)
	if err != nil {
		return greeting{err: err}
	}
	p, err := speak(handshake{conn: c, ctx: ctx, within: o.Start}, o)
	switch {
	case err == nil:
		return greeting{p: p, c: c}
	case errors.As(err, &other):
		c.shutdown(false)
		return greet(ctx, o, other.framing, speakMCP)
	case c.adaptive(o) != nil:
		c.shutdown(false)
		return greet(ctx, o, c.adaptive(o), speak)
	case errors.Is(err, errSpeaksMCP): // it has been greeted as by an editor, and is started again
		c.shutdown(false)
		return greet(ctx, o, wire, speakMCP)
	}
	return greeting{err: handshakeError(o, c, err)}
}

// An otherFraming is the error of a handshake with a server that answers in another framing.
type otherFraming struct{ framing framers.Framing }

func (e *otherFraming) Error() string { return "it answers in " + e.framing.String() }

// lesserFramings are those that no protocol has as its own.
func lesserFramings() []framers.Framing {
	var lesser []framers.Framing
	for _, f := range framers.All() {
		switch f.String() {
		case "ndjson", "content-length", "raw":
		default:
			lesser = append(lesser, f)
		}
	}
	compressed, err := framers.Parse("chunked+zstd")
	if err == nil {
		lesser = append(lesser, compressed)
	}
	return lesser
}

// recognise returns the framing in which what a server said holds a JSON-RPC message; nil if none
// does.
func recognise(said []byte) framers.Framing {
	for _, f := range lesserFramings() {
		msg, err := f.NewReader(bytes.NewReader(said)).ReadMessage()
		e := jsonrpc.Scan(msg)
		if err == nil && e.Kind().Answers() && !bytes.HasPrefix(said, msg) {
			return f
		}
	}
	return nil
}

// speakMCP speaks as an MCP client of the newest revision does, and takes the answer for what it
// is.
func speakMCP(h handshake, o Options) (*protocol, error) {
	h.said = h.overhear()
	sent := jsonrpc.AppendRequest(nil, callID, "server/discover", []byte(discoverParams))
	reply, err := h.askFirst(sent)
	switch {
	case err != nil:
		return nil, fmt.Errorf("a JSON-RPC request in %s: %w", h.framing, err)
	case bytes.Equal(reply.raw, sent):
		return newLines(h.framing, true), nil
	case reply.kind == jsonrpc.None:
		return newLines(h.framing, false), h.checkFilter()
	}
	m := newMCP(o, h.framing)
	h.protocol.Store(&m.protocol)
	err = m.enter(h, reply)
	if knowsNoInitialize(err) && o.Tool == "" {
		return newBare(h.framing), nil
	}
	return &m.protocol, err
}

// knowsNoInitialize reports whether a server refused initialize as a method that it does not have.
// It speaks JSON-RPC without a protocol above it then. One that refuses for another reason is not
// ready to be driven, whatever else it answers.
func knowsNoInitialize(err error) bool {
	refusal, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && refusal.Code == jsonrpc.CodeMethodNotFound
}

// speakLSP speaks as an editor does.
func speakLSP(h handshake, o Options) (*protocol, error) {
	l := newLSP(o, h.framing)
	err := l.greet(h)
	if errors.Is(err, errNotLSP) {
		return newBare(h.framing), nil
	}
	if err != nil {
		return nil, fmt.Errorf("as an editor does, in %s: %w", h.framing, err)
	}
	return &l.protocol, nil
}

// checkFilter tells a filter, which gives a line for a line, from a program that just writes, which
// is an error.
func (h handshake) checkFilter() error {
	lines, first, _ := h.strays.nonMessages()
	if f := recognise([]byte(h.said.String() + "\n")); f != nil {
		return &otherFraming{f}
	}
	h.within = min(settle, h.within)
	if lines != 1 || !h.answersLines() {
		return fmt.Errorf("%w: %q", errGarbage, first)
	}
	h.strays.forget()
	return nil
}

// answersLines reports whether a program gives a line for a line, twice.
func (h handshake) answersLines() bool {
	for _, line := range []string{`"pipebench"`, `"pipebench again"`} {
		if _, err := h.ask("a line", []byte(line)); err != nil {
			return false
		}
	}
	return true
}
