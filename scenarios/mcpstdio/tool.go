package mcpstdio

//lint:file-ignore SA1019 the suite's tools log and ask for samples, which later revisions of MCP leave out

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
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
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// A Tool is something that a server does for a client.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // of its arguments, an object; nil: it takes any, and needs none
	// Size returns how many bytes the answer to args may have; nil: few. Answers that wait for the
	// client are bounded by it, so a tool says it whose answers are larger than its arguments.
	Size func(args json.RawMessage) int
	// Call does it and returns the text of the answer. args is a JSON object that fits Schema. An
	// error becomes the tool's result, without the paths it may hold. When ctx ends the client is
	// answered, whether Call returns or not.
	Call func(ctx context.Context, args json.RawMessage) (string, error)
}

// NewTool returns a tool whose arguments are decoded into an In, by the names in its json tags.
func NewTool[In any](name, description string, schema json.RawMessage, call func(context.Context, In) (string, error)) Tool {
	return Tool{Name: name, Description: description, Schema: schema,
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
	if t.Schema == nil {
		t.Schema = json.RawMessage(`{"properties":{},"type":"object"}`)
	}
	var schema jsonschema.Schema
	err := json.Unmarshal(t.Schema, &schema)
	resolved, unresolved := schema.Resolve(nil)
	if err = cmp.Or(err, unresolved); err == nil && schema.Type != "object" { // which the SDK would panic over
		err = fmt.Errorf("its schema is of type %q, not object", schema.Type)
	}
	if err != nil {
		return fmt.Errorf("tool %q: %w", t.Name, err)
	}
	offer := &mcp.Tool{Name: t.Name, Description: t.Description, InputSchema: t.Schema}
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

// sampleList says of each sample what clients are told of it, by its name.
//
//go:embed samples.json
var sampleList []byte

// Samples returns the tools of `pipebench serve`: canned weather, an echo, and what tests of
// clients need.
func Samples() []Tool {
	type message struct{ Message string }
	tools := []Tool{
		NewTool("get-alerts", "", nil, alerts),
		NewTool("get-forecast", "", nil, forecast),
		NewTool("echo", "", nil, func(_ context.Context, a message) (string, error) { return a.Message, nil }),
		largeDataTool(),
		NewTool("datetime", "", nil, func(context.Context, struct{}) (string, error) {
			return time.Now().UTC().Format(time.RFC3339), nil
		}),
		NewTool("string", "", nil, changeString),
		NewTool("sleep", "", nil, sleep),
		NewTool("fail", "", nil, func(_ context.Context, a message) (string, error) {
			return "", errors.New(cmp.Or(a.Message, "failed as asked"))
		}),
	}
	var offers map[string]struct {
		Description string
		InputSchema json.RawMessage
	}
	_ = json.Unmarshal(sampleList, &offers) // a test reads it
	for i := range tools {
		offer := offers[tools[i].Name]
		tools[i].Description, tools[i].Schema = offer.Description, offer.InputSchema
	}
	return tools
}

// largeDataTool makes up to 64 MiB, the most that the measured servers were asked for.
func largeDataTool() Tool {
	type in struct{ Bytes *int }
	size := func(a in) int {
		if a.Bytes == nil {
			return 100_000
		}
		return *a.Bytes
	}
	tool := NewTool("get_large_data", "", nil, func(_ context.Context, a in) (string, error) {
		return strings.Repeat("X", size(a)), nil
	})
	tool.Size = func(args json.RawMessage) int {
		var a in
		_ = json.Unmarshal(args, &a) // Call reports what is wrong
		return size(a)
	}
	return tool
}

func changeString(_ context.Context, a struct{ Operation, Input string }) (string, error) {
	switch a.Operation {
	case "uppercase":
		return strings.ToUpper(a.Input), nil
	case "lowercase":
		return strings.ToLower(a.Input), nil
	case "trim":
		return strings.TrimSpace(a.Input), nil
	case "length":
		return strconv.Itoa(utf8.RuneCountInString(a.Input)), nil
	}
	reversed := []rune(a.Input)
	slices.Reverse(reversed)
	return string(reversed), nil
}

func sleep(ctx context.Context, a struct{ Seconds float64 }) (string, error) {
	select {
	case <-time.After(time.Duration(a.Seconds * float64(time.Second))):
		return fmt.Sprintf("slept %v seconds", a.Seconds), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// The alerts and the forecast are canned: what a client does with them is the point.

var alertsOf = map[string]string{
	"CA": "\nEvent: Heat Advisory\nArea: Sacramento Valley\nSeverity: Moderate\nHeadline: Heat Advisory until 8 PM PDT\n---\n",
	"TX": "\nEvent: Flood Watch\nArea: Hill Country\nSeverity: Severe\nHeadline: Flood Watch through Thursday morning\n---\n" +
		"\nEvent: Severe Thunderstorm Warning\nArea: Travis; Williamson\nSeverity: Severe\n" +
		"Headline: Severe Thunderstorm Warning until 6:15 PM CDT\n---\n",
}

func alerts(_ context.Context, a struct{ State string }) (string, error) {
	state := strings.ToUpper(a.State)
	if len(state) != 2 {
		return "", errors.New("a state is two letters, such as CA")
	}
	if list := alertsOf[state]; list != "" {
		return "Active alerts for " + state + ":\n" + list, nil
	}
	return "No active alerts for " + state, nil
}

func forecast(_ context.Context, a struct{ Latitude, Longitude float64 }) (string, error) {
	return fmt.Sprintf("Forecast for %.4f, %.4f:\n\nTonight:\nTemperature: 14°C\nWind: 10 km/h SW\nClear\n---\n"+
		"Tomorrow:\nTemperature: 23°C\nWind: 15 km/h W\nSunny\n---\n", a.Latitude, a.Longitude), nil
}

//go:embed fixtures.json
var fixtureList []byte

// A fixture is a tool that MCP's conformance suite calls by its name, and what it does, in this order.
type fixture struct {
	Tool     mcp.Tool
	Logs     []string
	Progress []float64         // of 100, where the client asks to be told
	Elicit   *mcp.ElicitParams // of the client's user, with the message of the arguments if they have one
	Changes  bool              // the list of tools
	Result   *mcp.CallToolResult

	offer func() // puts it on that list
}

// fixturePause stands between two notifications of a call.
const fixturePause = 50 * time.Millisecond

// serves says what the server offers the SDK's clients.
func (o Options) serves() *mcp.ServerOptions {
	serves := &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}}
	if o.Fixtures {
		serves.Capabilities.Logging, serves.Capabilities.Tools.ListChanged = &mcp.LoggingCapabilities{}, true
		serves.CompletionHandler = func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}, nil
		}
	}
	return serves
}

// addFixtures offers the tools of the conformance suite.
func (s *Server) addFixtures() error {
	var fixtures []fixture
	err := json.Unmarshal(fixtureList, &fixtures)
	for _, f := range fixtures {
		f.offer = func() { s.sdk.AddTool(&f.Tool, f.call) }
		f.offer()
	}
	return err
}

func (f *fixture) call(ctx context.Context, req *mcp.CallToolRequest) (res *mcp.CallToolResult, err error) {
	for _, text := range f.Logs {
		err = cmp.Or(err, req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: text}))
		time.Sleep(fixturePause)
	}
	for _, done := range f.Progress {
		if token := req.Params.GetProgressToken(); token != nil {
			told := &mcp.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 100}
			err = cmp.Or(err, req.Session.NotifyProgress(ctx, told))
		}
		time.Sleep(fixturePause)
	}
	if f.Changes {
		f.offer() // again, which is a change
	}
	if err != nil || f.Result != nil {
		return f.Result, err
	}
	var args struct{ Prompt, Message string }
	var said any
	if err = json.Unmarshal(req.Params.Arguments, &args); f.Elicit != nil {
		ask := *f.Elicit
		ask.Message = cmp.Or(args.Message, ask.Message)
		said, err = req.Session.Elicit(ctx, &ask)
	} else if err == nil {
		said, err = req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{
			Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: args.Prompt}}}, MaxTokens: 100,
		})
	}
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(said)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("Response: %s", text)}}}, err
}
