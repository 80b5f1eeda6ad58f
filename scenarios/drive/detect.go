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

// A HandshakeError is returned for a command that starts and cannot be spoken to.
type HandshakeError struct {
	Command []string
	Verdict Verdict  // how it ended or failed: "exit 1", "deaf", "error reply", "corrupt" for garbage
	Why     string   // what was tried
	Stderr  []string // its last lines on standard error
}

func (e *HandshakeError) Error() string {
	s := fmt.Sprintf("%s: %s: %s", e.Command[0], e.Verdict, e.Why)
	if len(e.Stderr) > 0 {
		s += "; its last words: " + strings.Join(e.Stderr, " | ")
	}
	return s
}

// Advice says what to look at first. That of a verdict on a message would not do: there was none of
// a size yet.
func (e *HandshakeError) Advice() string {
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

// handshakeError explains why a server could not be greeted, and ends it.
func handshakeError(o Options, c *conn, why error) error {
	e := &HandshakeError{Command: o.Command, Why: why.Error(), Verdict: ErrorReply}
	switch {
	case errors.Is(why, errLeft):
		e.Verdict = Deaf
		if c.Ended(leaveAtTerm) {
			e.Verdict = c.exitVerdict()
		}
	case errors.Is(why, errSilent), errors.Is(why, errMute):
		e.Verdict = Deaf
	case errors.Is(why, errGarbage):
		e.Verdict = Corrupt
	}
	c.shutdown(false)
	e.Stderr = c.stderrLines()
	return e
}

var errGarbage = errors.New("what it writes is no answer")

// A detector finds out what a server speaks by speaking to it: in lines first, since most speak in
// lines, then with headers. Each attempt has a server of its own.
type detector struct {
	ctx      context.Context
	o        Options
	began    time.Time
	begun    int // attempts
	underWay int // of them
	results  chan attempt
}

// An attempt to speak to a server of which nothing is known: once it is over, a server that was
// greeted, or why it was not.
type attempt struct {
	wire   framers.Framing
	within time.Duration
	asLSP  bool

	p   protocol
	c   *conn
	err error
}

// headstart is how long the first attempt may be without success before the second begins beside
// it: most servers answer in less, and one that waits for headers would wait for ever.
const headstart = 1500 * time.Millisecond

// errDetected ends the other attempt when one has succeeded.
var errDetected = errors.New("the server has been spoken to")

// detect starts the server and finds out what it speaks. The server that is returned has been
// greeted.
func detect(ctx context.Context, o Options) (protocol, *conn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d := &detector{ctx: ctx, o: o, began: time.Now(), results: make(chan attempt, 2)}
	d.begin()
	timer := time.NewTimer(min(headstart, o.Start/2))
	defer timer.Stop()
	var failures [2]error // of lines, of headers
	for d.underWay > 0 {
		select {
		case a := <-d.results:
			d.underWay--
			if a.err == nil || errors.As(a.err, new(*StartError)) {
				cancel(errDetected)
				d.discard()
				return a.p, a.c, a.err
			}
			if a.asLSP {
				failures[1] = a.err
			} else {
				failures[0] = a.err
			}
			d.begin()
		case <-timer.C:
			d.begin()
		}
	}
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	// What a server did says more than its silence.
	var lines, headers *HandshakeError
	if errors.As(failures[0], &lines) && errors.As(failures[1], &headers) && lines.Verdict == Deaf && headers.Verdict != Deaf {
		return nil, nil, headers
	}
	return nil, nil, failures[0]
}

// begin makes the next attempt, if there is one. A late one has the less time.
func (d *detector) begin() {
	if d.begun == 2 {
		return
	}
	a := attempt{wire: d.o.framing(framers.NDJSON())}
	if d.begun == 1 {
		a.asLSP, a.wire = true, d.o.framing(framers.ContentLength())
	}
	a.within = d.o.Start - min(time.Since(d.began), d.o.Start/2)
	d.begun++
	d.underWay++
	go func() {
		asLSP := a.asLSP
		if a.run(d.ctx, d.o); errors.Is(a.err, errSpeaksMCP) { // it has been greeted as by an editor, and is started again
			a.asLSP = false
			a.run(d.ctx, d.o)
		}
		a.asLSP = asLSP
		d.results <- a
	}()
}

// discard ends what is still under way.
func (d *detector) discard() {
	for ; d.underWay > 0; d.underWay-- {
		if a := <-d.results; a.err == nil {
			a.c.shutdown(false)
		}
	}
}

// errSpeaksMCP is what an editor's greeting of an MCP server comes to.
var errSpeaksMCP = errors.New("it is an MCP server")

// run starts a server and speaks to it.
func (a *attempt) run(ctx context.Context, o Options) {
	if a.c, a.err = connect(o, a.wire); a.err != nil {
		return
	}
	if a.asLSP {
		a.p, a.err = a.speakLSP(ctx, o)
	} else {
		a.p, a.err = a.speakMCP(ctx, o)
	}
	switch {
	case errors.Is(a.err, errSpeaksMCP):
		a.c.shutdown(false)
	case a.err != nil:
		a.err = handshakeError(o, a.c, a.err)
	}
}

// speakMCP speaks as an MCP client of the newest revision does, and takes the answer for what it
// is.
func (a *attempt) speakMCP(ctx context.Context, o Options) (protocol, error) {
	sent := jsonrpc.AppendRequest(nil, callID, "server/discover", []byte(discoverParams))
	reply, err := a.c.awaitFirstLine(ctx, sent, a.within)
	if err != nil {
		return nil, fmt.Errorf("a JSON-RPC request in %s: %w", a.wire, err)
	}
	switch {
	case bytes.Equal(reply.raw, sent):
		return newLines(a.wire, true), nil
	case reply.kind == jsonrpc.None:
		return newLines(a.wire, false), a.answersEachLine(ctx)
	}
	m := newMCP(o, a.wire)
	m.discovered(reply)
	a.c.speak(m)
	err = m.enter(ctx, a.c, a.within)
	var refused *jsonrpc.Error
	switch {
	case err == nil:
		return m, nil
	case errors.As(err, &refused) && o.Tool == "":
		return newBare(a.wire), nil
	}
	return nil, err
}

// speakLSP speaks as an editor does.
func (a *attempt) speakLSP(ctx context.Context, o Options) (protocol, error) {
	l := newLSP(o, a.wire)
	a.c.speak(l)
	reply, err := a.c.call(ctx, "initialize", l.initializeParams(), a.within)
	if err != nil {
		return nil, fmt.Errorf("initialize as an editor does, in %s: %w", a.wire, err)
	}
	switch err := l.accepted(reply); {
	case errors.Is(err, errSpeaksMCP):
		return nil, err
	case err != nil:
		return newBare(a.wire), nil
	}
	return l, l.enter(ctx, a.c, a.within)
}

// answersEachLine tells a filter, which gives a line for a line, from a program that just writes.
func (a *attempt) answersEachLine(ctx context.Context) error {
	lines, first, _ := a.c.strays.nonMessages()
	if lines != 1 {
		return fmt.Errorf("%w: %q", errGarbage, first)
	}
	for _, word := range []string{"pipebench", "pipebench again"} {
		if _, err := a.c.ask(ctx, []byte(word), min(settle, a.within)); err != nil {
			return fmt.Errorf("%w: %q", errGarbage, first)
		}
	}
	a.c.strays.forget()
	return nil
}
