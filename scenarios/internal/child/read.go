package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// LinesOrChunks returns f, unless f is NDJSON. Then it returns a framing that writes lines, and
// reads both lines and frames of the chunked framing.
func LinesOrChunks(f framers.Framing) framers.Framing {
	chunks, err := framers.Adaptive(0)
	if err != nil || f != framers.NDJSON() {
		return f
	}
	return linesOrChunks{f, chunks}
}

type linesOrChunks struct {
	framers.Framing
	chunks framers.Framing
}

func (f linesOrChunks) NewReader(r io.Reader, opts ...framers.Option) framers.Reader {
	return f.chunks.NewReader(r, opts...)
}

// readAll passes on the messages of the program until its output ends or cannot be read any more.
func (c *Conn) readAll() {
	defer close(c.closed)
	defer c.replies.close()
	defer c.Out.handling.Store(false)
	for {
		c.lastChunk = false
		raw, err := c.reader.ReadMessage()
		if r, ok := c.reader.(framers.HeaderReader); ok {
			c.bare.Store(r.BareHeaders())
		}
		limit := c.limit.Load()
		if err == nil && limit > 0 && int64(len(raw)) > limit {
			err = &framers.TooLargeError{Size: int64(len(raw)), Limit: limit}
		}
		m := Message{
			Raw: raw, Envelope: jsonrpc.Scan(raw), At: time.Now(), InChunks: c.lastChunk,
		}
		if err != nil {
			skipped, ok := badFrame(err)
			if !ok {
				c.readErr = err
				return
			}
			m = skipped
		}
		c.read.Store(c.Out.Bytes())
		c.pass(m)
	}
}

// limited reads the program's output, and fails when the current message exceeds the limit that
// SetMaxMessage set.
type limited struct{ c *Conn }

// Pending says what has come of the next message, as far as the framing states lengths.
func (c *Conn) Pending() framers.Pending {
	if p := c.pending.Load(); p != nil {
		return *p
	}
	return framers.Pending{}
}

// notePending notes what has come of the next message, before a read that may wait for more.
func (c *Conn) notePending() {
	r, ok := c.reader.(framers.LengthReader)
	if !ok {
		return
	}
	c.pending.Store(nil)
	if p := r.Pending(); p.Came > 0 {
		c.pending.Store(&p)
	}
}

func (l limited) Read(p []byte) (int, error) {
	l.c.notePending()
	limit := l.c.limit.Load()
	came := l.c.Partial()     // no framing reads once the current message is whole
	added := limit/64 + 8<<10 // bytes that a framing may add, including a header
	if limit > 0 && came > limit+added {
		return 0, &framers.TooLargeError{Size: came, Limit: limit}
	}
	return l.c.Out.Read(p)
}

// badFrame turns err, the error for an unreadable frame, into a Message. The second result is false
// if nothing can be read after err.
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

// pass hands a message to Divert, to Respond or to Next. m.Raw is valid only during the call.
func (c *Conn) pass(m Message) {
	if c.watcher != nil {
		c.watcher.Heard(m)
	}
	if c.options.Divert != nil && c.options.Divert(m) {
		return
	}
	m.Raw = bytes.Clone(m.Raw)
	if m.Err == nil {
		m.Envelope = jsonrpc.Scan(m.Raw) // its slices have to point into the copy
	}
	if m.Envelope.Kind() == jsonrpc.Request && c.options.Respond != nil {
		reply := c.options.Respond(m)
		if reply != nil {
			c.replies.put(Message{Raw: reply})
			return
		}
	}
	c.inbox.put(m)
}

// Next returns the next message that neither Options.Divert nor Options.Respond took. After the
// last message, Next returns the error of [Conn.Err]. If ctx ends first, Next returns the cause of
// ctx.
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
		}
		if m, ok := c.inbox.take(); ok { // the message came just before the end
			return m, nil
		}
		if ctx.Err() != nil {
			return Message{}, context.Cause(ctx)
		}
		return Message{}, c.Err()
	}
}

// Expect returns the next message for which the function wanted returns true. It drops the messages
// before that one.
func (c *Conn) Expect(ctx context.Context, wanted func(Message) bool) (Message, error) {
	for {
		m, err := c.Next(ctx)
		if err != nil || wanted(m) {
			return m, err
		}
	}
}

// Err says why no more messages come: ErrEndless if a message was longer than the limit, otherwise
// ErrLeft. Call it only after the channel of [Conn.Closed] is closed.
func (c *Conn) Err() error {
	if large, ok := errors.AsType[*framers.TooLargeError](c.readErr); ok {
		limit := results.FormatGrouped(large.Limit)
		return fmt.Errorf("%w within %s B: %w", ErrEndless, limit, large)
	}
	return ErrLeft
}
