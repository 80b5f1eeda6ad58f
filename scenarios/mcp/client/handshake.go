package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/mcp"
)

// stateless reports whether the protocol revision has no handshake. Revisions are dates, so they
// can be compared as text.
func (o *Options) stateless() bool { return o.Protocol >= mcp.FirstStateless }

// opening returns the method of the first request.
func (o *Options) opening() string {
	if o.stateless() {
		return "server/discover"
	}
	return "initialize"
}

// hello returns what the client says of itself. These are the params of "initialize", or members of
// every request's params if there is no handshake.
func (o *Options) hello() []byte {
	capabilities := map[string]any{}
	about := mcp.Implementation{Name: "pipebench", Version: o.Version}
	if o.Policy == Negotiate {
		capabilities["experimental"] = map[string]any{mcp.MaxFrameSize: o.MaxMessage}
	}
	says := map[string]any{
		"protocolVersion": o.Protocol, "capabilities": capabilities, "clientInfo": about,
	}
	if o.stateless() {
		const scope = "io.modelcontextprotocol/"
		says = map[string]any{"_meta": map[string]any{
			scope + "protocolVersion":    o.Protocol,
			scope + "clientCapabilities": capabilities,
			scope + "clientInfo":         about,
		}}
	}
	text, _ := json.Marshal(says) // strings and numbers always marshal
	return text
}

// startHandshake makes l the current link and begins the handshake. The caller must hold the lock.
func (c *Conn) startHandshake(l *link) {
	c.link = l
	call := c.addCall()
	l.init = call.id
	opening := c.opts.opening()
	// This does not block: the queue is new, so it has room.
	l.queue <- jsonrpc.AppendRequest(nil, call.id, opening, c.opts.hello())
	limit := c.opts.InitTimeout
	if limit > 0 {
		c.stopTimer = c.opts.AfterFunc(limit, func() {
			why := fmt.Errorf("no answer to %s after %v", opening, limit.Round(time.Millisecond))
			l.fail(refused, ReasonHandshake, why)
		})
	}
	l.proc.Conn.Out.Resume()
	l.tasks.Go(l.write)
	l.tasks.Go(l.watch)
}

// finishHandshake handles m, the answer to the first request.
func (l *link) finishHandshake(m jsonrpc.Message) {
	c := l.c
	server, err := c.opts.readServerInfo(m)
	if err != nil {
		l.fail(refused, ReasonHandshake, fmt.Errorf("%s: %w", c.opts.opening(), err))
		return
	}
	if c.opts.Policy == Negotiate { // the smaller one of the two limits holds
		l.limit = c.opts.MaxMessage
		theirs, named := server.Capabilities.Experimental[mcp.MaxFrameSize].(float64)
		if named && theirs >= 1 {
			l.limit = int(min(theirs, float64(l.limit)))
		}
		l.proc.Conn.SetMaxMessage(l.limit)
	}
	if !c.opts.stateless() {
		// This does not block: the queue keeps a place for this message.
		l.queue <- jsonrpc.AppendRequest(nil, "", "notifications/initialized", nil)
	}
	c.dispatch(l, initialized, eventData{})
}

// A serverInfo is what a server says of itself in its answer to the first request.
type serverInfo struct {
	ProtocolVersion   string   `json:"protocolVersion"`   // in the answer to initialize
	SupportedVersions []string `json:"supportedVersions"` // in the answer to server/discover
	Capabilities      struct {
		Experimental map[string]any `json:"experimental"`
	} `json:"capabilities"`
}

// readServerInfo reads the answer to the first request. It is an error if the server speaks no
// revision that this client can use.
func (o *Options) readServerInfo(m jsonrpc.Message) (*serverInfo, error) {
	if m.Failure != nil {
		return nil, jsonrpc.ParseError(m.Failure)
	}
	var server serverInfo
	err := json.Unmarshal(m.Result, &server)
	if err != nil {
		return nil, fmt.Errorf("the answer has another form: %w", err)
	}
	if slices.Contains(server.SupportedVersions, o.Protocol) {
		server.ProtocolVersion = o.Protocol
	}
	if server.ProtocolVersion == "" && o.stateless() {
		if len(server.SupportedVersions) == 0 {
			return nil, errors.New("the server does not say which revisions of MCP it speaks")
		}
		speaks := strings.Join(server.SupportedVersions, ", ")
		return nil, fmt.Errorf("the server speaks MCP %s, not %s", speaks, o.Protocol)
	}
	if !slices.Contains(mcp.Revisions(), server.ProtocolVersion) {
		return nil, fmt.Errorf("the server speaks MCP %q, which is not known here",
			server.ProtocolVersion)
	}
	return &server, nil
}
