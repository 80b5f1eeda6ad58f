package mcpstdio

//lint:file-ignore SA1019 the suite's tools log and ask for samples, which later revisions of MCP leave out

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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
