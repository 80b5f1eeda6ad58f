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
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// Why a request of the handshake got no answer, beside the errors of [child.Conn].
var (
	errGarbage = errors.New("what it writes is no answer")
	errEcho    = errors.New("it sends back what it is sent, as a filter of lines does")
)

// callID is the id of the handshake's requests: they follow each other, and are the only ones
// meanwhile.
const callID = "1"

// slowStarts is how many times the time for an answer a server has that is at work.
const slowStarts = 3

// A greeting is what is said to a server that has just been started.
type greeting struct {
	*Server
	ctx    context.Context
	within time.Duration // for each answer
	said   *proc.Tail    // what the server says, as it comes; nil if nobody listens
}

// An answer to a request of the handshake.
type answer struct {
	result  json.RawMessage
	failure *jsonrpc.Error
	raw     []byte
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

// readAnswer decodes a message if it is an answer. It is less strict than [jsonrpc.Parse]: a server
// whose answers lack their version, or hold a null error beside a result, is to be driven all the
// same.
func readAnswer(m child.Message) answer {
	a := answer{raw: m.Raw, kind: m.Envelope.Kind()}
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

// patient returns a context for one step.
func (g greeting) patient() (context.Context, context.CancelFunc) {
	return g.Patient(g.ctx, g.within, slowStarts*g.within)
}

// say sends a message that is not answered.
func (g greeting) say(msg []byte) error {
	ctx, stop := g.patient()
	defer stop()
	return g.Send(ctx, msg)
}

// call sends a request and waits for its answer.
func (g greeting) call(method, params string) (answer, error) {
	return g.ask(method, jsonrpc.AppendRequest(nil, callID, method, []byte(params)))
}

// ask sends a message, which errors call by a name, and waits for the answer: the next that comes.
func (g greeting) ask(name string, msg []byte) (answer, error) {
	if err := g.say(msg); err != nil {
		return answer{}, fmt.Errorf("%s: %w", name, err)
	}
	ctx, stop := g.patient()
	defer stop()
	m, err := g.Next(ctx)
	if err == nil && m.Envelope.Kind() == jsonrpc.Request {
		err = errEcho
	}
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", name, err)
	}
	return readAnswer(m), nil
}

// settle is how long after a line that is no answer the answer may still come: some servers greet
// in words first.
const settle = time.Second

// askFirst sends the first request to a server of which nothing is known, and waits for its answer.
// Lines before it are strays, unless nothing else comes: then the first of them is returned.
func (g greeting) askFirst(sent []byte) (answer, error) {
	if err := g.say(sent); err != nil {
		return answer{}, err
	}
	ctx, stop := g.patient()
	defer stop()
	first, err := g.hear(ctx)
	if err != nil || first.isTo(sent) {
		return first, err
	}
	g.Strays.add(first.raw)
	settled, cancel := context.WithTimeoutCause(g.ctx, min(settle, g.within), child.ErrSilent)
	defer cancel()
	for {
		a, err := g.hear(settled)
		if errors.Is(err, child.ErrSilent) {
			return first, nil
		}
		if err != nil || a.isTo(sent) {
			return a, err
		}
		g.Strays.add(a.raw)
	}
}

// isTo reports whether a message answers a request, or is the request itself, as a filter of lines
// gives it back.
func (a answer) isTo(sent []byte) bool { return a.kind.Answers() || bytes.Equal(a.raw, sent) }

// hear returns the next answer, or the next line that is no JSON-RPC or a request of our own.
func (g greeting) hear(ctx context.Context) (answer, error) {
	for {
		m, err := g.Next(ctx)
		if err != nil {
			return answer{}, err
		}
		a := readAnswer(m)
		if bytes.HasPrefix(bytes.ToLower(a.raw), []byte("content-length")) {
			return a, fmt.Errorf("%w: it answers with Content-Length headers", errGarbage)
		}
		own := slices.Contains(ourMethods, string(m.Envelope.Method))
		if a.kind.Answers() || a.kind == jsonrpc.None || own {
			return a, nil
		}
	}
}
