package mcpstdio

import (
	"context"
	"errors"
	"strconv"

	sdk "github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// maxErrorText bounds what an error repeats of what the client sent, in bytes.
const maxErrorText = 256

// cancelled is the answer to a request whose context has been cancelled.
var cancelled = &sdk.Error{Code: jsonrpc.CodeInternal, Message: "Request cancelled"}

// wireError returns the error that the client gets where the SDK's answer is err. The SDK gives some errors code 0, and
// repeats params and names of Go types in others.
func (s *Server) wireError(r *request, err error) jsonrpc.Error {
	if errors.Is(err, context.Canceled) {
		return jsonrpc.Error{Code: cancelled.Code, Message: cancelled.Message}
	}
	var wire *sdk.Error
	if !errors.As(err, &wire) || wire.Code == 0 {
		return s.errorWithoutCode(r, err)
	}
	switch {
	case error(wire) == err: // as its author meant it
		return jsonrpc.Error{Code: wire.Code, Message: clip(wire.Message), Data: wire.Data}
	case wire.Code == jsonrpc.CodeMethodNotFound:
		return jsonrpc.Error{Code: wire.Code, Message: "Method not found: " + clip(strconv.Quote(r.method))}
	case wire.Code == jsonrpc.CodeInvalidParams, r.noParams && wire.Code == jsonrpc.CodeInvalidRequest:
		return jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid params: " + r.paramsFault()}
	}
	return jsonrpc.Error{Code: wire.Code, Message: clip(err.Error())}
}

// errorWithoutCode names what the SDK refuses without a code: requests out of the order of the lifecycle.
func (s *Server) errorWithoutCode(r *request, err error) jsonrpc.Error {
	switch {
	case r.method == "initialize" && r.noParams:
		return jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid params: " + r.paramsFault()}
	case r.method == "initialize", s.opts.StrictLifecycle:
		return jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "Invalid request: " + clip(err.Error())}
	}
	s.log.Error("Request failed", "method", clip(r.method))
	return jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "Internal error"}
}

func (r *request) paramsFault() string {
	if r.noParams {
		return clip(r.method) + " needs params"
	}
	return "those of " + clip(r.method) + " have another form"
}

// clip shortens what may be as long as the client likes, at a character's end.
func clip(s string) string {
	if len(s) <= maxErrorText {
		return s
	}
	end := maxErrorText
	for end > 0 && s[end]&0xc0 == 0x80 {
		end--
	}
	return s[:end] + "..."
}
