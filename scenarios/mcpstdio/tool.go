package mcpstdio

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// A Tool is something that a server does for a client.
type Tool struct {
	Name        string
	Description string
	Params      []Param
	// Size returns how many bytes the answer to args may have; nil: few. Answers that wait for the
	// client are bounded by it, so a tool says it whose answers are larger than its arguments.
	Size func(args json.RawMessage) int
	// Call does it and returns the text of the answer. args is a JSON object that fits Params. An
	// error becomes the tool's result, without the paths it may hold. When ctx ends the client is
	// answered, whether Call returns or not.
	Call func(ctx context.Context, args json.RawMessage) (string, error)
}

// NewTool returns a tool whose arguments are decoded into an In, by the names in its json tags.
func NewTool[In any](name, description string, params []Param, call func(context.Context, In) (string, error)) Tool {
	return Tool{Name: name, Description: description, Params: params,
		Call: func(ctx context.Context, args json.RawMessage) (string, error) {
			var in In
			if err := json.Unmarshal(args, &in); err != nil {
				return "", &sdk.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid params: arguments of " + name + " have another form"}
			}
			return call(ctx, in)
		}}
}

// register offers a tool to clients.
func (s *Server) register(t Tool) error {
	schema := object(t.Params)
	resolved, err := schema.Resolve(nil)
	var text []byte
	if err == nil {
		text, err = json.Marshal(schema)
	}
	var tree any
	if err == nil {
		err = json.Unmarshal(text, &tree)
	}
	if err != nil {
		return fmt.Errorf("tool %q: %w", t.Name, err)
	}
	offer := &mcp.Tool{Name: t.Name, Description: t.Description, InputSchema: openSchema(tree)}
	s.sdk.AddTool(offer, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		args, err := arguments(t.Name, resolved, req.Params.Arguments)
		if err != nil {
			return nil, err
		}
		if t.Size != nil {
			if err := s.awaitRoom(ctx, req, t.Size(args)); err != nil {
				return s.result(t, "", err)
			}
		}
		return s.call(ctx, t, args)
	})
	return nil
}

// awaitRoom waits until so few bytes of answers are on their way that size more may be made.
func (s *Server) awaitRoom(ctx context.Context, req *mcp.CallToolRequest, size int) error {
	number, err := strconv.ParseInt(req.Extra.Header.Get(numberHeader), 10, 64)
	r := s.pending.find(number)
	if err != nil || r == nil {
		return err // it has been answered
	}
	bytes := min(int64(size), s.capacity)
	if err := s.answers.Acquire(ctx, bytes); err != nil {
		return err
	}
	r.bytes = bytes
	return nil
}

// arguments checks what the client gave and returns it: an object, empty where there is none.
func arguments(tool string, schema *jsonschema.Resolved, args json.RawMessage) (json.RawMessage, error) {
	if len(args) == 0 || bytes.Equal(args, []byte("null")) {
		args = json.RawMessage("{}")
	}
	var v any
	err := json.Unmarshal(args, &v)
	if err == nil {
		err = schema.Validate(v)
	}
	if err != nil {
		return nil, &sdk.Error{Code: jsonrpc.CodeInvalidParams, Message: clip(fmt.Sprintf("Invalid params: arguments of %s: %v", tool, err))}
	}
	return args, nil
}

// call runs a tool until it is done, cancelled or out of time. One that panics has failed.
func (s *Server) call(ctx context.Context, t Tool, args json.RawMessage) (*mcp.CallToolResult, error) {
	if s.opts.ToolTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.opts.ToolTimeout)
		defer cancel()
	}
	type outcome struct {
		text string
		err  error
	}
	done := make(chan outcome, 1)
	start := time.Now()
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("Tool panicked", "tool", t.Name, "type", fmt.Sprintf("%T", p)) // its text may hold arguments
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
	return s.result(t, o.text, o.err)
}

// result returns the answer to a call.
func (s *Server) result(t Tool, text string, err error) (*mcp.CallToolResult, error) {
	var coded *sdk.Error
	switch {
	case errors.Is(err, context.Canceled):
		return nil, errCancelled
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("%s was not done after %v", t.Name, s.opts.ToolTimeout)
	case errors.As(err, &coded):
		return nil, &sdk.Error{Code: coded.Code, Message: hidePaths(coded.Message), Data: coded.Data}
	case err == nil:
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	default:
		err = errors.New(hidePaths(withoutPaths(err).Error()))
	}
	if s.opts.ToolErrorsAsRPC {
		return nil, &sdk.Error{Code: jsonrpc.CodeInternal, Message: err.Error()}
	}
	var res mcp.CallToolResult
	res.SetError(err)
	return &res, nil
}

// withoutPaths drops the paths from an error, so that clients do not learn where the server keeps
// its files.
func withoutPaths(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", path.Op, path.Err)
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return fmt.Errorf("%s: %w", link.Op, link.Err)
	}
	if run, ok := errors.AsType[*exec.Error](err); ok {
		return fmt.Errorf("run: %w", run.Err)
	}
	return err
}

// paths are absolute ones in a text, of any system, and those below a home: behind a quotation mark
// up to the next one, else up to white space or a sign that ends a clause.
var paths = regexp.MustCompile(`(["'])(?:~?/|[A-Za-z]:[\\/]|\\\\)[^"']+|(^|[\s(=\[])(?:~?/|[A-Za-z]:[\\/]|\\\\)[^\s"'():;,\[\]]+`)

// hidePaths replaces paths in the text of an error, which may have been made by anybody. A place in
// a JSON schema is none: it tells a client which of its arguments is wrong.
func hidePaths(text string) string {
	return paths.ReplaceAllStringFunc(text, func(path string) string {
		if strings.Contains(path, "/properties/") {
			return path
		}
		return paths.ReplaceAllString(path, "$1$2(path)")
	})
}

// A Param is an argument of a tool.
type Param struct {
	Name        string
	Description string
	Type        jsonschema.Schema // what its value may be; the zero one takes all
	Optional    bool
}

// object returns the schema of an object with these members.
func object(members []Param) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: make(map[string]*jsonschema.Schema)}
	for _, p := range members {
		p.Type.Description = p.Description
		s.Properties[p.Name] = &p.Type
		s.PropertyOrder = append(s.PropertyOrder, p.Name)
		if !p.Optional {
			s.Required = append(s.Required, p.Name)
		}
	}
	return s
}

// openSchema turns the schema true into {}, which means the same, in the places where this
// package's types have schemas: clients were seen to take schemas for objects always.
func openSchema(schema any) any {
	tree, ok := schema.(map[string]any)
	if !ok {
		return map[string]any{}
	}
	if items, ok := tree["items"]; ok {
		tree["items"] = openSchema(items)
	}
	properties, _ := tree["properties"].(map[string]any)
	for name, s := range properties {
		properties[name] = openSchema(s)
	}
	return tree
}

// MaxLargeData bounds what get_large_data returns, in bytes: 64 MiB, the largest that the measured
// servers were asked for.
const MaxLargeData = 64 << 20

// Samples returns the tools of `pipebench serve`: canned weather, an echo, and what tests of
// clients need.
func Samples() []Tool {
	type message struct{ Message string }
	return []Tool{
		alertsTool(),
		forecastTool(),
		NewTool("echo", "Return the message unchanged",
			[]Param{{Name: "message", Description: "what to return", Type: text}},
			func(_ context.Context, a message) (string, error) { return a.Message, nil }),
		largeDataTool(),
		NewTool("datetime", "Return the time, in UTC and the form of RFC 3339", nil,
			func(context.Context, struct{}) (string, error) { return time.Now().UTC().Format(time.RFC3339), nil }),
		stringTool(),
		sleepTool(),
		NewTool("fail", "Fail, to see how a failure looks",
			[]Param{{Name: "message", Description: "what went wrong", Type: text, Optional: true}},
			func(_ context.Context, a message) (string, error) {
				return "", errors.New(cmp.Or(a.Message, "failed as asked"))
			}),
	}
}

var text = jsonschema.Schema{Type: "string"}

func between(low, high float64) jsonschema.Schema {
	return jsonschema.Schema{Type: "number", Minimum: &low, Maximum: &high}
}

func largeDataTool() Tool {
	type in struct{ Bytes *int }
	size := func(bytes *int) int {
		if bytes == nil {
			return 100_000
		}
		return *bytes
	}
	bytes := between(0, MaxLargeData)
	bytes.Type = "integer"
	tool := NewTool("get_large_data", "Return so many bytes of X, 100000 unless said",
		[]Param{{Name: "bytes", Description: "how many", Type: bytes, Optional: true}},
		func(_ context.Context, a in) (string, error) { return strings.Repeat("X", size(a.Bytes)), nil })
	tool.Size = func(args json.RawMessage) int {
		var a in
		_ = json.Unmarshal(args, &a) // Call reports what is wrong
		return size(a.Bytes)
	}
	return tool
}

func stringTool() Tool {
	operations := map[string]func(string) string{
		"uppercase": strings.ToUpper,
		"lowercase": strings.ToLower,
		"trim":      strings.TrimSpace,
		"reverse": func(s string) string {
			r := []rune(s)
			slices.Reverse(r)
			return string(r)
		},
		"length": func(s string) string { return fmt.Sprint(len([]rune(s))) },
	}
	return NewTool("string", "Change a text",
		[]Param{
			{Name: "operation", Description: "what to do with it", Type: jsonschema.Schema{
				Type: "string", Enum: []any{"uppercase", "lowercase", "trim", "reverse", "length"},
			}},
			{Name: "input", Description: "the text", Type: text},
		},
		func(_ context.Context, a struct{ Operation, Input string }) (string, error) {
			return operations[a.Operation](a.Input), nil
		})
}

func sleepTool() Tool {
	return NewTool("sleep", "Answer after a while; can be cancelled",
		[]Param{{Name: "seconds", Description: "how long", Type: between(0, 86400)}},
		func(ctx context.Context, a struct{ Seconds float64 }) (string, error) {
			select {
			case <-time.After(time.Duration(a.Seconds * float64(time.Second))):
				return fmt.Sprintf("slept %v seconds", a.Seconds), nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
}

// The alerts and the forecast are canned: what a client does with them is the point.

var alerts = map[string][][4]any{ // event, area, severity, headline
	"CA": {{"Heat Advisory", "Sacramento Valley", "Moderate", "Heat Advisory until 8 PM PDT"}},
	"TX": {
		{"Flood Watch", "Hill Country", "Severe", "Flood Watch through Thursday morning"},
		{"Severe Thunderstorm Warning", "Travis; Williamson", "Severe", "Severe Thunderstorm Warning until 6:15 PM CDT"},
	},
}

func alertsTool() Tool {
	return NewTool("get-alerts", "Get weather alerts for a state",
		[]Param{{Name: "state", Description: "two-letter code of the state, such as CA", Type: text}},
		func(_ context.Context, a struct{ State string }) (string, error) {
			state := strings.ToUpper(a.State)
			if len(state) != 2 {
				return "", fmt.Errorf("a state is two letters, such as CA")
			}
			list := alerts[state]
			if len(list) == 0 {
				return "No active alerts for " + state, nil
			}
			var b strings.Builder
			fmt.Fprintf(&b, "Active alerts for %s:\n", state)
			for _, a := range list {
				fmt.Fprintf(&b, "\nEvent: %s\nArea: %s\nSeverity: %s\nHeadline: %s\n---\n", a[:]...)
			}
			return b.String(), nil
		})
}

func forecastTool() Tool {
	return NewTool("get-forecast", "Get the weather forecast for a place",
		[]Param{
			{Name: "latitude", Description: "degrees north", Type: between(-90, 90)},
			{Name: "longitude", Description: "degrees east", Type: between(-180, 180)},
		},
		func(_ context.Context, a struct{ Latitude, Longitude float64 }) (string, error) {
			return fmt.Sprintf("Forecast for %.4f, %.4f:\n\nTonight:\nTemperature: 14°C\nWind: 10 km/h SW\nClear\n---\n"+
				"Tomorrow:\nTemperature: 23°C\nWind: 15 km/h W\nSunny\n---\n", a.Latitude, a.Longitude), nil
		})
}
