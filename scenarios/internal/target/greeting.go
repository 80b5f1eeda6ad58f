package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// Errors of the handshake, in addition to those of [child.Conn].
var (
	errGarbage = errors.New("what it writes is no answer")
	errEcho    = errors.New("it sends back what it is sent, as a filter of lines does")
	errFrames  = errors.New("the answer comes in chunk frames")

	// errFellSilent comes with the error of a later request.
	errFellSilent = errors.New("it answered the first request")

	errNotZero = errors.New("it answers the request with the id 2, and not that with the id 0")
)

// A lengthError says how a message that came after a request differs from its Content-Length.
type lengthError struct{ request, difference string }

func (e *lengthError) Error() string { return "after " + e.request + ", " + e.difference }

// The ids of the requests of the handshake. Many clients send "initialize" with the id 0, too.
const (
	helloID    = "0"
	discoverID = "1"
	notZeroID  = "2" // of "initialize", sent again
	listID     = "3"
	againID    = "4"
)

// slowStarts is the factor by which the time limit grows for a server that is still at work.
const slowStarts = 3

// A greeting is the handshake with a server that has just been started.
type greeting struct {
	*Server
	ctx    context.Context
	within time.Duration // the usual time for each answer
	settle time.Duration // the time for an answer after a line that is no answer
}

// decode reads the result of an answer. If the answer is an error, decode returns a *jsonrpc.Error.
func decode(m child.Message, result any) error {
	var answer struct{ Result, Error json.RawMessage }
	err := json.Unmarshal(m.Raw, &answer)
	if err == nil && answer.Error != nil && string(answer.Error) != "null" {
		return fmt.Errorf("the server refuses: %w", jsonrpc.ParseError(answer.Error))
	}
	if err == nil {
		err = json.Unmarshal(answer.Result, result)
	}
	if err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	return nil
}

// patient returns a context for one step of the handshake.
func (g greeting) patient() (context.Context, context.CancelFunc) {
	return g.Patient(g.ctx, g.within, slowStarts*g.within)
}

// say sends a message, and does not wait for an answer.
func (g greeting) say(msg []byte) error {
	ctx, stop := g.patient()
	defer stop()
	return g.Send(ctx, msg)
}

// call sends a request and waits for its answer.
func (g greeting) call(id jsonrpc.ID, method, params string) (child.Message, error) {
	return g.ask(method, jsonrpc.AppendRequest(nil, id, method, []byte(params)))
}

// ask sends a message, and returns the server's next message as the answer. Each error begins with
// the text in name.
func (g greeting) ask(name string, msg []byte) (child.Message, error) {
	g.Strays.takeArrivals() // forget what came before the request
	if err := g.say(msg); err != nil {
		return child.Message{}, fmt.Errorf("%s: %w", name, err)
	}
	m, err := g.answerTo(name)
	if err == nil && m.Envelope.Kind() == jsonrpc.Request {
		err = errEcho
	}
	if err == nil && m.InChunks && g.inFrames(m) {
		err = errFrames
	}
	if err != nil {
		return m, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// initialize sends the request "initialize" and returns its answer.
func (g greeting) initialize(params string) (child.Message, error) {
	reply, err := g.call(helloID, "initialize", params)
	return reply, g.blameZero(params, err)
}

// blameZero returns err, the error of "initialize". If no answer came, and one comes to the same
// request with another id, blameZero returns errNotZero instead.
func (g greeting) blameZero(params string, err error) error {
	if !errors.Is(err, child.ErrSilent) || errors.Is(err, child.ErrNotTaken) {
		return err
	}
	g.within = min(settle, g.within)
	again, silent := g.call(notZeroID, "initialize", params)
	if silent == nil && string(again.Envelope.ID) == notZeroID {
		return fmt.Errorf("initialize: %w", errNotZero)
	}
	return err
}

// answerTo waits for the answer to the request with this name. It does not wait long for the rest
// of a message of which a part has come.
func (g greeting) answerTo(name string) (child.Message, error) {
	ctx, stop := g.patient()
	defer stop()
	for {
		soon, stopSoon := g.Patient(ctx, min(settle, g.within), slowStarts*g.within)
		// Drop a late answer to server/discover.
		m, err := g.Expect(soon, func(m child.Message) bool {
			return !m.Envelope.Kind().Answers() || string(m.Envelope.ID) != discoverID
		})
		stopSoon()
		if !errors.Is(err, child.ErrSilent) {
			return m, err
		}
		if wrong := g.WrongLength(); wrong != "" {
			return m, &lengthError{name, wrong}
		}
		if ctx.Err() != nil {
			return m, err
		}
	}
}

// settle is how long we wait for the rest of an answer. An answer after a line that is no answer,
// such as a greeting, has as long in the first attempt.
const settle = time.Second

// askFirst sends the first request to an unknown server and returns the answer. If no answer comes,
// askFirst returns the first line that came.
func (g greeting) askFirst(sent []byte) (child.Message, error) {
	if err := g.say(sent); err != nil {
		return child.Message{}, err
	}
	ctx, stop := g.patient()
	defer stop()
	first, err := g.hear(ctx)
	if err != nil || isTo(first, sent) {
		return first, err
	}
	g.Strays.addLine(first.Raw)
	settled, cancel := g.Patient(g.ctx, g.settle, slowStarts*g.settle)
	defer cancel()
	for {
		m, err := g.hear(settled)
		if errors.Is(err, child.ErrSilent) {
			return first, nil
		}
		if err != nil || isTo(m, sent) {
			return m, err
		}
		g.Strays.addLine(m.Raw)
	}
}

// isTo reports whether m is an answer, or repeats the request that was sent.
func isTo(m child.Message, sent []byte) bool {
	return m.Envelope.Kind().Answers() || bytes.Equal(m.Raw, sent)
}

// hear returns the next message that is an answer, is not JSON-RPC, or repeats a request of ours.
func (g greeting) hear(ctx context.Context) (child.Message, error) {
	m, err := g.Expect(ctx, func(m child.Message) bool {
		kind := m.Envelope.Kind()
		own := slices.Contains(ourMethods, string(m.Envelope.Method))
		return kind.Answers() || kind == jsonrpc.None || own
	})
	if err == nil && bytes.HasPrefix(bytes.ToLower(m.Raw), []byte("content-length")) {
		err = fmt.Errorf("%w: it answers with Content-Length headers", errGarbage)
	}
	return m, err
}

// handshakeError makes the error that says why the handshake failed, and ends the server.
func (g greeting) handshakeError(why error) error {
	if _, ok := errors.AsType[OptionError](why); ok {
		g.Close()
		return why
	}
	if g.ctx.Err() != nil {
		g.Close()
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
	case errors.Is(why, errFrames):
		e.Verdict = InFrames
	case errors.Is(why, errNotZero):
		e.Verdict = Unanswered
	}
	if wrong, ok := errors.AsType[*lengthError](why); ok {
		e.Verdict = WrongLength
		e.Why = wrong.Error()
	}
	e.fellSilent = silent && errors.Is(why, errFellSilent)
	g.Close()
	e.Stderr = g.StderrLines()
	e.Wrote = g.Out.Bytes() > 0 || g.Stderr.Total() > 0
	return e
}

// answersAtEnd ends the server's input, and reports whether a message comes then.
func (g greeting) answersAtEnd() bool {
	g.CloseInput()
	ctx, cancel := context.WithTimeout(g.ctx, LeaveAtEnd)
	defer cancel()
	_, err := g.Next(ctx)
	return err == nil
}
