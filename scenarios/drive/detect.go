package drive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// An UnfitError is returned for a command that starts and cannot be spoken to.
type UnfitError struct {
	Command []string
	Verdict Verdict  // how it ended or failed: "exit 1", "deaf", "error reply", "corrupt" for garbage
	Why     string   // what was tried
	Words   []string // its last lines on standard error
}

func (e *UnfitError) Error() string {
	s := fmt.Sprintf("%s: %s: %s", e.Command[0], e.Verdict, e.Why)
	if len(e.Words) > 0 {
		s += "; its last words: " + strings.Join(e.Words, " | ")
	}
	return s
}

// Advice says what to look at first. That of a verdict on a message would not do: there was none of a size yet.
func (e *UnfitError) Advice() string {
	switch {
	case e.Verdict.Ended():
		return "it ended before it could be loaded: does it serve on its standard streams with these arguments, and does it lack a setting or a file?"
	case e.Verdict == Corrupt:
		return "it writes what is of no protocol that was tried: that belongs on standard error; else name its protocol and its framing"
	case e.Verdict == ErrorReply:
		return "it can be spoken to: look at what it answered, and whether protocol, framing and tool are those that it has"
	}
	return "it lives and is not heard of: does it need an argument to serve on its standard streams, another protocol or framing, or more time to begin?"
}

// unfit explains why a server could not be greeted, and ends it.
func unfit(o Options, c *conn, why error) error {
	e := &UnfitError{Command: o.Command, Why: why.Error(), Verdict: ErrorReply}
	switch {
	case errors.Is(why, errLeft):
		e.Verdict = Deaf
		if c.ended(leaveAtTerm) {
			e.Verdict = c.verdict()
		}
	case errors.Is(why, errSilent), errors.Is(why, errMute):
		e.Verdict = Deaf
	case errors.Is(why, errGarbage):
		e.Verdict = Corrupt
	}
	c.hangUp(false)
	e.Words = c.words.lines()
	return e
}

var errGarbage = errors.New("what it writes is no answer")

// detect starts the server and finds out what it speaks, by speaking to it. The server that is returned has been greeted.
func detect(ctx context.Context, o Options) (dialect, *conn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &survey{ctx: ctx, o: o, began: time.Now(), met: make(chan meeting, 2)}
	s.begin()
	timer := time.NewTimer(min(headstart, o.Start/2))
	defer timer.Stop()
	for s.under > 0 {
		select {
		case m := <-s.met:
			s.under--
			if m.err == nil || errors.As(m.err, new(*StartError)) {
				cancel(errMet)
				s.dismiss()
				return m.d, m.c, m.err
			}
			s.findings[m.way] = m.err
			s.begin()
		case <-timer.C:
			s.begin()
		}
	}
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	if better(s.findings[1], s.findings[0]) {
		return nil, nil, s.findings[1]
	}
	return nil, nil, s.findings[0]
}

// errMet ends the other way when one has succeeded.
var errMet = errors.New("the server has been met")

// headstart is how long the first way to speak may be without success before the second begins beside it, with a server of its own: most
// servers answer in less, and one that waits for headers would wait for ever.
const headstart = 1500 * time.Millisecond

// An attempt is one way to speak to a server of which nothing is known.
type attempt struct {
	wire   framers.Framing
	within time.Duration
	greet  func(ctx context.Context, o Options, c *conn, a attempt) (dialect, error)
}

// A meeting is what came of an attempt: a server that was greeted, or why it was not.
type meeting struct {
	way int
	d   dialect
	c   *conn
	err error
}

// A survey is the attempts to speak to a server: in lines first, since most speak in lines, then with headers.
type survey struct {
	ctx      context.Context
	o        Options
	began    time.Time
	begun    int
	under    int // attempts that are not over
	met      chan meeting
	findings [2]error
}

// begin makes the next attempt, if there is one. A late one has the less time.
func (s *survey) begin() {
	ways := []attempt{{wire: s.o.framing(framers.NDJSON()), greet: fromMCP}, {wire: s.o.framing(framers.ContentLength()), greet: fromLSP}}
	if s.begun == len(ways) {
		return
	}
	way, a := s.begun, ways[s.begun]
	a.within = s.o.Start - min(time.Since(s.began), s.o.Start/2)
	s.begun++
	s.under++
	go func() {
		m := a.meet(s.ctx, s.o)
		m.way = way
		s.met <- m
	}()
}

// meet starts a server and speaks to it.
func (a attempt) meet(ctx context.Context, o Options) meeting {
	c, err := dial(o, a.wire)
	if err != nil {
		return meeting{err: err}
	}
	d, err := a.greet(ctx, o, c, a)
	if errors.Is(err, errSpeaksMCP) { // and has been greeted in another tongue: it gets a start of its own
		c.hangUp(false)
		a.greet = fromMCP
		return a.meet(ctx, o)
	}
	if err != nil {
		return meeting{err: unfit(o, c, err)}
	}
	return meeting{d: d, c: c}
}

// errSpeaksMCP is what an editor's greeting of an MCP server comes to.
var errSpeaksMCP = errors.New("it is an MCP server")

// dismiss ends what is still under way.
func (s *survey) dismiss() {
	for ; s.under > 0; s.under-- {
		if m := <-s.met; m.err == nil {
			m.c.hangUp(false)
		}
	}
}

// better prefers what a server did to its silence.
func better(a, b error) bool {
	var was *UnfitError
	var is *UnfitError
	return errors.As(b, &was) && errors.As(a, &is) && was.Verdict == Deaf && is.Verdict != Deaf
}

// fromMCP speaks as an MCP client of the newest revision does, and takes the answer for what it is.
func fromMCP(ctx context.Context, o Options, c *conn, a attempt) (dialect, error) {
	sent := discoverCall.message()
	reply, err := c.hearken(ctx, sent, a.within)
	if err != nil {
		return nil, fmt.Errorf("a JSON-RPC request in %s: %w", a.wire, err)
	}
	switch {
	case bytes.Equal(reply.raw, sent):
		return &lines{wire: a.wire, echoes: true}, nil
	case reply.kind == jsonrpc.None:
		return &lines{wire: a.wire}, c.answersEachLine(ctx, a.within)
	}
	m := newMCP(o, a.wire)
	m.discovered(reply)
	var refused *failure
	switch err := m.greet(ctx, c, a.within); {
	case err == nil:
		return m, nil
	case errors.As(err, &refused) && o.Tool == "":
		return &bare{wire: a.wire}, nil
	default:
		return nil, err
	}
}

// fromLSP speaks as an editor does.
func fromLSP(ctx context.Context, o Options, c *conn, a attempt) (dialect, error) {
	l := newLSP(o, a.wire)
	c.hear(l.answer())
	reply, err := c.call(ctx, l.initialize(), a.within)
	if err != nil {
		return nil, fmt.Errorf("initialize as an editor does, in %s: %w", a.wire, err)
	}
	switch err := l.accepted(reply); {
	case errors.Is(err, errSpeaksMCP):
		return nil, err
	case err != nil:
		return &bare{wire: a.wire}, nil
	}
	return l, l.enter(ctx, c, a.within)
}

// settle is how long after a line that is no answer the answer may still come: some servers greet in words first.
const settle = time.Second

// hearken sends the first request that a server gets, and waits for its answer. Lines before it are noise, unless nothing else comes.
func (c *conn) hearken(ctx context.Context, sent []byte, within time.Duration) (answer, error) {
	heard := make(chan answer, 64)
	r := receiver(func(msg []byte, e jsonrpc.Envelope, _ time.Time) {
		select {
		case heard <- read(msg, e):
		default:
		}
	})
	c.receiver.Store(&r)
	defer c.receiver.Store(nil)
	failed := make(chan error, 1)
	go func() {
		if err := c.send(sent); err != nil {
			failed <- c.left(err)
		}
	}()
	timer := time.NewTimer(within)
	defer timer.Stop()
	var other *answer
	for {
		select {
		case a := <-heard:
			switch {
			case a.kind == jsonrpc.Result, a.kind == jsonrpc.Failure, bytes.Equal(a.raw, sent):
				return a, nil
			case bytes.HasPrefix(bytes.ToLower(a.raw), []byte("content-length")):
				return a, fmt.Errorf("%w: it answers with Content-Length headers", errGarbage)
			case a.kind == jsonrpc.None && other == nil:
				other = &a
				timer.Reset(min(settle, within))
			}
			if a.kind == jsonrpc.None {
				c.noise.line(a.raw)
			}
		case err := <-failed:
			return answer{}, err
		case <-c.closed:
			if len(heard) > 0 {
				continue
			}
			return answer{}, errLeft
		case <-timer.C:
			if other != nil {
				return *other, nil
			}
			return answer{}, errSilent
		case <-ctx.Done():
			return answer{}, context.Cause(ctx)
		}
	}
}

// answersEachLine tells a filter, which gives a line for a line, from a program that just writes.
func (c *conn) answersEachLine(ctx context.Context, within time.Duration) error {
	dirty, first := c.noise.dirty()
	if dirty != 1 {
		return fmt.Errorf("%w: %q", errGarbage, first)
	}
	for _, word := range []string{"pipebench", "pipebench again"} {
		if _, err := c.ask(ctx, []byte(word), min(settle, within)); err != nil {
			return fmt.Errorf("%w: %q", errGarbage, first)
		}
	}
	c.noise.forget()
	return nil
}

// forget drops what was taken for noise and was none.
func (n *noise) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines, n.first, n.cut = 0, "", false
}
