package child

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// read takes messages until the output ends, or cannot be read on.
func (c *Conn) read(r framers.Reader) {
	defer close(c.closed)
	defer c.replies.close()
	for {
		raw, err := r.ReadMessage()
		if err != nil {
			skipped, ok := badFrame(err)
			if !ok {
				c.ended = err
				return
			}
			c.pass(skipped)
			continue
		}
		c.whole.Store(c.Out.Bytes())
		if limit := c.limit.Load(); int64(len(raw)) > limit {
			c.ended = &framers.TooLargeError{Size: int64(len(raw)), Limit: limit}
			return
		}
		c.pass(Message{Raw: raw, Envelope: jsonrpc.Scan(raw), At: time.Now()})
	}
}

// badFrame returns the message for a frame that was skipped; false for an error that ends the
// stream.
func badFrame(err error) (Message, bool) {
	m := Message{At: time.Now(), Err: err}
	if header, ok := errors.AsType[*framers.HeaderError](err); ok {
		m.Raw = []byte(header.Line)
		return m, true
	}
	if chunk, ok := errors.AsType[*framers.ChunkError](err); ok {
		m.Raw = []byte(chunk.Line)
		return m, true
	}
	return m, false
}

// pass hands a message over that is valid until pass returns.
func (c *Conn) pass(m Message) {
	if divert := c.divert.Load(); divert != nil && (*divert)(m) {
		return
	}
	kept := bytes.Clone(m.Raw)
	m.Raw = kept
	if m.Err == nil {
		m.Envelope = jsonrpc.Scan(kept)
	}
	kind := m.Envelope.Kind()
	if kind == jsonrpc.Request && c.respond != nil {
		reply := c.respond(m)
		if reply != nil {
			c.replies.put(Message{Raw: reply})
			return
		}
	}
	if !kind.Answers() || !c.deliver(m) {
		c.inbox.put(m)
	}
}

// deliver gives an answer to the Ask that waits for it, and reports whether one does.
func (c *Conn) deliver(m Message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting, ok := c.pending[string(m.Envelope.ID)]
	if ok {
		delete(c.pending, string(m.Envelope.ID))
		waiting <- m // there is room for one
	}
	return ok
}

// Divert has f see every message before anybody else, until Divert is called again. A message for
// which f returns true goes no further. The message is valid during the call, which the reading
// goroutine makes. Nil ends it.
func (c *Conn) Divert(f func(Message) bool) {
	if f == nil {
		c.divert.Store(nil)
		return
	}
	c.divert.Store(&f)
}

// SetMaxMessage bounds the messages from now on, before a larger one is held. It can only be less
// than what the conversation began with.
func (c *Conn) SetMaxMessage(n int) { c.limit.Store(int64(n)) }

// headerRoom is how many bytes a message's header and terminator may take.
const headerRoom = 8 << 10

// guard ends the reading of a message that is larger than allowed, before the whole of it has come.
// A framing reads on only if it holds no whole message, so what has come since the last one belongs
// to the next.
func (c *Conn) guard() error {
	limit := c.limit.Load()
	if c.Partial() > limit+headerRoom {
		return &framers.TooLargeError{Size: c.Partial(), Limit: limit}
	}
	return nil
}

// Next returns the next message that nobody else waits for. Its error is ErrLeft after the last,
// ErrEndless for a message beyond the limit, or the cause that ended ctx.
func (c *Conn) Next(ctx context.Context) (Message, error) {
	for {
		if m, ok := c.inbox.take(); ok {
			return m, nil
		}
		select {
		case <-c.inbox.come:
			continue
		case <-c.closed:
		case <-ctx.Done():
			return Message{}, context.Cause(ctx)
		}
		if m, ok := c.inbox.take(); ok { // it came just before the end
			return m, nil
		}
		return Message{}, c.end()
	}
}

// Expect returns the next message for which is returns true. Those before it are seen by is alone.
func (c *Conn) Expect(ctx context.Context, is func(Message) bool) (Message, error) {
	for {
		m, err := c.Next(ctx)
		if err != nil || is(m) {
			return m, err
		}
	}
}

// end says why nothing more is read, once closed is closed.
func (c *Conn) end() error {
	if large, ok := errors.AsType[*framers.TooLargeError](c.ended); ok {
		return fmt.Errorf(
			"%w within %s B: %w",
			ErrEndless,
			results.FormatGrouped(large.Limit),
			large,
		)
	}
	return ErrLeft
}

// Ask sends a request under an id of its own and returns the answer. An answer that is an error is
// returned as a *jsonrpc.Error. What else comes meanwhile waits for Next.
func (c *Conn) Ask(ctx context.Context, method string, params any) (jsonrpc.Message, error) {
	var text []byte
	if params != nil {
		var err error
		text, err = json.Marshal(params)
		if err != nil {
			return jsonrpc.Message{}, fmt.Errorf("%s: params: %w", method, err)
		}
	}
	c.mu.Lock()
	c.lastID++
	id := jsonrpc.Number(c.lastID)
	answer := make(chan Message, 1)
	c.pending[string(id)] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.pending, string(id))
		c.mu.Unlock()
	}()

	sent := make(chan error, 1)
	go func() { sent <- c.Send(ctx, jsonrpc.AppendRequest(nil, id, method, text)) }()
	for {
		select {
		case m := <-answer:
			return ReadAnswer(m)
		case err := <-sent:
			if err != nil {
				return lastAnswer(answer, err)
			}
			sent = nil
		case <-c.closed:
			return lastAnswer(answer, c.end())
		case <-ctx.Done():
			return lastAnswer(answer, context.Cause(ctx))
		}
	}
}

// lastAnswer takes an answer that came at the last moment; without one err is what is known.
func lastAnswer(answer <-chan Message, err error) (jsonrpc.Message, error) {
	select {
	case m := <-answer:
		return ReadAnswer(m)
	default:
		return jsonrpc.Message{}, err
	}
}

// ReadAnswer decodes an answer; one that is an error is returned as a *jsonrpc.Error. It is less
// strict than [jsonrpc.Parse]: a server whose answers lack their version, or hold a null error
// beside a result, is understood all the same.
func ReadAnswer(m Message) (jsonrpc.Message, error) {
	var parts struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(m.Raw, &parts); err != nil {
		return jsonrpc.Message{}, fmt.Errorf("the answer cannot be read: %w", err)
	}
	answer := jsonrpc.Message{ID: jsonrpc.ID(m.Envelope.ID), Result: parts.Result}
	if parts.Error == nil || string(parts.Error) == "null" {
		return answer, nil
	}
	answer.Failure = parts.Error
	return answer, jsonrpc.ParseError(parts.Error)
}
