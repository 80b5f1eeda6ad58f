package claims

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/faults/actor"
	"github.com/pipebench/pipebench/syspipe"
)

// cast is every part that an actor of this package can play.
var cast = actor.Cast{
	"go-sdk":   playGoSDK,
	"mcp-go":   playMCPGo,
	"answerer": playAnswerer,
	"keeper":   playKeeper,
	"client":   playClient,
	"crasher":  playCrasher,
}

// slowTool is how long the servers' tool takes, so that a request is under way
// when its client leaves.
const slowTool = 100 * time.Millisecond

// playGoSDK is a server made with the MCP Go SDK.
func playGoSDK(*actor.Stage) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "go-sdk", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "slow"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		time.Sleep(slowTool)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
	})
	return s.Run(context.Background(), &mcp.StdioTransport{})
}

// playMCPGo is a server made with mcp-go.
func playMCPGo(*actor.Stage) error {
	s := mcpgoserver.NewMCPServer("mcp-go", "1")
	s.AddTool(mcpgo.NewTool("slow"), func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		time.Sleep(slowTool)
		return mcpgo.NewToolResultText("done"), nil
	})
	return mcpgoserver.ServeStdio(s)
}

// playCrasher is a server that answers once, and dies.
func playCrasher(*actor.Stage) error {
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

// playAnswerer answers requests line by line, with a limit.
func playAnswerer(s *actor.Stage) error {
	var args answererArgs
	if err := s.Args(&args); err != nil {
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

// idIn finds the id of a request in the beginning of its text, "null" if it is
// not there: the members of the object are read in turn until the text ends.
func idIn(head []byte) string {
	tokens := json.NewDecoder(&readBytes{head})
	if t, err := tokens.Token(); err != nil || t != json.Delim('{') {
		return "null"
	}
	for {
		name, err := tokens.Token()
		if err != nil {
			return "null"
		}
		var value json.RawMessage
		if err := tokens.Decode(&value); err != nil {
			return "null"
		}
		if name == "id" {
			return string(value)
		}
	}
}

// readBytes reads a slice, and fails at its end as a truncated text does.
type readBytes struct{ left []byte }

func (r *readBytes) Read(p []byte) (int, error) {
	if len(r.left) == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

type keeperArgs struct {
	Framing string
	Limit   int // bytes of a message
	Late    bool
	Drain   bool // receive to the end before the heap is measured
}

// A Kept is what a receiver held of messages.
type Kept struct {
	Size      int64 `json:"size"`       // bytes of the message
	Held      int64 `json:"held"`       // memory that the process got from the system for it, in bytes
	AfterHeap int64 `json:"after_heap"` // bytes on its heap more than before, when the message was delivered and others had come
	Delivered int64 `json:"delivered"`  // bytes of the message
	Refused   bool  `json:"refused"`
}

// playKeeper receives a message and some others, and tells what that took. A
// late one has the frame whole before it looks at its size, as a program does
// whose transport delivers frames.
func playKeeper(s *actor.Stage) error {
	var args keeperArgs
	if err := s.Args(&args); err != nil {
		return err
	}
	read, err := args.reader(s.Ends[0])
	if err != nil {
		return err
	}
	heap, before := heapNow(), taken()
	msg, err := read()
	k := Kept{Delivered: int64(len(msg)), Refused: err != nil || len(msg) > args.Limit, Held: taken() - before}
	for args.Drain && err == nil {
		_, err = read()
	}
	k.AfterHeap = max(0, heapNow()-heap)
	runtime.KeepAlive(read) // what the receiver holds on to counts
	return s.Report(k)
}

// taken is how much memory the process has got from the system, in bytes.
func taken() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}

// heapNow is what the process has on its heap after a collection, in bytes.
func heapNow() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func (a keeperArgs) reader(r *syspipe.End) (func() ([]byte, error), error) {
	if err := actor.Park(r); err != nil {
		return nil, err
	}
	if a.Late {
		lines := bufio.NewReader(r)
		return func() ([]byte, error) { return lines.ReadBytes('\n') }, nil
	}
	f, err := framers.Parse(a.Framing)
	if err != nil {
		return nil, err
	}
	return f.NewReader(r, framers.WithMaxMessage(a.Limit)).ReadMessage, nil
}
