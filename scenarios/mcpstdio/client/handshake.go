package client

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/mcpstdio"
)

// initializeParams are the params of initialize.
type initializeParams struct {
	ProtocolVersion string `json:"protocolVersion"`
	Capabilities    struct {
		Experimental map[string]any `json:"experimental,omitempty"`
	} `json:"capabilities"`
	ClientInfo mcp.Implementation `json:"clientInfo"`
}

// startHandshake makes l the current server and begins the handshake. The caller has the lock.
func (c *Conn) startHandshake(l *link) {
	c.link = l
	hello := initializeParams{ProtocolVersion: c.opts.Protocol, ClientInfo: mcp.Implementation{Name: c.opts.Name, Version: c.opts.Version}}
	if c.opts.Policy == Negotiate {
		hello.Capabilities.Experimental = map[string]any{mcpstdio.MaxFrameSize: c.opts.MaxMessage}
	}
	params, _ := json.Marshal(hello) // strings and numbers marshal always
	p := c.addCall()
	l.init = p.id
	l.queue <- outgoing{msg: jsonrpc.AppendRequest(nil, p.id, "initialize", params)} // the queue is new: there is room
	c.timer = c.opts.Clock.AfterFunc(c.opts.InitTimeout, func() {
		l.refused(fmt.Errorf("no answer to initialize after %v", c.opts.InitTimeout.Round(time.Millisecond)))
	})
	l.run()
}

func (l *link) refused(err error) {
	l.c.dispatch(l, refused, eventData{err: &TransportError{Reason: ReasonHandshake, Err: err}})
}

// finishHandshake takes the answer to initialize.
func (l *link) finishHandshake(m jsonrpc.Message) {
	server, err := parseInitialize(m)
	if err != nil {
		l.refused(fmt.Errorf("initialize: %w", err))
		return
	}
	c := l.c
	if c.opts.Policy == Negotiate {
		l.limit = negotiatedLimit(c.opts.MaxMessage, server)
	}
	l.queue <- outgoing{msg: jsonrpc.AppendRequest(nil, "", "notifications/initialized", nil)} // before any request: there is room
	c.mu.Lock()
	c.server = server
	c.mu.Unlock()
	c.dispatch(l, initialized, eventData{})
}

func parseInitialize(m jsonrpc.Message) (*mcp.InitializeResult, error) {
	if m.Failure != nil {
		return nil, jsonrpc.ParseError(m.Failure)
	}
	server := new(mcp.InitializeResult)
	if err := json.Unmarshal(m.Result, server); err != nil {
		return nil, fmt.Errorf("the answer has another form: %w", err)
	}
	if !slices.Contains(mcp.SupportedProtocolVersions(), server.ProtocolVersion) {
		return nil, fmt.Errorf("the server speaks MCP %q, which is not known here", server.ProtocolVersion)
	}
	return server, nil
}

// negotiatedLimit returns the smaller of the limits of both ends; own where the server has none.
func negotiatedLimit(own int, server *mcp.InitializeResult) int {
	if server.Capabilities == nil {
		return own
	}
	limit, ok := server.Capabilities.Experimental[mcpstdio.MaxFrameSize].(float64)
	if !ok || limit < 1 {
		return own
	}
	return int(min(limit, float64(own)))
}
