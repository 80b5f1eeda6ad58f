package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// Open starts the server, finds out what it speaks, shakes hands, and learns from first requests
// how it refuses and whether its answers hold what was sent. It fails with a [*StartError] if the
// command cannot be run at all, and with a [*HandshakeError] if it cannot be spoken to.
func Open(ctx context.Context, o Options) (*Server, error) {
	var s *Server
	var err error
	p := named(o)
	if p != nil {
		err = p.check(o)
		if err == nil {
			s, err = Start(ctx, o, p)
		}
	} else {
		s, err = detect(ctx, o)
		if err == nil {
			err = s.Protocol().check(o)
		}
	}
	if err == nil {
		s, err = s.learn(ctx)
	}
	if err != nil && s != nil {
		s.Shutdown(false)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Start starts another server of a protocol that is known, and shakes hands.
func Start(ctx context.Context, o Options, p *Protocol) (*Server, error) {
	s, err := Launch(ctx, o, p)
	if err != nil {
		return nil, err
	}
	if err := s.Greet(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Launch starts a server of a protocol that is known, and says nothing to it.
func Launch(ctx context.Context, o Options, p *Protocol) (*Server, error) {
	s, err := launch(ctx, o, p.Framing)
	if err != nil {
		return nil, err
	}
	s.protocol.Store(p)
	s.Paces = p.Paces
	return s, nil
}

// Greet shakes hands with a server that was launched, and ends it if that fails.
func (s *Server) Greet(ctx context.Context) error {
	g := greeting{Server: s, ctx: ctx, within: s.o.Start}
	p := s.Protocol()
	var err error
	if p.greet != nil {
		err = p.greet(g)
	}
	if err == nil && s.Out.Bytes() == 0 {
		// Nothing was asked in the handshake: a first sign of life keeps the start of the server
		// out of the time that a later answer has.
		_, err = g.ask("a first request", p.Smallest(Transport).Number(0))
	}
	if err != nil {
		return g.handshakeError(err)
	}
	return nil
}

// learn makes first requests, for which the server has as long as for its start, and learns how it
// refuses and whether its answers hold what was sent. It returns the server, or another one in the
// place of one that failed.
func (s *Server) learn(ctx context.Context) (*Server, error) {
	p := s.Protocol()
	out, s, err := s.first(ctx, Transport)
	if err != nil {
		return s, err
	}
	p.refusal = out.code
	p.Paces[Tool] = p.Paces[Transport]
	s.Paces = p.Paces
	if !p.tryEcho {
		return s, nil
	}
	p.Echoes = true
	out, s, err = s.first(ctx, Tool)
	p.Echoes = out.Verdict == OK && out.code == ""
	p.ToolFails = out.Verdict != OK && out.Verdict != ErrorReply
	return s, err
}

// first makes one small request of a kind of which nothing is known.
func (s *Server) first(ctx context.Context, kind Kind) (Outcome, *Server, error) {
	p := s.Protocol()
	request := p.Smallest(kind)
	s.Paces[kind] = Pace{Size: request.Size(), Took: s.o.Start / Margin}
	out, err := s.Trip(ctx, request, 0)
	if err != nil {
		return out, s, err
	}
	if out.Verdict == OK {
		p.Paces[kind] = Pace{Size: request.Size(), Took: out.Took}
		s.Paces[kind] = p.Paces[kind]
	}
	if out.Lives() {
		return out, s, nil
	}
	f := s.Chunks()
	s.Shutdown(false)
	if f != nil { // it was not understood
		inChunks := *p
		inChunks.Framing = f
		p = &inChunks
	}
	s, err = Start(ctx, s.o, p)
	return out, s, err
}

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

// handshakeError explains why a server could not be greeted, and ends it.
func (g greeting) handshakeError(why error) error {
	if g.ctx.Err() != nil {
		g.Shutdown(false)
		return context.Cause(g.ctx)
	}
	e := &HandshakeError{Command: g.o.Command, Why: why.Error(), Verdict: ErrorReply}
	silent := errors.Is(why, child.ErrSilent) && !errors.Is(why, child.ErrNotTaken)
	switch {
	case errors.Is(why, child.ErrLeft) && g.Process.Ended(LeaveAtTerm):
		e.Verdict = g.ExitVerdict()
	case silent && g.answersAtEnd():
		e.Verdict = Buffered
	case silent, errors.Is(why, child.ErrLeft), errors.Is(why, child.ErrNotTaken):
		e.Verdict = Deaf
	case errors.Is(why, child.ErrEndless):
		e.Verdict = Endless
	case errors.Is(why, errGarbage), errors.Is(why, errEcho):
		e.Verdict = Corrupt
	}
	g.Shutdown(false)
	e.Stderr = g.StderrLines()
	return e
}

// answersAtEnd ends the server's input, and reports whether it says something then.
func (g greeting) answersAtEnd() bool {
	g.CloseInput()
	ctx, cancel := context.WithTimeout(g.ctx, LeaveAtEnd)
	defer cancel()
	_, err := g.Next(ctx)
	return err == nil
}
