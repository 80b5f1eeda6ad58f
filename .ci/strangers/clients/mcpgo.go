// Command client calls the tool "echo" through mcp-go.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	c, err := client.NewStdioMCPClient(os.Args[1], nil, os.Args[2:]...)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "c", Version: "1"}
	if _, err = c.Initialize(ctx, hello); err != nil {
		c.Close()
		log.Fatal(err)
	}
	call := mcp.CallToolRequest{}
	call.Params.Name = "echo"
	call.Params.Arguments = map[string]any{"message": "hello"}
	result, err := c.CallTool(ctx, call)
	if err != nil {
		c.Close()
		log.Fatal(err)
	}
	fmt.Println(result.Content[0].(mcp.TextContent).Text)
}
