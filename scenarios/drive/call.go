package drive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// An answer to a request of the handshake, copied out of the buffer it was read into.
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

// readAnswer copies a message and decodes it if it is an answer. It is less strict than
// [jsonrpc.Parse]: a server whose answers lack their version, or hold a null error beside a result,
// is to be driven all the same.
func readAnswer(msg []byte, e jsonrpc.Envelope) answer {
	a := answer{raw: bytes.Clone(msg), kind: e.Kind()}
	if !a.kind.Answers() {
		return a
	}
	var parts struct {
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
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

// leftError explains a failed write: a server that has gone is the common cause.
func leftError(err error) error { return fmt.Errorf("%w: %w", errLeft, err) }

// callID is the id of the handshake's requests: they follow each other, and are the only ones
// meanwhile.
const callID = "1"

// call sends a request and waits for its answer.
func (c *conn) call(ctx context.Context, method, params string, within time.Duration) (answer, error) {
	a, err := c.ask(ctx, jsonrpc.AppendRequest(nil, callID, method, []byte(params)), within, nil)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", method, err)
	}
	return a, nil
}

// settle is how long after a line that is no answer the answer may still come: some servers greet
// in words first.
const settle = time.Second

// askFirst sends the first request to a server of which nothing is known, and waits for its answer.
// Lines before it are strays, unless nothing else comes: then the first of them is returned.
func (c *conn) askFirst(ctx context.Context, sent []byte, within time.Duration) (answer, error) {
	var line *answer
	a, err := c.ask(ctx, sent, within, func(a answer, timer *time.Timer) (bool, error) {
		switch {
		case a.kind.Answers(), bytes.Equal(a.raw, sent):
			return true, nil
		case bytes.HasPrefix(bytes.ToLower(a.raw), []byte("content-length")):
			return false, fmt.Errorf("%w: it answers with Content-Length headers", errGarbage)
		case a.kind != jsonrpc.None:
			return false, nil
		}
		c.strays.nonMessage(a.raw)
		if line == nil {
			line = &a
			timer.Reset(min(settle, within))
		}
		return false, nil
	})
	if line != nil && (errors.Is(err, errSilent) || errors.Is(err, errMute)) {
		return *line, nil
	}
	return a, err
}

// ask sends a message and waits for the first that accept takes for the answer, or has an error
// for; accept may reset the timer of the wait. Without it, the next message is the answer.
func (c *conn) ask(ctx context.Context, msg []byte, within time.Duration, accept func(answer, *time.Timer) (bool, error)) (answer, error) {
	if accept == nil {
		accept = func(a answer, _ *time.Timer) (bool, error) {
			if a.kind == jsonrpc.Request {
				return false, errEcho
			}
			return true, nil
		}
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	heard := make(chan answer, 64)
	r := receiver(func(msg []byte, e jsonrpc.Envelope, _ time.Time) {
		select {
		case heard <- readAnswer(msg, e):
		default: // an answer is among the first
		}
	})
	c.receiver.Store(&r)
	defer c.receiver.Store(nil)
	sent := make(chan error, 1)
	go func() { sent <- c.send(msg) }()
	for {
		select {
		case a := <-heard:
			if ok, err := accept(a, timer); ok || err != nil {
				return a, err
			}
		case err := <-sent:
			if err != nil {
				return answer{}, leftError(err)
			}
			sent = nil
		case <-c.closed:
			if len(heard) == 0 {
				return answer{}, c.silence()
			}
		case <-timer.C:
			if sent != nil {
				return answer{}, errMute
			}
			return answer{}, errSilent
		case <-ctx.Done():
			return answer{}, context.Cause(ctx)
		}
	}
}
