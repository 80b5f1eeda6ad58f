package claims

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// init registers what processes of their own do in experiments.
func init() {
	proc.Register("claims/go-sdk", serveGoSDK)
	proc.Register("claims/mcp-go", serveMCPGo)
	proc.Register("claims/answerer", answerLines)
	proc.Register("claims/crasher", answerAndCrash)
	proc.Register("claims/client", receiveOversized)
}

// slowTool is how long the servers' tool takes, so that a request is under way when its client
// leaves.
const slowTool = 100 * time.Millisecond

// serveGoSDK is a server made with the MCP Go SDK.
func serveGoSDK(*proc.Work) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "go-sdk", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "slow"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		time.Sleep(slowTool)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
	})
	return s.Run(context.Background(), &mcp.StdioTransport{})
}

// serveMCPGo is a server made with mcp-go.
func serveMCPGo(*proc.Work) error {
	s := mcpgoserver.NewMCPServer("mcp-go", "1")
	s.AddTool(mcpgo.NewTool("slow"), func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		time.Sleep(slowTool)
		return mcpgo.NewToolResultText("done"), nil
	})
	return mcpgoserver.ServeStdio(s)
}

// answerAndCrash is a server that answers once, and dies.
func answerAndCrash(*proc.Work) error {
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	fmt.Println("answer")
	os.Exit(2)
	return nil
}

type answererArgs struct {
	Limit  int
	Answer bool // an oversized line is answered with an error
}

// answerLines answers requests line by line, with a limit.
func answerLines(w *proc.Work) error {
	var args answererArgs
	if err := w.Args(&args); err != nil {
		return err
	}
	in := framers.NDJSON().NewReader(os.Stdin, framers.WithMaxMessage(args.Limit), framers.WithPolicy(framers.Resync))
	for {
		msg, err := in.ReadMessage()
		if err == io.EOF {
			return nil
		}
		if large, ok := err.(*framers.TooLargeError); ok {
			if args.Answer {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"request too large"}}`+"\n", idIn(large.Head))
			}
			continue
		}
		if err != nil {
			return err
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", idIn(msg))
	}
}

// idIn finds the id of a request in the beginning of its text, "null" if it is not there.
func idIn(head []byte) string {
	if id, ok := jsonrpc.FindID(head); ok {
		return string(id)
	}
	return string(jsonrpc.Null)
}
