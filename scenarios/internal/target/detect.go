package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// headstart is how long the first attempt may be without success before the second begins beside
// it: most servers answer in less, and one that waits for headers would wait for ever.
const headstart = 1500 * time.Millisecond

// An attempt is what came of speaking to a server of which nothing is known.
type attempt struct {
	s         *Server // that was greeted; nil if err is set
	err       error
	byHeaders bool
}

// settles reports whether nothing else need be tried: headers would not end an endless message
// either.
func (a attempt) settles() bool {
	failed, ok := errors.AsType[*HandshakeError](a.err)
	return !ok || failed.Verdict == Endless
}

// detect starts the server and finds out what it speaks by speaking to it: in lines first, since
// most speak in lines, then with headers. Each attempt has a server of its own and all the time
// that a handshake may take; when one succeeds, the other's server is ended before detect returns.
func detect(ctx context.Context, o Options) (*Server, error) {
	trying, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan attempt, 2)
	try := func(wire framers.Framing, speak speaker, byHeaders bool) {
		s, err := approach(trying, o, o.framing(wire), speak)
		over <- attempt{s, err, byHeaders}
	}
	go try(framers.NDJSON(), speakMCP, false)
	later := time.NewTimer(min(headstart, o.Start/2))
	defer later.Stop()
	running := 1
	both := false
	var failed []attempt
	for running > 0 || !both {
		beginOther := !both && running == 0
		if !beginOther {
			select {
			case a := <-over:
				running--
				if a.settles() {
					cancel()
					endOthers(over, running)
					return a.s, a.err
				}
				failed = append(failed, a)
			case <-later.C:
				beginOther = !both
			}
		}
		if beginOther {
			go try(framers.ContentLength(), speakLSP, true)
			running++
			both = true
		}
	}
	if !refuses(failed) {
		if s := tryLesser(ctx, o); s != nil {
			return s, nil
		}
	}
	if failed[0].byHeaders {
		return nil, bothFailed(failed[1].err, failed[0].err)
	}
	return nil, bothFailed(failed[0].err, failed[1].err)
}

// refuses reports whether a server answered one of the attempts, though by an error.
func refuses(failed []attempt) bool {
	for _, a := range failed {
		e, ok := errors.AsType[*HandshakeError](a.err)
		if ok && e.Verdict == ErrorReply {
			return true
		}
	}
	return false
}

// endOthers ends the servers of attempts that came too late.
func endOthers(over <-chan attempt, running int) {
	for range running {
		a := <-over
		if a.s != nil {
			a.s.Shutdown(false)
		}
	}
}

// lesserTime is how long a server has to answer in a framing that few servers have.
const lesserTime = 2 * time.Second

// tryLesser speaks to the server in one framing after another that few servers have; nil if it
// speaks none.
func tryLesser(ctx context.Context, o Options) *Server {
	if o.Framing != "" {
		return nil
	}
	o.Start = min(o.Start, lesserTime)
	for _, f := range lesserFramings() {
		s, err := approach(ctx, o, f, speakMCP)
		if err == nil {
			return s
		}
		if ctx.Err() != nil {
			return nil
		}
	}
	return nil
}

// bothFailed makes one error of those of two attempts: what a server did says more than its
// silence.
func bothFailed(lines, headers error) error {
	inLines, _ := errors.AsType[*HandshakeError](lines)
	inHeaders, _ := errors.AsType[*HandshakeError](headers)
	both := inLines.Why + "; and " + inHeaders.Why
	e := inLines
	if e.Verdict == Deaf || inHeaders.Verdict == ErrorReply {
		e = inHeaders
	}
	if e.Verdict != ErrorReply { // an answer says why by itself
		e.Why = both
	}
	return e
}

// A speaker speaks to a server that has just been started, until it knows what that speaks.
type speaker func(greeting, Options) (*Protocol, error)

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
	g := greeting{Server: s, ctx: ctx, within: o.Start, said: s.Out.Overhear()}
	p, err := speak(g, o)
	if err == nil {
		s.protocol.Store(p)
		return s, nil
	}
	if other, ok := errors.AsType[*otherFraming](err); ok {
		s.Shutdown(false)
		return approach(ctx, o, other.framing, speakMCP)
	}
	if f := s.Chunks(); f != nil {
		s.Shutdown(false)
		return approach(ctx, o, f, speak)
	}
	if errors.Is(err, errSpeaksMCP) { // it was greeted as by an editor, and is started again
		s.Shutdown(false)
		return approach(ctx, o, wire, speakMCP)
	}
	return nil, g.handshakeError(err)
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
func speakMCP(g greeting, o Options) (*Protocol, error) {
	sent := jsonrpc.AppendRequest(nil, callID, "server/discover", []byte(discoverParams))
	reply, err := g.askFirst(sent)
	switch {
	case err != nil:
		return nil, fmt.Errorf("a JSON-RPC request in %s: %w", g.Framing(), err)
	case bytes.Equal(reply.Raw, sent):
		return newLines(g.Framing(), true), nil
	case reply.Envelope.Kind() == jsonrpc.None:
		return newLines(g.Framing(), false), g.checkFilter()
	}
	m := newMCP(o, g.Framing())
	g.protocol.Store(&m.Protocol)
	err = m.enter(g, reply)
	if knowsNoInitialize(err) && o.Tool.Name == "" {
		return newBare(g.Framing()), nil
	}
	return &m.Protocol, err
}

// knowsNoInitialize reports whether a server refused initialize as a method that it does not have.
// It speaks JSON-RPC without a protocol above it then. One that refuses for another reason is not
// ready to be driven, whatever else it answers.
func knowsNoInitialize(err error) bool {
	refusal, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && refusal.Code == jsonrpc.CodeMethodNotFound
}

// speakLSP speaks as an editor does.
func speakLSP(g greeting, o Options) (*Protocol, error) {
	l := newLSP(o, g.Framing())
	err := l.greet(g)
	if errors.Is(err, errNotLSP) {
		return newBare(g.Framing()), nil
	}
	if err != nil {
		return nil, fmt.Errorf("as an editor does, in %s: %w", g.Framing(), err)
	}
	return &l.Protocol, nil
}

// checkFilter tells a filter, which gives a line for a line, from a program that just writes, which
// is an error.
func (g greeting) checkFilter() error {
	lines, first := g.Strays.Lines()
	if f := recognise([]byte(g.said.String() + "\n")); f != nil {
		return &otherFraming{f}
	}
	g.within = min(settle, g.within)
	if lines != 1 || !g.answersLines() {
		return fmt.Errorf("%w: %q", errGarbage, first)
	}
	g.Strays.forget()
	return nil
}

// answersLines reports whether a program gives a line for a line, twice.
func (g greeting) answersLines() bool {
	for _, line := range []string{`"pipebench"`, `"pipebench again"`} {
		if _, err := g.ask("a line", []byte(line)); err != nil {
			return false
		}
	}
	return true
}
