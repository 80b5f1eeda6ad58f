package target

import "context"

// Open starts the server, finds out what it speaks, and completes the handshake. The error is a
// [*StartError] if the command cannot be run, and a [*HandshakeError] if the handshake fails.
//
// The caller closes the server's Protocol once every server that uses the Protocol has been closed.
func Open(ctx context.Context, o Options) (*Server, error) {
	var s *Server
	var err error
	p := named(o)
	o.observe("waiting for the handshake")
	if p == nil {
		s, err = detect(ctx, o)
	} else {
		s, err = Start(ctx, o, p)
	}
	if err != nil {
		if p != nil {
			p.Close()
		}
		return nil, err
	}
	p = s.Protocol()
	err = p.check(o)
	if err == nil {
		s, err = s.learn(ctx)
	}
	if err == nil {
		return s, nil
	}
	if s != nil {
		s.Close()
	}
	p.Close()
	return nil, err
}

// Start starts another server that speaks p, and completes the handshake.
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

// Launch starts a server that speaks p, and sends nothing to it.
func Launch(ctx context.Context, o Options, p *Protocol) (*Server, error) {
	s, err := launch(ctx, o, p.Framing)
	if err != nil {
		return nil, err
	}
	s.protocol.Store(p)
	s.Paces = p.Paces
	return s, nil
}

// Greet completes the handshake with a server that Launch has started. If that fails, Greet ends
// the server.
func (s *Server) Greet(ctx context.Context) error {
	g := greeting{Server: s, ctx: ctx, within: s.o.Start}
	p := s.Protocol()
	var err error
	if p.greet != nil {
		err = p.greet(g)
	}
	if err == nil && s.Out.Bytes() == 0 {
		// The handshake sent no request. Without this request, the time to start would count into
		// the time of the first answer.
		_, err = g.ask("a first request", p.Smallest(Transport).Number(0))
	}
	if err != nil {
		return g.handshakeError(err)
	}
	return nil
}

// learn finds out by small requests how the server refuses a method, and whether answers contain
// what was sent. If the server fails, learn returns a newly started server, or nil if none can be
// started.
func (s *Server) learn(ctx context.Context) (*Server, error) {
	p := s.Protocol()
	out, s, err := s.first(ctx, Transport)
	if err == nil && p.ignores && out.Verdict == Deaf {
		out, s, err = s.first(ctx, Transport)
		p.ignores = out.Verdict == OK
		p.Silent = !p.ignores
	}
	if err != nil {
		return s, err
	}
	p.refusal = out.code
	p.Paces[Tool] = p.Paces[Transport]
	s.Paces = p.Paces
	hasNoTool := p.sends == "" && !p.tryEcho
	if p.Echoes || p.Silent || hasNoTool {
		return s, nil
	}
	p.Echoes = p.tryEcho // so that the answer is compared with the request
	out, s, err = s.first(ctx, Tool)
	p.Echoes = p.Echoes && out.Verdict == OK && out.code == ""
	p.ToolFails = out.Verdict != OK && out.Verdict != ErrorReply
	return s, err
}

// first makes one small request of a kind that was not tried before. If the server fails, first
// returns a newly started server.
func (s *Server) first(ctx context.Context, kind Kind) (Outcome, *Server, error) {
	p := s.Protocol()
	request := p.Smallest(kind)
	what := "a small request"
	if kind == Tool && p.sends != "" {
		what = p.sends
	}
	request.errs = request.errs || kind == Transport
	s.o.observe("waiting for the first answer to " + what)
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
	if kind == Transport && out.isIgnored() {
		p.ignores = p.instead != ""
		p.Silent = !p.ignores
	}
	s.Close()
	s, err = Start(ctx, s.o, p)
	return out, s, err
}
