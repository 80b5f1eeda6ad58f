package claims

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	mcpstdio "github.com/pipebench/pipebench/scenarios/mcp"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A Server is the evidence of how a real MCP server takes what the documents speak of.
type Server struct {
	Name string `json:"name"`

	Newline       bool `json:"newline"`        // it answered a handshake sent as a line
	ContentLength bool `json:"content_length"` // it answered one sent with a header

	Blank     bool `json:"blank"`          // it answered the request after a blank line
	Trailing  bool `json:"trailing_space"` // it answered a request with spaces at its end
	Malformed bool `json:"malformed"`      // it answered the request after a malformed line

	// The id of its answer to the malformed line: "null", `""`, "absent" or "no answer".
	MalformedID string `json:"malformed_id"`

	// Whether it answered the request that was under way when its standard input ended, whether it
	// left by itself after that, and how long after the end it did so.
	Replied bool  `json:"replied"`
	ReplyNS int64 `json:"reply_ns,omitempty"`
	Exited  bool  `json:"exited"`
	ExitNS  int64 `json:"exit_ns,omitempty"`

	// Bytes of its longest line: of the handshake, or of what a tool gave.
	Largest int `json:"largest,omitempty"`
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
	start func() (*proc.Process, error)
}

// ours is the name of the server of this project, whose behaviour is no evidence of what servers
// do.
const ours = "pipebench serve"

func programs() []program {
	all := []program{{
		name: ours,
		slow: toolCall(`"slow","arguments":{}`),
		start: func() (*proc.Process, error) {
			return proc.Self("claims/serve", nil)
		},
	}}
	// The reference server of the TypeScript SDK, where a package manager has put it on the path.
	path, err := exec.LookPath("mcp-server-everything")
	if err == nil {
		all = append(all, program{
			name: "server-everything",
			slow: toolCall(`"echo","arguments":{"message":"hello"}`),
			start: func() (*proc.Process, error) {
				return proc.Command(path, "stdio"), nil
			},
		})
	}
	return all
}

// toolCall is request 9, which calls the tool of that name and arguments.
func toolCall(nameAndArguments string) string {
	const head = `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":`
	return head + nameAndArguments + `}}`
}

// Interviews are the evidence of claims on how servers behave.
type Interviews struct {
	Servers []Server `json:"servers"`
}

// interviews talks to all servers at the same time, because a conversation is mostly waiting.
func interviews(ctx context.Context, s *session) (Interviews, error) {
	return once(s, "shaking hands with MCP servers", func() (Interviews, error) {
		all := programs()
		servers := make([]Server, len(all))
		failed := make([]error, len(all))
		var wg sync.WaitGroup
		for i, p := range all {
			wg.Go(func() { servers[i], failed[i] = p.interview(ctx) })
		}
		wg.Wait()
		return Interviews{servers}, errors.Join(failed...)
	})
}

// claimOnServers makes a claim on what servers do. It is judged by those of others alone, and not
// at all if none of them was there, or could be spoken to.
func claimOnServers(id string, rule func(Interviews) finding) Claim {
	return claim(id, interviews, func(e Interviews) finding {
		others := e.others()
		if others.silent() {
			return noServer()
		}
		return rule(others)
	})
}

// claimOnHandshakes makes a claim on whether servers answer at all: their silence is evidence too.
func claimOnHandshakes(id string, rule func(Interviews) finding) Claim {
	return claim(id, interviews, func(e Interviews) finding {
		others := e.others()
		if len(others.Servers) == 0 {
			return noServer()
		}
		return rule(others)
	})
}

func noServer() finding {
	return finding{
		figure: "0 servers",
		nobody: "no server of others answered: " +
			"put one such as mcp-server-everything on the PATH",
	}
}

// others are the servers that are not this project's.
func (e Interviews) others() Interviews {
	var others Interviews
	for _, s := range e.Servers {
		if s.Name != ours {
			others.Servers = append(others.Servers, s)
		}
	}
	return others
}

// silent reports whether no server answered at all.
func (e Interviews) silent() bool {
	for _, s := range e.Servers {
		if s.Newline || s.ContentLength {
			return false
		}
	}
	return true
}

// tallyOf asks the question of each server that shook hands.
func (e Interviews) tallyOf(question func(Server) bool) tally {
	var t tally
	for _, s := range e.Servers {
		if s.Newline {
			t.add(s.Name, question(s))
		}
	}
	return t
}

// judgeEach judges a claim that says every server does something.
func (e Interviews) judgeEach(question func(Server) bool) finding {
	t := e.tallyOf(question)
	return t.judge(t.figure() + " servers")
}

// interview asks one question in each of several conversations, since a server that takes an oddity
// amiss answers nothing after it.
func (p program) interview(ctx context.Context) (Server, error) {
	s := Server{Name: p.name, MalformedID: "no answer"}
	questions := []func(context.Context, *faults.Conversation){
		func(ctx context.Context, c *faults.Conversation) { s.askToLeave(ctx, c, p.slow) },
		s.askWithHeader, s.askAfterBlank, s.askWithSpaces, s.askAfterMalformed,
	}
	for _, ask := range questions {
		if err := p.talk(ctx, ask); err != nil {
			return Server{}, err
		}
	}
	return s, nil
}

// talk starts the server for one conversation.
func (p program) talk(
	ctx context.Context, ask func(context.Context, *faults.Conversation),
) error {
	process, err := p.start()
	if err != nil {
		return err
	}
	c, err := faults.StartConversation(ctx, process)
	if err != nil {
		return err
	}
	defer c.Close()
	ask(ctx, c)
	return nil
}

// askToLeave ends standard input while a request is under way.
func (s *Server) askToLeave(ctx context.Context, c *faults.Conversation, slow string) {
	if !shakeHands(ctx, c) {
		return
	}
	s.Newline = true
	c.Say(slow + "\n")
	c.In.Close()
	ended := time.Now()
	s.Replied = c.Await(ctx, leaveWithin, isResult("9")) == nil
	if s.Replied {
		s.ReplyNS = time.Since(ended).Nanoseconds()
	}
	s.Exited = c.Ended(leaveWithin - time.Since(ended))
	if s.Exited {
		s.ExitNS = time.Since(ended).Nanoseconds()
	}
	s.Largest = c.Longest
}

// askWithHeader shakes hands in the framing of language servers.
func (s *Server) askWithHeader(ctx context.Context, c *faults.Conversation) {
	isHeaderOrResult := func(line string) bool {
		return strings.HasPrefix(strings.ToLower(line), "content-length:") || isResult("1")(line)
	}
	text := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(initialize), initialize)
	s.ContentLength = says(ctx, c, text, isHeaderOrResult)
}

// askAfterBlank sends a blank line before a request.
func (s *Server) askAfterBlank(ctx context.Context, c *faults.Conversation) {
	s.Blank = shakeHands(ctx, c) && says(ctx, c, "\n"+ping+"\n", isResult("2"))
}

// askWithSpaces sends a request with white space at its end.
func (s *Server) askWithSpaces(ctx context.Context, c *faults.Conversation) {
	s.Trailing = shakeHands(ctx, c) && says(ctx, c, ping+"  \t\n", isResult("2"))
}

// askAfterMalformed sends a line that is no JSON before a request.
func (s *Server) askAfterMalformed(ctx context.Context, c *faults.Conversation) {
	if !shakeHands(ctx, c) {
		return
	}
	noteErrors := func(line string) bool {
		var m map[string]json.RawMessage
		err := json.Unmarshal([]byte(line), &m)
		if err == nil && m["error"] != nil {
			s.MalformedID = "absent"
			if len(m["id"]) > 0 {
				s.MalformedID = string(m["id"])
			}
		}
		return isResult("2")(line)
	}
	s.Malformed = says(ctx, c, "{malformed\n"+ping+"\n", noteErrors)
}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{` +
		`"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"pipebench","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	ping        = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
)

// shakeHands reports whether the server answers a handshake in lines.
func shakeHands(ctx context.Context, c *faults.Conversation) bool {
	c.Say(initialize + "\n")
	if c.Await(ctx, answerWithin, isResult("1")) != nil {
		return false
	}
	c.Say(initialized + "\n")
	return true
}

// says tells whether text is answered as wanted.
func says(
	ctx context.Context, c *faults.Conversation, text string, wanted func(string) bool,
) bool {
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

// Jobs are the programs that experiments start in processes of their own: main gives them to
// [proc.Main].
func Jobs() map[string]proc.Job {
	return map[string]proc.Job{
		"claims/serve":    serve,
		"claims/answerer": faults.Job(answerLines),
		"claims/crasher":  answerAndCrash,
		"claims/client":   faults.Job(receiveOversized),
	}
}

// slowTool is how long the servers' tool takes, so that a request is under way when its client
// leaves.
const slowTool = 100 * time.Millisecond

// serve is the server of this project.
func serve(*proc.Work) error {
	callSlow := func(context.Context, struct{}) (string, error) {
		time.Sleep(slowTool)
		return "done", nil
	}
	slow := mcpstdio.NewTool("slow", "", nil, callSlow)
	o := mcpstdio.Options{Tools: []mcpstdio.Tool{slow}}
	s, err := mcpstdio.NewServer(os.Stdin, os.Stdout, o)
	if err != nil {
		return err
	}
	if err := s.Start(context.Background()); err != nil {
		return err
	}
	return s.Wait()
}
