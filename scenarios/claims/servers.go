package claims

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/mcpstdio"
	"github.com/pipebench/pipebench/syspipe/proc"
	"github.com/pipebench/pipebench/syspipe/script"
)

// A Server is the evidence of how a real MCP server takes what the documents speak of.
type Server struct {
	Name string `json:"name"`

	Newline       bool `json:"newline"`        // it answered a handshake sent as a line
	ContentLength bool `json:"content_length"` // it answered one sent with a header

	Blank       bool   `json:"blank"`          // it answered the request after a blank line
	Trailing    bool   `json:"trailing_space"` // it answered a request with spaces at its end
	Malformed   bool   `json:"malformed"`      // it answered the request after a malformed line
	MalformedID string `json:"malformed_id"`   // id of the answer to that line: "null", `""`, or "no answer"

	Replied bool  `json:"replied"`            // a request under way when standard input ended was answered
	ReplyNS int64 `json:"reply_ns,omitempty"` // after the end
	Exited  bool  `json:"exited"`             // it left by itself after the end
	ExitNS  int64 `json:"exit_ns,omitempty"`

	Largest int `json:"largest,omitempty"` // bytes of its longest line: of the handshake, and of what a tool gave
}

// Deadlines of a conversation. A server that means to answer does so in milliseconds, one on node
// after half a second at its first message.
const (
	answerWithin  = 10 * time.Second
	silenceWithin = 1500 * time.Millisecond // how long no answer is an answer
	leaveWithin   = 6 * time.Second         // beyond the five seconds that the document gives
)

// A program is an MCP server that can be started any number of times.
type program struct {
	name  string
	slow  string // a request that is not answered at once
	start func() *proc.Process
}

func programs() []program {
	const slow = `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"slow","arguments":{}}}`
	all := []program{
		{"go-sdk", slow, func() *proc.Process { return script.Must(proc.Self("claims/go-sdk", nil)) }},
		{"pipebench serve", slow, func() *proc.Process { return script.Must(proc.Self("claims/serve", nil)) }},
		{"mcp-go", slow, func() *proc.Process { return script.Must(proc.Self("claims/mcp-go", nil)) }},
	}
	// The reference server of the TypeScript SDK, where a package manager has put it on the path.
	if path, err := exec.LookPath("mcp-server-everything"); err == nil {
		echo := `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}}`
		all = append(all, program{"server-everything", echo, func() *proc.Process { return proc.Command(path, "stdio") }})
	}
	return all
}

// Interviews are the evidence of claims on how servers behave.
type Interviews struct {
	Servers []Server `json:"servers"`
}

// interviews talks to all servers, at the same time: they wait, mostly.
func interviews(ctx context.Context, s *session) Interviews {
	return once(s, "shaking hands with MCP servers", func() Interviews {
		all := programs()
		out, failed := make([]Server, len(all)), make([]error, len(all))
		var wg sync.WaitGroup
		for i, p := range all {
			wg.Go(func() { out[i], failed[i] = script.Of(func() Server { return p.interview(ctx) }) })
		}
		wg.Wait()
		script.Check(errors.Join(failed...))
		return Interviews{out}
	})
}

// tallyOf sorts the servers that shook hands by a question.
func (e Interviews) tallyOf(question func(Server) bool) (t tally) {
	for _, s := range e.Servers {
		if s.Newline {
			t.add(s.Name, question(s))
		}
	}
	return t
}

// whether judges a claim that says every server does something.
func whether(question func(Server) bool) func(Interviews) finding {
	return func(e Interviews) finding {
		t := e.tallyOf(question)
		return t.judge(t.figure() + " servers")
	}
}

// interview asks one question in each of several conversations, since a server that takes an oddity
// amiss answers nothing after it.
func (p program) interview(ctx context.Context) Server {
	s := Server{Name: p.name, MalformedID: "no answer"}
	p.shaken(ctx, func(c *faults.Conversation) {
		s.Newline = true
		c.Say(p.slow + "\n") // is under way when standard input ends
		c.In.Close()
		ended := time.Now()
		if s.Replied = c.Await(ctx, leaveWithin, isResult("9")) == nil; s.Replied {
			s.ReplyNS = time.Since(ended).Nanoseconds()
		}
		if s.Exited = c.Ended(leaveWithin - time.Since(ended)); s.Exited {
			s.ExitNS = time.Since(ended).Nanoseconds()
		}
		s.Largest = c.Longest
	})
	p.talk(ctx, func(c *faults.Conversation) { // a handshake in the framing of language servers
		s.ContentLength = says(ctx, c, fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(initialize), initialize), func(line string) bool {
			return strings.HasPrefix(strings.ToLower(line), "content-length:") || isResult("1")(line)
		})
	})
	p.shaken(ctx, func(c *faults.Conversation) { s.Blank = says(ctx, c, "\n"+ping+"\n", isResult("2")) })
	p.shaken(ctx, func(c *faults.Conversation) { s.Trailing = says(ctx, c, ping+"  \t\n", isResult("2")) })
	p.shaken(ctx, func(c *faults.Conversation) { // a line that is no JSON, then a request
		s.Malformed = says(ctx, c, "{malformed\n"+ping+"\n", func(line string) bool {
			var m map[string]json.RawMessage
			if json.Unmarshal([]byte(line), &m) == nil && m["error"] != nil {
				s.MalformedID = cmp.Or(string(m["id"]), "absent")
			}
			return isResult("2")(line)
		})
	})
	return s
}

const (
	initialize  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"pipebench","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	ping        = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
)

// talk starts the server for one conversation.
func (p program) talk(ctx context.Context, about func(*faults.Conversation)) {
	c := faults.Converse(ctx, p.start())
	defer c.Close()
	about(c)
}

// shaken starts the server and, if it shakes hands in lines, asks it something.
func (p program) shaken(ctx context.Context, ask func(*faults.Conversation)) {
	p.talk(ctx, func(c *faults.Conversation) {
		c.Say(initialize + "\n")
		if c.Await(ctx, answerWithin, isResult("1")) == nil {
			c.Say(initialized + "\n")
			ask(c)
		}
	})
}

// says tells whether text is answered as wanted.
func says(ctx context.Context, c *faults.Conversation, text string, wanted func(string) bool) bool {
	c.Say(text)
	return c.Await(ctx, silenceWithin, wanted) == nil
}

// isResult recognises the result of the request with that id.
func isResult(id string) func(string) bool {
	return func(line string) bool {
		e := jsonrpc.Scan([]byte(line))
		return e.Whole && e.Result && string(e.ID) == id
	}
}

// init registers what processes of their own do in experiments.
func init() {
	proc.Register("claims/go-sdk", func(*proc.Work) error { // a server made with the MCP Go SDK
		s := mcp.NewServer(&mcp.Implementation{Name: "go-sdk", Version: "1"}, nil)
		mcp.AddTool(s, &mcp.Tool{Name: "slow"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			time.Sleep(slowTool)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
		})
		return s.Run(context.Background(), &mcp.StdioTransport{})
	})
	proc.Register("claims/mcp-go", func(*proc.Work) error { // a server made with mcp-go
		s := mcpgoserver.NewMCPServer("mcp-go", "1")
		s.AddTool(mcpgo.NewTool("slow"), func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
			time.Sleep(slowTool)
			return mcpgo.NewToolResultText("done"), nil
		})
		return mcpgoserver.ServeStdio(s)
	})
	faults.Register("claims/serve", func(*proc.Work, any) { // the server of this project
		slow := mcpstdio.NewTool("slow", "", nil, func(context.Context, struct{}) (string, error) {
			time.Sleep(slowTool)
			return "done", nil
		})
		s := script.Must(mcpstdio.NewServer(os.Stdin, os.Stdout, mcpstdio.Options{Tools: []mcpstdio.Tool{slow}}))
		script.Check(s.Start(context.Background()))
		script.Check(s.Wait())
	})
	faults.Register("claims/answerer", answerLines)
	faults.Register("claims/crasher", func(*proc.Work, any) { // a server that answers once, and dies
		script.Must(bufio.NewReader(os.Stdin).ReadString('\n'))
		fmt.Println("answer")
		os.Exit(2)
	})
	faults.Register("claims/client", receiveOversized)
}

// slowTool is how long the servers' tool takes, so that a request is under way when its client
// leaves.
const slowTool = 100 * time.Millisecond

type answererArgs struct {
	Limit  int
	Answer bool // an oversized line is answered with an error
}

// answerLines answers requests line by line, with a limit.
func answerLines(_ *proc.Work, args answererArgs) {
	in := framers.NDJSON().NewReader(os.Stdin, framers.WithMaxMessage(args.Limit), framers.WithPolicy(framers.Resync))
	for {
		msg, err := in.ReadMessage()
		if err == io.EOF {
			return
		}
		if large, ok := err.(*framers.TooLargeError); ok {
			if args.Answer {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"request too large"}}`+"\n", idIn(large.Head))
			}
			continue
		}
		script.Check(err)
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
