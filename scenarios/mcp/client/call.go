package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/mcp"
)

// Call sends a request and returns the result of its answer. params are encoded by json.Marshal; a
// nil of any type means that there are no params.
//
// The error wraps one of these:
//
//   - a [*jsonrpc.Error] if the server answered with an error
//   - a [*TransportError] if the server was lost before it answered
//   - a [*FrameError] if the request, or with [ErrorOnOversize] the answer, is too large
//   - [ErrClosed] if the connection is closed
//   - the error of the context if ctx or the RequestTimeout ended the call
//
// The RequestTimeout does not hold for [mcp.Listen].
func (c *Conn) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	body, err := marshal(params)
	if err != nil {
		return nil, fmt.Errorf("call %s: params: %w", method, err)
	}
	if method != mcp.Listen {
		var cancel context.CancelFunc
		ctx, cancel = c.withTimeout(ctx)
		defer cancel()
	}
	result, err := c.call(ctx, method, c.withMeta(body))
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", method, err)
	}
	return result, nil
}

// withTimeout adds the RequestTimeout to ctx, if ctx has no deadline.
func (c *Conn) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	_, set := ctx.Deadline()
	if set || c.opts.RequestTimeout <= 0 {
		return ctx, func() {}
	}
	late := timeoutError(c.opts.RequestTimeout)
	return context.WithTimeoutCause(ctx, c.opts.RequestTimeout, late)
}

// A timeoutError says how long a RequestTimeout was. It matches [context.DeadlineExceeded].
type timeoutError time.Duration

func (e timeoutError) Error() string {
	return fmt.Sprintf("no answer within %v", time.Duration(e))
}

func (timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// marshal returns params as JSON. For a nil of any type it returns nil, because servers drop a
// request whose params are null.
func marshal(params any) ([]byte, error) {
	raw, isRaw := params.(json.RawMessage)
	if isRaw && len(raw) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(params)
	if string(text) == "null" && !isRaw {
		return nil, err
	}
	return text, err
}

func (c *Conn) call(ctx context.Context, method string, params []byte) ([]byte, error) {
	var l *link
	var p *pendingCall
	err := c.whenReady(ctx, func() {
		l = c.link
		p = c.addCall()
	})
	if err != nil {
		return nil, err
	}
	msg := jsonrpc.AppendRequest(nil, p.id, method, params)
	if l.limit >= 0 && len(msg) > l.limit {
		c.abandon(p, nil)
		return nil, &FrameError{Size: int64(len(msg)), Limit: int64(l.limit)}
	}
	if !l.offer(msg) {
		select {
		case l.queue <- msg:
		case a := <-p.answer: // the server was lost
			return a.result, a.err
		case <-ctx.Done():
			c.abandon(p, nil)
			return nil, fmt.Errorf(
				"%d requests wait to be written: %w", cap(l.queue), context.Cause(ctx))
		}
	}
	select {
	case a := <-p.answer:
		return a.result, a.err
	case <-ctx.Done():
		why := context.Cause(ctx)
		c.abandon(p, why)
		if n := l.proc.Conn.Partial(); n > 0 {
			why = fmt.Errorf("%w; %d bytes of an unfinished message came", why, n)
		} else if e := l.skipped.Load(); e != nil {
			why = fmt.Errorf("%w; the last line that came is no message: %v", why, *e)
		}
		return nil, why
	}
}

// abandon gives up a call, whose answer will then be dropped. The server is told why, unless the
// parameter why is nil.
func (c *Conn) abandon(p *pendingCall, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	waits, _ := c.remove(p.id)
	if waits == nil || why == nil || c.state != Ready {
		return
	}
	reason, _ := json.Marshal(why.Error())
	params := fmt.Appendf(nil, `{"requestId":%s,"reason":%s}`, p.id, reason)
	// If the queue is full, the server computes an answer that nobody reads.
	c.link.offer(jsonrpc.AppendRequest(nil, "", "notifications/cancelled", params))
}

// withMeta adds the member _meta to the params of a request, if the revision of MCP has no
// handshake.
func (c *Conn) withMeta(params []byte) []byte {
	if !c.opts.stateless() {
		return params
	}
	var members map[string]json.RawMessage
	if params != nil {
		err := json.Unmarshal(params, &members)
		if err != nil || members["_meta"] != nil {
			return params
		}
	}
	meta := c.opts.hello()
	if len(members) == 0 {
		return meta
	}
	return slices.Concat(meta[:len(meta)-1], []byte(","), bytes.TrimSpace(params)[1:])
}

type pendingCall struct {
	id     jsonrpc.ID
	answer chan answer // has room for one
}

type answer struct {
	result []byte // belongs to the caller
	err    error
}

// addCall adds a call with a new id. The caller must hold the lock.
func (c *Conn) addCall() *pendingCall {
	c.lastID++
	p := &pendingCall{id: jsonrpc.Number(c.lastID), answer: make(chan answer, 1)}
	c.pending[p.id] = p
	return p
}

// remove removes the call that has this id, and returns it. If no call has the id, late says
// whether an earlier call had the id. The caller must hold the lock.
func (c *Conn) remove(id jsonrpc.ID) (p *pendingCall, late bool) {
	p = c.pending[id]
	if p != nil {
		delete(c.pending, id)
		return p, false
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return nil, err == nil && n > 0 && n <= c.lastID
}

// offer queues a message, unless the queue is full. It reports whether the message was queued.
func (l *link) offer(msg []byte) bool {
	select {
	case l.queue <- msg:
		return true
	default:
		return false
	}
}

// Notify sends a notification. It returns when the notification is queued.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	body, err := marshal(params)
	if err != nil {
		return fmt.Errorf("notify %s: params: %w", method, err)
	}
	var l *link
	err = c.whenReady(ctx, func() { l = c.link })
	if err != nil {
		return fmt.Errorf("notify %s: %w", method, err)
	}
	select {
	case l.queue <- jsonrpc.AppendRequest(nil, "", method, body):
		return nil
	case <-l.down:
		return fmt.Errorf("notify %s: the server was lost just now", method)
	case <-ctx.Done():
		return fmt.Errorf("notify %s: %w", method, ctx.Err())
	}
}

// A Caller sends requests: a [Conn] or a [Pool].
type Caller interface {
	Call(ctx context.Context, method string, params any) (json.RawMessage, error)
}

// ListTools returns all tools of a server.
func ListTools(ctx context.Context, c Caller) ([]mcp.ToolInfo, error) {
	type page struct {
		Tools      []mcp.ToolInfo `json:"tools"`
		NextCursor string         `json:"nextCursor"`
	}
	var tools []mcp.ToolInfo
	var params any
	for {
		next, err := callFor[page](ctx, c, "tools/list", params)
		if err != nil {
			return nil, err
		}
		tools = append(tools, next.Tools...)
		if next.NextCursor == "" {
			return tools, nil
		}
		params = map[string]string{"cursor": next.NextCursor}
	}
}

// CallTool calls a tool. If the tool fails, there is no error, but a result with IsError set.
func CallTool(
	ctx context.Context, c Caller, name string, arguments any,
) (*mcp.ToolResult, error) {
	if arguments == nil {
		arguments = struct{}{}
	}
	params := map[string]any{"name": name, "arguments": arguments}
	return callFor[mcp.ToolResult](ctx, c, "tools/call", params)
}

// callFor makes a call and decodes the result into a Result.
func callFor[Result any](
	ctx context.Context, c Caller, method string, params any,
) (*Result, error) {
	text, err := c.Call(ctx, method, params)
	if err != nil {
		return nil, err
	}
	result := new(Result)
	err = json.Unmarshal(text, result)
	if err != nil {
		return nil, fmt.Errorf("call %s: the answer has another form: %w", method, err)
	}
	return result, nil
}

// respond answers a request from the server. This client answers a ping and refuses all else.
func (l *link) respond(m *jsonrpc.Message) {
	if m.Method == "ping" {
		l.offer(jsonrpc.AppendResult(nil, m.ID, []byte("{}")))
		return
	}
	unknown := jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found"}
	l.offer(jsonrpc.AppendError(nil, m.ID, unknown))
}

// deliver handles a message from the server. The caller holds the lock. If deliver returns a
// function, the caller calls it without the lock, while m is still valid.
func (c *Conn) deliver(l *link, m *jsonrpc.Message) (after func()) {
	switch m.Kind() {
	case jsonrpc.Request:
		l.respond(m)
		return nil
	case jsonrpc.Notification:
		return func() {
			if c.opts.OnNotification != nil {
				c.opts.OnNotification(m.Method, m.Params)
			}
		}
	}
	if m.ID == l.init {
		c.remove(m.ID)
		l.init = ""
		return func() { l.finishHandshake(*m) }
	}
	p, late := c.remove(m.ID)
	switch {
	case p != nil && m.Failure != nil:
		p.answer <- answer{err: jsonrpc.ParseError(m.Failure)}
	case p != nil:
		p.answer <- answer{result: bytes.Clone(m.Result)}
	case late:
		return func() { c.opts.Logger.Debug("Dropped a late answer") }
	default:
		return func() { c.opts.Logger.Debug("Dropped an answer to no request") }
	}
	return nil
}
