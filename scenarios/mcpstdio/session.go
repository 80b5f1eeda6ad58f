package mcpstdio

import (
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// A session is the SDK's view of the stream. A server that answers before initialize has two: the
// SDK is told that preInit is initialized, and it handles what comes before; initialize and what
// follows go to the main one, so that the handshake is the SDK's own either way. It is both the
// [mcp.Transport] and the [mcp.Connection].
type session struct {
	server *Server
	in     chan sdk.Message
	closed context.Context // ends by Close, and when nothing more is to be answered
	end    context.CancelFunc
}

// connect makes a session and gives it to the SDK.
func (s *Server) connect(ctx context.Context, state *mcp.ServerSessionState) (*session, error) {
	c := &session{server: s, in: make(chan sdk.Message)}
	c.closed, c.end = context.WithCancel(s.drained)
	ss, err := s.sdk.Connect(ctx, c, &mcp.ServerSessionOptions{State: state})
	if err != nil {
		return nil, err
	}
	s.sessions.Add(1)
	go func() {
		defer s.sessions.Done()
		_ = ss.Wait() // an error of the output is reported where it happened
	}()
	return c, nil
}

func (c *session) Connect(context.Context) (mcp.Connection, error) { return c, nil }
func (c *session) SessionID() string                               { return "" }

func (c *session) Close() error {
	c.end()
	return nil
}

// Read gives the SDK the next message. It ends when everything has been answered, not when the
// input does: the SDK answers nothing after its Read has failed.
func (c *session) Read(ctx context.Context) (sdk.Message, error) {
	select {
	case m := <-c.in:
		return m, nil
	case <-c.closed.Done():
		return nil, io.EOF
	}
}

// Write sends an answer, what a fixture has to say or to ask, or what there is for a subscription. The
// SDK tells each session of changes: one that the client does not speak in has nothing to say, and
// before initialize only who subscribed is told.
func (c *session) Write(_ context.Context, m sdk.Message) error {
	if answer, ok := m.(*sdk.Response); ok {
		n, ok := answer.ID.Raw().(int64)
		if !ok {
			return fmt.Errorf("answer to id %v, which is none of this server's", answer.ID.Raw())
		}
		r := c.server.pending.find(n)
		if r == nil {
			return fmt.Errorf("answer to request %d, which is not in flight", n)
		}
		if answer.Error != nil {
			return c.server.answer(r, jsonrpc.AppendError(nil, r.id, c.server.wireError(r, answer.Error)))
		}
		if r.method == Listen {
			answer.Result = c.server.nameSubscription(answer.Result)
		}
		return c.server.answer(r, jsonrpc.AppendResult(nil, r.id, answer.Result))
	}
	msg, err := sdk.EncodeMessage(m)
	change := strings.HasSuffix(m.(*sdk.Request).Method, "/list_changed") && !subscription.Match(msg)
	if err != nil || c != c.server.session("") || change && c == c.server.preInit {
		return err
	}
	return c.server.send(c.server.nameSubscription(msg))
}

// Listen is the method by which a client of [FirstWithout] asks to be told of changes. Its answer comes
// when nothing more will be told; first comes the notification Acknowledged.
const (
	Listen       = "subscriptions/listen"
	Acknowledged = "notifications/subscriptions/acknowledged"
)

// subscription finds where the SDK names a subscription, by the number it knows its request by.
var subscription = regexp.MustCompile(`"io\.modelcontextprotocol/subscriptionId":(\d+)`)

// nameSubscription puts the client's own id there.
func (s *Server) nameSubscription(msg []byte) []byte {
	at := subscription.FindSubmatchIndex(msg)
	if at == nil {
		return msg
	}
	number, _ := strconv.ParseInt(string(msg[at[2]:at[3]]), 10, 64)
	r := s.pending.find(number)
	if r == nil {
		return msg
	}
	return slices.Concat(msg[:at[2]], []byte(r.id), msg[at[3]:])
}

// deliver hands a message to the SDK, if the session still takes any.
func (c *session) deliver(m sdk.Message) {
	select {
	case c.in <- m:
	case <-c.closed.Done():
	}
}

// cancel has the SDK cancel the context of a request.
func (c *session) cancel(number int64) {
	c.deliver(&sdk.Request{
		Method: "notifications/cancelled",
		Params: []byte(`{"requestId":` + strconv.FormatInt(number, 10) + `}`),
	})
}

// The revisions of the protocol between which the opening of a session changed: the last that has
// initialize, and the first in which every request carries what that said.
const (
	LastWithHandshake = "2025-11-25"
	FirstWithout      = "2026-07-28"
)

// Revisions lists the revisions of MCP that are spoken here, oldest first.
func Revisions() []string {
	return []string{"2024-11-05", "2025-03-26", "2025-06-18", LastWithHandshake, FirstWithout}
}

const clientInfo = `"clientInfo":{"name":"pipebench","version":"1"}`

// InitializeParams are the params of initialize, of a client that asks for a revision.
func InitializeParams(version string) string {
	return `{"protocolVersion":"` + version + `","capabilities":{},` + clientInfo + `}`
}

// Meta is the member of params by which a request without a session says its revision.
func Meta(version string) string {
	const scope = `"io.modelcontextprotocol/`
	return `"_meta":{` + scope + `protocolVersion":"` + version + `",` + scope + clientInfo[1:] + `,` +
		scope + `clientCapabilities":{}}`
}

// MaxFrameSize is the experimental capability by which two ends agree on the largest message, in
// bytes. It is no part of MCP, where experimental capabilities are objects: so a server names it
// only to a client that did.
const MaxFrameSize = "maxFrameSize"

// offerFrameSize adds the server's limit to the answer to a client that named its own.
func (s *Server) offerFrameSize(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		answer, ok := res.(*mcp.InitializeResult)
		if err != nil || !ok || s.opts.MaxMessage < 0 {
			return res, err
		}
		params, ok := req.GetParams().(*mcp.InitializeParams)
		if !ok || params.Capabilities == nil || params.Capabilities.Experimental[MaxFrameSize] == nil {
			return res, nil
		}
		offer := *answer.Capabilities
		offer.Experimental = map[string]any{MaxFrameSize: s.opts.MaxMessage}
		answer.Capabilities = &offer
		return answer, nil
	}
}

// A request is one that was read and is not answered yet.
type request struct {
	id       jsonrpc.ID // as the client wrote it
	number   int64      // as the SDK knows it
	method   string
	noParams bool
	session  *session // that handles it; nil if the SDK does not get it
	weight   int64    // in the server's inFlight, while the SDK has it
	bytes    int64    // in its answers

	cancelled context.Context // ends by cancel: it is to be answered by an error, be it in flight or waiting
	cancel    context.CancelFunc
	unwanted  bool // the client has cancelled it, and is sent no answer; of the table's lock
}

// A pendingTable keeps what was read and is not answered yet, and the server's state.
type pendingTable struct {
	mu       sync.Mutex
	state    State
	last     int64
	byNumber map[int64]*request
	byID     map[jsonrpc.ID]*request
	waiting  int           // requests that wait for an answer
	idle     chan struct{} // closed when none waits and the server drains
	flushed  int           // answered since it drains
}

// advance goes from one state to another, and reports whether the server was in the first.
func (t *pendingTable) advance(from, to State) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != from {
		return false
	}
	t.state = to
	if to == Draining && t.waiting == 0 {
		close(t.idle)
	}
	return true
}

// add takes r in. It reports whether the server still reads, and whether the id was free.
func (t *pendingTable) add(r *request) (reading, free bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != Running {
		return false, false
	}
	t.last++
	r.number = t.last
	t.waiting++
	if r.session == nil {
		return true, true
	}
	if t.byID[r.id] != nil {
		return true, false
	}
	t.byNumber[r.number] = r
	t.byID[r.id] = r
	return true, true
}

// find returns the request that the SDK knows by number, or nil.
func (t *pendingTable) find(number int64) *request {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byNumber[number]
}

// renounce returns the request of the client's id, or nil. It is to get no answer, and so its id is free.
func (t *pendingTable) renounce(id jsonrpc.ID) *request {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.byID[id]
	if r != nil {
		r.unwanted = true
		delete(t.byID, id)
	}
	return r
}

// release lets the client use the id again, which it may do as soon as it has the answer: so call
// it before that is sent. It reports whether the client still wants the answer.
func (t *pendingTable) release(r *request) (wanted bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byNumber, r.number)
	if t.byID[r.id] == r {
		delete(t.byID, r.id)
	}
	return !r.unwanted
}

// finish counts a request as answered. One whose answer could not be sent stays open, and so is
// counted as dropped.
func (t *pendingTable) finish(answered bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state == Stopped || !answered {
		return
	}
	t.waiting--
	if t.state == Draining {
		t.flushed++
		if t.waiting == 0 {
			close(t.idle)
		}
	}
}

// list returns the requests that the SDK has or is to get.
func (t *pendingTable) list() []*request {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Values(t.byNumber))
}

// close ends the counting: what is answered later does not count.
func (t *pendingTable) close() (flushed, dropped int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state = Stopped
	return t.flushed, t.waiting
}
