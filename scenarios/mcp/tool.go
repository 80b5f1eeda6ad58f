package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// A Tool is something that a server does for a client.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // of the arguments, an object; nil: any or none are accepted
	// Size returns how many bytes the answer to args may have, so that the server can bound the
	// memory of all answers. A tool whose answers can be larger than its arguments must set Size.
	Size func(args json.RawMessage) int
	// Call does the work and returns the text of the answer. args is a JSON object that fits
	// Schema. If the error is a [*jsonrpc.Error], the client gets a JSON-RPC error; any other error
	// becomes a result. File paths in the error are hidden.
	Call func(ctx context.Context, args json.RawMessage) (string, error)

	resolved *jsonschema.Resolved // Schema, once a server offers the tool
}

// NewTool returns a tool whose arguments are decoded into a value of type In, as by json.Unmarshal.
func NewTool[In any](
	name, description string, schema json.RawMessage,
	call func(context.Context, In) (string, error),
) Tool {
	return Tool{Name: name, Description: description, Schema: schema,
		Call: func(ctx context.Context, args json.RawMessage) (string, error) {
			var in In
			err := json.Unmarshal(args, &in)
			if err != nil {
				return "", invalidParams("arguments of " + name + " have another form")
			}
			return call(ctx, in)
		}}
}

// offer lets clients call a tool.
func (s *Server) offer(t Tool) error {
	if t.Schema == nil {
		t.Schema = json.RawMessage(`{"properties":{},"type":"object"}`)
	}
	var schema jsonschema.Schema
	err := json.Unmarshal(t.Schema, &schema)
	if err == nil && schema.Type != "object" {
		err = fmt.Errorf("its schema is of type %q, not object", schema.Type)
	}
	if err == nil {
		t.resolved, err = schema.Resolve(nil)
	}
	if err != nil {
		return fmt.Errorf("tool %q: %w", t.Name, err)
	}
	s.tools[t.Name] = &t
	s.offers = append(s.offers, ToolInfo{
		Name: t.Name, Description: t.Description, InputSchema: t.Schema,
	})
	slices.SortFunc(s.offers, func(a, b ToolInfo) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

func (s *Server) callTool(r *request) (any, *jsonrpc.Error) {
	var params struct {
		Name      string         `json:"name"`
		Arguments jsontext.Value `json:"arguments"`
	}
	err := decode(r, &params)
	if err != nil {
		return nil, err
	}
	t := s.tools[params.Name]
	if t == nil {
		message := clip(fmt.Sprintf("unknown tool %q", params.Name))
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
	}
	args, err := t.arguments(json.RawMessage(params.Arguments))
	if err != nil {
		return nil, err
	}
	ctx := r.ctx
	if s.opts.ToolTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.opts.ToolTimeout)
		defer cancel()
	}
	if t.Size != nil {
		r.bytes = min(int64(t.Size(args)), s.capacity)
		noRoom := s.answers.Acquire(ctx, r.bytes) // nil, or the error of ctx
		if noRoom != nil {
			r.bytes = 0
			return s.toolAnswer(t.Name, "", noRoom)
		}
	}
	text, failed := s.runTool(ctx, t, args)
	return s.toolAnswer(t.Name, text, failed)
}

// arguments checks the arguments that a client gave, and returns them as a JSON object. The object
// is empty if there are none.
func (t *Tool) arguments(args json.RawMessage) (json.RawMessage, *jsonrpc.Error) {
	if len(args) == 0 || bytes.Equal(args, []byte("null")) {
		args = json.RawMessage("{}")
	}
	var v any
	err := json.Unmarshal(args, &v)
	if err == nil {
		err = t.resolved.Validate(v)
	}
	if err != nil {
		return nil, invalidParams(fmt.Sprintf("arguments of %s: %v", t.Name, err))
	}
	return args, nil
}

// runTool runs a tool until it is done, cancelled or out of time. A panic becomes an error.
func (s *Server) runTool(ctx context.Context, t *Tool, args json.RawMessage) (string, error) {
	type outcome struct {
		text string
		err  error
	}
	done := make(chan outcome, 1)
	start := time.Now()
	go func() {
		var o outcome
		defer func() {
			p := recover()
			if p != nil { // only its type is logged: its text may hold arguments
				s.log.Error("Tool panicked", "tool", t.Name, "type", fmt.Sprintf("%T", p))
				o.err = errors.New("internal error")
			}
			done <- o
		}()
		o.text, o.err = t.Call(ctx, args)
	}()
	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
		o.err = ctx.Err()
	}
	s.log.Debug("Tool called", "tool", t.Name, "ok", o.err == nil, "took", time.Since(start))
	return o.text, o.err
}

// toolAnswer returns the answer to a call of a tool, which returned a text or failed with err.
func (s *Server) toolAnswer(name, text string, err error) (any, *jsonrpc.Error) {
	var coded *jsonrpc.Error
	switch {
	case err == nil:
		return ToolResult{Content: textContent(text)}, nil
	case errors.Is(err, context.Canceled):
		return nil, errCancelled
	case errors.As(err, &coded):
		message := clip(hidePaths(coded.Message))
		return nil, &jsonrpc.Error{Code: coded.Code, Message: message, Data: coded.Data}
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("%s was not done after %v", name, s.opts.ToolTimeout)
	default:
		err = errors.New(hidePaths(withoutPaths(err).Error()))
	}
	if s.opts.ToolErrorsAsRPC {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: err.Error()}
	}
	return ToolResult{Content: textContent(err.Error()), IsError: true}, nil
}
