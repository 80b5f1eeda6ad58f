package client_test

import (
	"context"
	"fmt"

	"github.com/pipebench/pipebench/scenarios/mcpstdio/client"
)

func ExampleNewCommand() {
	c := client.NewCommand("build/server.js", "--config", "config.json")
	fmt.Println(c.Path, c.Args)
	// Output: node [build/server.js --config config.json]
}

// A connection starts its server, and starts it again when it fails.
func ExampleOpen() {
	c, err := client.Open(client.NewCommand("./server"), client.Options{
		OnViolation: func(v client.Violation) { fmt.Println("too large:", v.FrameSize) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	res, err := c.CallTool(context.Background(), "echo", map[string]any{"message": "hi"})
	fmt.Println(res, err)
}
