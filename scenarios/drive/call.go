package drive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// A call is a request of the handshake, the answer to which is read.
type call struct{ method, params string }

// callID is the id of such requests: they follow each other, and are the only ones meanwhile.
const callID = "1"

func (c call) message() []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, callID, c.method, c.params)
}

// An answer to a call.
type answer struct {
	result  json.RawMessage
	failure *failure
	raw     []byte
	kind    jsonrpc.Kind
}

// A failure is the error that a server answers with.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (f *failure) Error() string {
	return fmt.Sprintf("the server answers with error %d: %s", f.Code, f.Message)
}

func (a answer) decode(to any) error {
	if a.failure != nil {
		return a.failure
	}
	if err := json.Unmarshal(a.result, to); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	return nil
}

// Why a call got no answer.
var (
	errSilent = errors.New("no answer in time")
	errLeft   = errors.New("the server closed its output")
	errMute   = errors.New("the server does not take what is sent")
)

// hear makes the conn take requests of the server's own for what they are, and not for answers.
func (c *conn) hear(a answerer) {
	if a != nil {
		c.answerer.Store(&a)
	}
}

// call sends a request and waits for its answer.
func (c *conn) call(ctx context.Context, q call, within time.Duration) (answer, error) {
	a, err := c.ask(ctx, q.message(), within)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", q.method, err)
	}
	return a, nil
}

// ask sends any message and waits for the next that may be its answer.
func (c *conn) ask(ctx context.Context, msg []byte, within time.Duration) (answer, error) {
	got := make(chan answer, 1)
	r := receiver(func(msg []byte, e jsonrpc.Envelope, _ time.Time) {
		select {
		case got <- read(msg, e):
		default: // the first is the answer
		}
	})
	c.receiver.Store(&r)
	defer c.receiver.Store(nil)
	timer := time.NewTimer(within)
	defer timer.Stop()
	sent := make(chan error, 1)
	go func() { sent <- c.send(msg) }()
	for {
		select {
		case a := <-got:
			return a, nil
		case err := <-sent:
			if err != nil {
				return answer{}, c.left(err)
			}
			sent = nil
		case <-c.closed:
			select {
			case a := <-got:
				return a, nil
			default:
			}
			return answer{}, errLeft
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

// left is a failed write, explained: a server that has gone is the common cause.
func (c *conn) left(err error) error { return fmt.Errorf("%w: %w", errLeft, err) }

func read(msg []byte, e jsonrpc.Envelope) answer {
	a := answer{raw: []byte(strings.Clone(string(msg))), kind: e.Kind()}
	if !e.Kind().Answers() {
		return a
	}
	var parts struct {
		Result json.RawMessage `json:"result"`
		Error  *failure        `json:"error"`
	}
	if err := json.Unmarshal(a.raw, &parts); err != nil {
		a.kind = jsonrpc.None
		return a
	}
	a.result, a.failure = parts.Result, parts.Error
	return a
}
