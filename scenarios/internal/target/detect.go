package target

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// headstart is how long the first attempt runs alone before the second begins beside it. Most
// servers answer sooner, and a server that waits for headers would wait for ever.
const headstart = 1500 * time.Millisecond

// An attempt is the result of speaking to a server whose protocol is not known.
type attempt struct {
	s       *Server // that was greeted; nil if err is set
	err     error
	headers bool // it was spoken to with headers
}

// settles reports whether nothing else need be tried: the server was greeted, or refused to be, or
// it speaks MCP and sends frames, or a message without end, which another framing would not change.
func (a attempt) settles() bool {
	failed, ok := errors.AsType[*HandshakeError](a.err)
	if !ok {
		return true
	}
	switch failed.Verdict {
	case Endless, ErrorReply, InFrames:
		return true
	}
	return false
}

// detect starts the server and finds out what it speaks by speaking to it: in lines first, since
// most speak in lines, then with headers. Each attempt has a server of its own and all the time
// that a handshake may take; when one succeeds, the other's server is ended before detect returns.
func detect(ctx context.Context, o Options) (*Server, error) {
	trying, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan attempt, 2)
	try := func(wire framers.Framing, speak speaker) {
		s, err := approach(trying, o, o.framing(wire), speak)
		over <- attempt{s, err, wire.String() == "content-length"}
	}
	var lines, headers error // how each attempt failed; nil before it has
	go try(framers.NDJSON(), speakMCP)
	select {
	case a := <-over:
		if a.settles() {
			return a.s, a.err
		}
		lines = a.err
	case <-time.After(min(headstart, o.Start/2)):
	}
	go try(framers.ContentLength(), speakLSP)
	for lines == nil || headers == nil {
		a := <-over
		if a.settles() {
			cancel()
			if lines == nil && headers == nil {
				endOther(over)
			}
			return a.s, a.err
		}
		if a.headers {
			headers = a.err
		} else {
			lines = a.err
		}
	}
	if s := tryOthers(ctx, o); s != nil {
		return s, nil
	}
	return nil, bothFailed(lines, headers)
}

// endOther ends the server of an attempt that comes too late.
func endOther(over <-chan attempt) {
	a := <-over
	if a.s != nil {
		a.s.Shutdown(false)
		a.s.Protocol().Close()
	}
}

// otherFramings are the framings that no protocol has as its own. They are tried last, when a
// server that speaks in lines or with headers would have answered.
var otherFramings = []string{"length-prefix", "chunked", "chunked+zstd"}

// otherTime is how long a server has to answer in a framing that few servers have.
const otherTime = 2 * time.Second

// tryOthers speaks to the server in otherFramings, one after another; nil if it answers in none.
func tryOthers(ctx context.Context, o Options) *Server {
	if o.Framing != "" {
		return nil
	}
	o.Start = min(o.Start, otherTime)
	for _, spec := range otherFramings {
		s, err := tryFraming(ctx, o, spec)
		if err == nil {
			return s
		}
		if ctx.Err() != nil {
			return nil
		}
	}
	return nil
}

// tryFraming speaks to the server in another framing.
func tryFraming(ctx context.Context, o Options, spec string) (*Server, error) {
	f, err := framers.Parse(spec)
	if err != nil {
		return nil, err
	}
	return approach(ctx, o, f, speakMCP)
}

// bothFailed joins the errors of two attempts. It prefers an attempt in which the server did
// something, since that says more than silence.
func bothFailed(lines, headers error) error {
	e, _ := errors.AsType[*HandshakeError](lines)
	other, _ := errors.AsType[*HandshakeError](headers)
	why := e.Why + "; and " + other.Why
	if e.Verdict == Deaf {
		e = other
	}
	e.Why = why
	return e
}

// A speaker speaks to a server that has just been started, and returns the protocol that it found.
type speaker func(greeting) (*Protocol, error)

// approach starts a server and speaks to it.
func approach(
	ctx context.Context, o Options, wire framers.Framing, speak speaker,
) (*Server, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s, err := launch(ctx, o, wire)
	if err != nil {
		return nil, err
	}
	g := greeting{Server: s, ctx: ctx, within: o.Start}
	p, err := speak(g)
	if err == nil {
		s.protocol.Store(p)
		return s, nil
	}
	if other, ok := errors.AsType[*otherFraming](err); ok {
		s.Shutdown(false)
		return tryFraming(ctx, o, other.spec)
	}
	if errors.Is(err, errSpeaksMCP) { // it was greeted as by an editor: start it again
		s.Shutdown(false)
		return approach(ctx, o, wire, speakMCP)
	}
	return nil, g.handshakeError(err)
}

// An otherFraming is the error of a handshake with a server that answers in another framing.
type otherFraming struct{ spec string }

func (e *otherFraming) Error() string { return "it answers in " + e.spec }

// speakMCP speaks as an MCP client of the newest revision does, and tells the protocol by the
// answer.
func speakMCP(g greeting) (*Protocol, error) {
	o, err := g.open()
	reply := o.reply
	switch {
	case err != nil:
		return nil, fmt.Errorf("a JSON-RPC request in %s: %w", g.Framing(), err)
	case reply.InChunks && reply.Envelope.Kind().Answers():
		return nil, &otherFraming{"chunked"}
	case reply.InChunks:
		return nil, &otherFraming{"chunked+zstd"}
	case reply.Envelope.Kind() == jsonrpc.Request:
		return newLines(g.Framing(), true), nil
	case reply.Raw != nil && reply.Envelope.Kind() == jsonrpc.None:
		return newLines(g.Framing(), false), g.checkFilter(o.sent)
	}
	m := newMCP(g.o, g.Framing())
	g.protocol.Store(&m.Protocol)
	err = m.enter(g, o)
	if knowsNoInitialize(err) && g.o.Tool.Name == "" {
		return newBare(g.Framing()), nil
	}
	return &m.Protocol, err
}

// knowsNoInitialize reports whether a server refused initialize as a method that it does not have.
// Then it speaks JSON-RPC without a protocol above it. A server that refuses for another reason is
// not ready to be driven, whatever else it answers.
func knowsNoInitialize(err error) bool {
	refusal, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && refusal.Code == jsonrpc.CodeMethodNotFound
}

// speakLSP speaks as an editor does.
func speakLSP(g greeting) (*Protocol, error) {
	l := newLSP(g.o, g.Framing())
	err := l.greet(g)
	if err == nil {
		return &l.Protocol, nil
	}
	l.Close()
	if errors.Is(err, errNotLSP) {
		return newBare(g.Framing()), nil
	}
	return nil, fmt.Errorf("as an editor does, in %s: %w", g.Framing(), err)
}

// checkFilter returns nil for a filter, which gives one line for each line that was sent, and an
// error for a program that just writes.
func (g greeting) checkFilter(sent int64) error {
	lines, first := g.Strays.Lines()
	g.within = min(settle, g.within)
	if lines > sent || !g.answersLines() {
		return fmt.Errorf("%w: %q", errGarbage, first)
	}
	g.Strays.forget()
	return nil
}

// answersLines reports whether a program answers each of two lines with a line.
func (g greeting) answersLines() bool {
	for _, line := range []string{`"pipebench"`, `"pipebench again"`} {
		if _, err := g.ask("a line", []byte(line)); err != nil {
			return false
		}
	}
	return true
}
