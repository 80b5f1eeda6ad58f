package drive

import (
	"fmt"
	"slices"
	"strings"
)

// What requests exercise.
const (
	RequestAuto     = "auto"     // MCP: the tool echo, if there is one; else what isolates the transport: a method that no server knows
	RequestUnknown  = "unknown"  // a method that no server knows, padded to size: nothing but reading, framing, and a refusal
	RequestTool     = "tool"     // MCP: a call of the tool
	RequestDocument = "document" // LSP: didOpen of a document of the size, documentSymbol, didClose
)

// Requests lists what requests can exercise.
func Requests() []string {
	return []string{RequestAuto, RequestUnknown, RequestTool, RequestDocument}
}

// requestsOf are those that a protocol has.
func requestsOf(d dialect) []string {
	switch d.(type) {
	case *mcp:
		return []string{RequestAuto, RequestUnknown, RequestTool}
	case *lsp:
		return []string{RequestAuto, RequestUnknown, RequestDocument}
	case *bare:
		return []string{RequestAuto, RequestUnknown}
	}
	return []string{RequestAuto}
}

// checkRequest reports a request that a protocol does not have.
func checkRequest(d dialect, o Options) error {
	if known := requestsOf(d); !slices.Contains(known, o.Request) {
		return fmt.Errorf("drive: %s has no request %q, only %s", d, o.Request, strings.Join(known, ", "))
	}
	if _, hasTools := d.(*mcp); !hasTools && o.Tool+o.Arg+o.Args+o.ReplyTool != "" {
		return fmt.Errorf("drive: %s has no tools that could be called with arguments", d)
	}
	return nil
}
