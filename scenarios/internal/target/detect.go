package target

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// detect finds out what a server speaks. It first sends requests as lines. If that does not succeed
// soon, it also sends them with Content-Length headers. Each attempt starts a server of its own.
func detect(ctx context.Context, o Options) (*Server, error) {
	trying, cancel := context.WithCancel(ctx)
	defer cancel()
	attempts := make(chan attempt, 2)
	try := func(wire framers.Framing, speak speaker) {
		s, err := approach(trying, o, o.framing(wire), speak)
		withHeaders := wire.String() == "content-length"
		attempts <- attempt{server: s, err: err, withHeaders: withHeaders}
	}
	var linesErr, headersErr error // how each attempt failed; nil if it has not
	go try(framers.NDJSON(), speakMCP)
	select {
	case a := <-attempts:
		if a.settles() {
			return a.server, a.err
		}
		linesErr = a.err
	case <-time.After(min(headstart, o.Start/2)):
	}
	go try(framers.ContentLength(), speakLSP)
	for linesErr == nil || headersErr == nil {
		a := <-attempts
		if a.settles() {
			cancel()
			if linesErr == nil && headersErr == nil { // the other attempt still runs
				(<-attempts).end()
			}
			return a.server, a.err
		}
		if a.withHeaders {
			headersErr = a.err
		} else {
			linesErr = a.err
		}
	}
	return nil, bothFailed(linesErr, headersErr)
}

// headstart is how long we try nothing but lines. Most servers answer sooner.
const headstart = 1500 * time.Millisecond

// An attempt is the result of speaking to a server.
type attempt struct {
	server      *Server // a server that completed the handshake; nil if err is set
	err         error
	withHeaders bool
}

// settles reports whether further attempts are pointless: the handshake was completed, it failed in
// a way that does not depend on the framing, or an answer showed that the framing is right.
func (a attempt) settles() bool {
	failed, ok := errors.AsType[*HandshakeError](a.err)
	if !ok || failed.fellSilent {
		return true
	}
	switch failed.Verdict {
	case Endless, ErrorReply, InFrames, Unanswered, WrongLength:
		return true
	}
	return false
}

// end ends the server of an attempt whose result is no longer needed.
func (a attempt) end() {
	if a.server != nil {
		a.server.Close()
		a.server.Protocol().Close()
	}
}

// bothFailed joins the errors of two attempts: with lines and with Content-Length headers. The
// verdict is that of the attempt with lines, unless the server answered no line.
func bothFailed(linesErr, headersErr error) error {
	lines, _ := errors.AsType[*HandshakeError](linesErr)
	headers, _ := errors.AsType[*HandshakeError](headersErr)
	joined := *lines
	if lines.Verdict == Deaf {
		joined = *headers
	}
	joined.Why = lines.Why + "; and " + headers.Why
	return &joined
}

// A speaker speaks to a new server, and returns the protocol that the server turned out to speak.
type speaker func(greeting) (*Protocol, error)

// approach starts a server and speaks to it. If the answer shows that the server speaks another
// protocol or framing, approach tries again with that one.
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
	g := greeting{Server: s, ctx: ctx, within: o.Start, settle: min(settle, o.Start)}
	p, err := speak(g)
	if err == nil {
		s.protocol.Store(p)
		return s, nil
	}
	if other, ok := errors.AsType[*otherFraming](err); ok {
		s.Close()
		wire, err := framers.Parse(other.spec)
		if err != nil {
			return nil, err
		}
		return approach(ctx, o, wire, speakMCP)
	}
	switch {
	case errors.Is(err, errSpeaksMCP):
		speak = speakMCP
	case errors.Is(err, errSpeaksLSP):
		speak = speakLSP
	case errors.Is(err, errGreeting):
		speak = func(g greeting) (*Protocol, error) {
			g.settle = g.within // its first answer may take as long as that of any server
			return speakMCP(g)
		}
	default:
		return nil, g.handshakeError(err)
	}
	s.Close() // it was greeted in the wrong way: start it again
	return approach(ctx, o, wire, speak)
}

// An otherFraming is the error of a handshake with a server that answers in another framing.
type otherFraming struct{ spec string }

func (e *otherFraming) Error() string { return "it answers in " + e.spec }

// speakMCP speaks as an MCP client does, and recognizes the protocol by the answer.
func speakMCP(g greeting) (*Protocol, error) {
	o, err := g.open()
	if err != nil {
		return nil, fmt.Errorf("a JSON-RPC request in %s: %w", g.Framing, err)
	}
	reply := o.reply
	kind := reply.Envelope.Kind()
	switch {
	case reply.InChunks && kind.Answers():
		return nil, &otherFraming{"chunked"}
	case reply.InChunks: // compressed, so it is not read as an answer
		return nil, &otherFraming{"chunked+zstd"}
	case kind == jsonrpc.Request: // our own request came back
		return newEcho(g.Framing), nil
	case kind == jsonrpc.None && reply.Raw != nil:
		err := g.checkFilter(o.sent)
		if err != nil && g.settle < g.within {
			return nil, errGreeting
		}
		filter := newEcho(g.Framing)
		filter.Name = "lines (answers with others)"
		filter.Echoes = false
		return filter, err
	}
	m := newMCP(g.o, g.Framing)
	g.protocol.Store(&m.Protocol)
	err = m.enter(g, o)
	if (knowsNoInitialize(err) || errors.Is(err, errNotMCP)) && g.o.Tool.Name == "" {
		return newBare(g.Framing), nil
	}
	return &m.Protocol, err
}

// errGreeting says that a server wrote a line that is no answer: it may be slow to answer.
var errGreeting = errors.New("it wrote a line before its answer")

// errNotMCP says that a server answers any request, "initialize" as well, as no MCP server does.
var errNotMCP = errors.New("it is no MCP server")

// knowsNoInitialize reports whether err says that the server has no method "initialize".
func knowsNoInitialize(err error) bool {
	refusal, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && refusal.Code == jsonrpc.CodeMethodNotFound
}

func speakLSP(g greeting) (*Protocol, error) {
	l := newLSP(g.o, g.Framing)
	err := l.greet(g)
	if err == nil {
		return &l.Protocol, nil
	}
	l.Close()
	if errors.Is(err, errNotLSP) {
		return newBare(g.Framing), nil
	}
	return nil, fmt.Errorf("as an editor does, in %s: %w", g.Framing, err)
}

// checkFilter returns an error unless the server answers each line with one line. The parameter
// sent is the number of lines that we have sent so far.
func (g greeting) checkFilter(sent int64) error {
	lines, first := g.Strays.Lines()
	g.within = min(settle, g.within)
	if lines > sent || !g.answersLines() {
		return fmt.Errorf("%w: %q", errGarbage, first)
	}
	g.Strays.forgetLines()
	return nil
}

// answersLines sends two lines, and reports whether the program answers each with a line. An answer
// of JSON-RPC is a late one to an earlier request.
func (g greeting) answersLines() bool {
	for _, line := range []string{`"pipebench"`, `"pipebench again"`} {
		m, err := g.ask("a line", []byte(line))
		if err != nil || m.Envelope.Kind().Answers() {
			return false
		}
	}
	return true
}
