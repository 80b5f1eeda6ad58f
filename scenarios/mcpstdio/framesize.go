package mcpstdio

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MaxFrameSize is the experimental capability by which two ends agree on the largest message, in bytes. It is no part of
// MCP, where experimental capabilities are objects: so a server names it only to a client that did.
const MaxFrameSize = "maxFrameSize"

// offerFrameSize adds the server's limit to the answer to a client that named its own.
func (s *Server) offerFrameSize(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		answer, ok := res.(*mcp.InitializeResult)
		if err != nil || !ok || s.opts.MaxLine < 0 {
			return res, err
		}
		params, ok := req.GetParams().(*mcp.InitializeParams)
		if !ok || params.Capabilities == nil || params.Capabilities.Experimental[MaxFrameSize] == nil {
			return res, nil
		}
		offer := *answer.Capabilities
		offer.Experimental = map[string]any{MaxFrameSize: s.opts.MaxLine}
		answer.Capabilities = &offer
		return answer, nil
	}
}
