package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/pipebench/pipebench/scenarios/mcp"
)

// A server is anything between a reader and a writer: stdin and stdout, pipes, connections.
func ExampleStart() {
	in := strings.NewReader(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"greet","arguments":{"name":"you"}}}` + "\n")
	type args struct{ Name string }
	greet := mcp.NewTool("greet", "Say hello",
		json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":"to whom"}},"required":["name"]}`),
		func(_ context.Context, a args) (string, error) { return "hello " + a.Name, nil })

	s, err := mcp.Start(context.Background(), in, os.Stdout, mcp.Options{Tools: []mcp.Tool{greet}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Wait(), s.State())
	// Output:
	// {"jsonrpc":"2.0","id":"a","result":{"content":[{"type":"text","text":"hello you"}]}}
	// <nil> stopped
}
