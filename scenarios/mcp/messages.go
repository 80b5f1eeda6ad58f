package mcp

import (
	"encoding/json"

	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// LastWithHandshake is the last revision of the protocol in which a session begins with
// "initialize". From FirstStateless on, every request carries what "initialize" said.
const (
	LastWithHandshake = "2025-11-25"
	FirstStateless    = "2026-07-28"
)

// Revisions returns the revisions of MCP that this package speaks, oldest first.
func Revisions() []string {
	return []string{"2024-11-05", "2025-03-26", "2025-06-18", LastWithHandshake, FirstStateless}
}

// A client of revision [FirstStateless] sends the request Listen to be told of changes. The server
// first confirms with Acknowledged, and answers the request when it has no more to tell.
const (
	Listen       = "subscriptions/listen"
	Acknowledged = "notifications/subscriptions/acknowledged"
	toolsChanged = "notifications/tools/list_changed"
)

// OpeningMethods are the methods with which a client begins a session or asks what a server offers.
var OpeningMethods = []string{
	"initialize", "notifications/initialized", "server/discover", "ping",
	"tools/list", "prompts/list", "resources/list", Listen,
}

// scope is the beginning of the names that the protocol itself gives to members of _meta.
const scope = "io.modelcontextprotocol/"

// client names the client in the texts that InitializeParams and Meta return.
const client = `{"name":"pipebench","version":"1"}`

// InitializeParams returns the params of "initialize", as JSON, for a client that asks for this
// revision.
func InitializeParams(version string) string {
	return `{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":` + client + `}`
}

// Meta returns the member _meta of a request's params, as JSON. In _meta, a request without a
// session names its revision.
func Meta(version string) string {
	return `"_meta":{"` + scope + `protocolVersion":"` + version + `",` +
		`"` + scope + `clientInfo":` + client + `,` +
		`"` + scope + `clientCapabilities":{}}`
}

// MaxFrameSize is the experimental capability by which client and server agree on the largest
// message, in bytes. Its value is a number, where MCP wants an object. So a server sends it only if
// the client did.
const MaxFrameSize = "maxFrameSize"

// codeUnsupportedRevision is the code of the error for a request whose _meta names a revision that
// the server does not speak.
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

// A Content is a piece of the answer of a tool. The struct leaves out members that only types other
// than "text" have.
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

var errCancelled = &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "Request cancelled"}

func invalidParams(why string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: clip("Invalid params: " + why)}
}

func invalidRequest(why string) *jsonrpc.Error {
	message := clip("Invalid request: " + why)
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: message}
}
