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
	c.timer = c.opts.AfterFunc(c.opts.InitTimeout, func() {
		l.refused(fmt.Errorf("no answer to initialize after %v", c.opts.InitTimeout.Round(time.Millisecond)))
	})
	l.tasks.Go(l.write)
	l.tasks.Go(l.read)
}

func (l *link) refused(err error) {
	l.c.dispatch(l, refused, eventData{err: &TransportError{Reason: ReasonHandshake, Err: err}})
}

// finishHandshake takes the answer to initialize.
func (l *link) finishHandshake(m jsonrpc.Message) {
	server := new(mcp.InitializeResult)
	malformed := json.Unmarshal(m.Result, server)
	var err error
	switch {
	case m.Failure != nil:
		err = jsonrpc.ParseError(m.Failure)
	case malformed != nil:
		err = fmt.Errorf("the answer has another form: %w", malformed)
	case !slices.Contains(mcp.SupportedProtocolVersions(), server.ProtocolVersion):
		err = fmt.Errorf("the server speaks MCP %q, which is not known here", server.ProtocolVersion)
	}
	if err != nil {
		l.refused(fmt.Errorf("initialize: %w", err))
		return
	}
	c := l.c
	if c.opts.Policy == Negotiate { // the smaller of both limits holds; this end's, if the server names none
		l.limit = c.opts.MaxMessage
		if server.Capabilities != nil {
			if theirs, ok := server.Capabilities.Experimental[mcpstdio.MaxFrameSize].(float64); ok && theirs >= 1 {
				l.limit = int(min(theirs, float64(l.limit)))
			}
		}
	}
	l.queue <- outgoing{msg: jsonrpc.AppendRequest(nil, "", "notifications/initialized", nil)} // before any request: there is room
	c.mu.Lock()
	c.server = server
	c.mu.Unlock()
	c.dispatch(l, initialized, eventData{})
}
