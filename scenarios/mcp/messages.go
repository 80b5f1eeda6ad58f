package mcp

import (
	"encoding/json"

	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// The opening of a session changed between these two revisions of the protocol: the last with
// initialize, and the first in which every request carries what initialize said.
const (
	LastWithHandshake = "2025-11-25"
	FirstWithout      = "2026-07-28"
)

// Revisions lists the revisions of MCP that are spoken here, oldest first.
func Revisions() []string {
	return []string{"2024-11-05", "2025-03-26", "2025-06-18", LastWithHandshake, FirstWithout}
}

// Methods by which a client of [FirstWithout] asks to be told of changes. The notification
// Acknowledged comes first; the answer to Listen comes when no more changes will be told.
const (
	Listen       = "subscriptions/listen"
	Acknowledged = "notifications/subscriptions/acknowledged"
	toolsChanged = "notifications/tools/list_changed"
)

// OpeningMethods are the methods with which a client begins, and asks what a server has.
var OpeningMethods = []string{
	"initialize", "notifications/initialized", "server/discover", "ping",
	"tools/list", "prompts/list", "resources/list", Listen,
}

// scope begins the names of those members of _meta that the protocol gives a meaning.
const scope = "io.modelcontextprotocol/"

// client names the client in the texts that InitializeParams and Meta return.
const client = `{"name":"pipebench","version":"1"}`

// InitializeParams are the params of initialize, of a client that asks for a revision.
func InitializeParams(version string) string {
	return `{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":` + client + `}`
}

// Meta is the member of params by which a request without a session says its revision.
func Meta(version string) string {
	return `"_meta":{"` + scope + `protocolVersion":"` + version + `",` +
		`"` + scope + `clientInfo":` + client + `,` +
		`"` + scope + `clientCapabilities":{}}`
}

// MaxFrameSize is the experimental capability by which two ends agree on the largest message, in
// bytes. It is no part of MCP, where experimental capabilities are objects: so a server names it
// only to a client that named it.
const MaxFrameSize = "maxFrameSize"

// codeUnsupportedRevision refuses a request whose _meta names a revision that the server does not
// speak.
const codeUnsupportedRevision = -32022

// An Implementation is the name and version that a client or a server gives itself.
type Implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// A ToolInfo is a tool as tools/list describes it.
type ToolInfo struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// A Content is a piece of what a tool answers. A Content of another type than text has more
// members, which are left out here.
type Content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// A ToolResult is the result of tools/call.
type ToolResult struct {
	Content []Content `json:"content"`
	IsError bool      `json:"isError,omitzero"`
}

func textContent(text string) []Content { return []Content{{Type: "text", Text: text}} }

// Errors that several methods answer with.
var errCancelled = &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "Request cancelled"}

func invalidParams(why string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: clip("Invalid params: " + why)}
}

func invalidRequest(why string) *jsonrpc.Error {
	message := clip("Invalid request: " + why)
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: message}
}
