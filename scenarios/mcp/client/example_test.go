package client_test

import (
	"context"
	"fmt"
	"os"

	"github.com/pipebench/pipebench/scenarios/mcp"
	"github.com/pipebench/pipebench/scenarios/mcp/client"
)

func ExampleNewCommand() {
	c := client.NewCommand("build/server.js", "--config", "config.json")
	fmt.Println(c.Path, c.Args)
	// Output: node [build/server.js --config config.json]
}

// A connection starts its server, and starts it again when it fails.
func ExampleOpen() {
	c := client.Open(client.NewCommand("./server"), client.Options{
		OnViolation: func(v client.Violation) { fmt.Println("too large:", v.FrameSize) },
	})
	defer c.Close()
	res, err := client.CallTool(context.Background(), c, "echo", map[string]any{"message": "hi"})
	fmt.Println(res, err)
}

// A model asks for a tool, and answers with what that said.
type model struct{}

func (model) Chat(_ context.Context, conversation []client.Turn, _ []mcp.ToolInfo) (client.Turn, error) {
	if last := conversation[len(conversation)-1]; last.Role == "tool" {
		return client.Turn{Role: "assistant", Text: "It says: " + last.Text}, nil
	}
	call := client.ToolCall{Name: "string", Arguments: map[string]any{"operation": "reverse", "input": "pipe"}}
	return client.Turn{Role: "assistant", Calls: []client.ToolCall{call}}, nil
}

func ExampleToolLoop() {
	server := client.Command{Path: os.Args[0], Env: append(os.Environ(), "PIPEBENCH_TEST_SERVER=serve ndjson")} // this test binary
	c := client.Open(server, client.Options{})
	defer c.Close()
	fmt.Println(client.ToolLoop(context.Background(), c, model{}, "What is pipe backwards?"))
	// Output: It says: epip <nil>
}
