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

// hello is the params of initialize.
type hello struct {
	ProtocolVersion string             `json:"protocolVersion"`
	Capabilities    helloCapabilities  `json:"capabilities"`
	ClientInfo      mcp.Implementation `json:"clientInfo"`
}

type helloCapabilities struct {
	Experimental map[string]any `json:"experimental,omitempty"`
}

// shake makes l the current server and begins the handshake. The caller has the lock.
func (c *Conn) shake(l *link) {
	c.link = l
	h := hello{ProtocolVersion: c.opts.Protocol, ClientInfo: mcp.Implementation{Name: c.opts.Name, Version: c.opts.Version}}
	if c.opts.Policy == Negotiate {
		h.Capabilities.Experimental = map[string]any{mcpstdio.MaxFrameSize: c.opts.MaxFrame}
	}
	params, _ := json.Marshal(h) // strings and numbers marshal always
	fl := c.flights.begin()
	l.init = fl.id
	l.queue <- outgoing{msg: jsonrpc.AppendRequest(nil, fl.id, "initialize", params)} // the queue is new: there is room
	c.timer = c.opts.Clock.AfterFunc(c.opts.InitTimeout, func() {
		l.refused(fmt.Errorf("no answer to initialize after %v", c.opts.InitTimeout.Round(time.Millisecond)))
	})
	l.run()
}

func (l *link) refused(err error) {
	l.c.happen(l, refused, happening{err: &TransportError{Reason: ReasonHandshake, Err: err}})
}

// introduced takes the answer to initialize.
func (l *link) introduced(m jsonrpc.Message) {
	server, err := introduction(m)
	if err != nil {
		l.refused(fmt.Errorf("initialize: %w", err))
		return
	}
	c := l.c
	if c.opts.Policy == Negotiate {
		l.limit = agreed(c.opts.MaxFrame, server)
	}
	l.queue <- outgoing{msg: jsonrpc.AppendRequest(nil, "", "notifications/initialized", nil)} // before any request: there is room
	c.mu.Lock()
	c.server = server
	c.mu.Unlock()
	c.happen(l, initialized, happening{})
}

func introduction(m jsonrpc.Message) (*mcp.InitializeResult, error) {
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

// agreed is the smaller of the limits of both ends; own where the server has none.
func agreed(own int, server *mcp.InitializeResult) int {
	if server.Capabilities == nil {
		return own
	}
	limit, ok := server.Capabilities.Experimental[mcpstdio.MaxFrameSize].(float64)
	if !ok || limit < 1 {
		return own
	}
	return int(min(limit, float64(own)))
}
