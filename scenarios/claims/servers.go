package claims

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	mcpstdio "github.com/pipebench/pipebench/scenarios/mcp"
	"github.com/pipebench/pipebench/syspipe/proc"
	"github.com/pipebench/pipebench/syspipe/script"
)

// processClaims are what document 002 says.
var processClaims = []Claim{
	claim("002-bytewise", func(ctx context.Context, s *session) (e Bytewise) {
		records := s.readersGrowth(ctx)
		for _, r := range records {
			if r.Cell.Framing == "ndjson-bytewise" && r.Verified != nil {
				e.Compared += r.Verified.Bytes
			}
		}
		for _, g := range faults.GrowthOf(records, growthFrom) {
			if g.Framing == "ndjson-bytewise" {
				e.ToOurs, e.Calls = g.ToOurs, g.Calls
			}
		}
		return e
	}, func(e Bytewise) finding {
		figure, worst := "", faults.Sized{}
		arrived := e.Compared != 0 && len(e.ToOurs) > 0
		if arrived {
			worst = slices.MaxFunc(e.ToOurs, func(a, b faults.Sized) int { return cmp.Compare(a.Figure.Median, b.Figure.Median) })
			figure = fmt.Sprintf("%s at %s, n = %d; %.0f calls for a KiB", estimate(worst.Figure), faults.Size(worst.Size), worst.Figure.N, e.Calls)
		}
		return decide(figure, !arrived, worst.Figure.Above(3))
	}),
	claim("002-crash-isolation", func(ctx context.Context, s *session) (e Crash) {
		p := script.Must(proc.Self("claims/crasher", nil))
		c := faults.Converse(ctx, p)
		defer c.Close()
		c.Say("ask\n")
		script.Check(c.Await(ctx, answerWithin, func(line string) bool { return line == "answer" }))
		answered := time.Now()
		if e.Told = c.Ended(answerWithin); e.Told {
			e.ToldNS, e.Exit = time.Since(answered).Nanoseconds(), p.Cmd.ProcessState.String()
		}
		e.WriteFail = faults.ErrorText(c.Say("ask\n"))
		e.Printer = decodeFault[faults.Printer](s.faults(ctx, "reader-gone"), "reader-gone/stdout/default").Signal
		return e
	}, func(e Crash) finding {
		figure := ""
		if e.Told {
			figure = "told after " + results.FormatDuration(float64(e.ToldNS))
		}
		return decide(figure, !e.Told, e.Printer)
	}),
	claimOnServers("002-malformed-skipped", whether(func(s Server) bool { return s.Malformed })),
	claim("002-efficient-json", func(context.Context, *session) Parsing {
		e := Parsing{Size: 64 << 10}
		msg := script.Must(json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "result": tools(e.Size / 700)}))
		e.JSONNS, e.MessageNS, e.Share = shareOf(msg, func() float64 {
			const times = 20
			began := time.Now()
			for range times {
				var m any
				script.Check(json.Unmarshal(msg, &m))
				script.Must(json.Marshal(m))
			}
			return float64(time.Since(began)) / times
		})
		return e
	}, func(e Parsing) finding {
		return decide(fmt.Sprintf("%s, n = %d", estimate(e.Share), e.Share.N), e.Share.Below(1), e.Share.Above(3))
	}),
	claim("002-stderr-separate", func(ctx context.Context, s *session) (e Logs) {
		all := s.faults(ctx, "stderr-undrained")
		e.Undrained = decodeFault[faults.Logging](all, "stderr-undrained/logs-4096")
		e.Drained = decodeFault[faults.Logging](all, "stderr-undrained/logs-65537-drained")
		return e
	}, func(e Logs) finding {
		figure := fmt.Sprintf("%d of %d requests, log unread", e.Undrained.Answered, e.Undrained.Asked)
		unread, read := e.Undrained.Answered == e.Undrained.Asked, e.Drained.Answered == e.Drained.Asked
		return decide(figure, unread && read, read)
	}),
}

// Bytewise is the evidence of 002-bytewise.
type Bytewise struct {
	Compared int64          `json:"compared"` // bytes that were compared one by one; the run fails at the first that is wrong
	ToOurs   []faults.Sized `json:"to_ours"`
	Calls    float64        `json:"calls"` // system calls for a KiB
}

// Parsing is the evidence of 002-efficient-json.
type Parsing struct {
	Size      int           `json:"size"` // bytes of a message
	JSONNS    stat.Estimate `json:"json_ns"`
	MessageNS stat.Estimate `json:"message_ns"` // of sending and receiving it
	Share     stat.Estimate `json:"share"`      // the former over the latter, round by round
}

// Crash is the evidence of 002-crash-isolation.
type Crash struct {
	Exit      string `json:"exit"`       // of the server
	Told      bool   `json:"told"`       // the client saw the end of the server's output
	ToldNS    int64  `json:"told_ns"`    // after the server's last answer
	WriteFail string `json:"write_fail"` // the client's next request
	Printer   bool   `json:"printer_killed"`
}

// Logs are the evidence of 002-stderr-separate.
type Logs struct {
	Undrained faults.Logging `json:"undrained"`
	Drained   faults.Logging `json:"drained"`
}

// headerClaims are what document 003 says.
var headerClaims = []Claim{
	claim("003-exact-sizes", func(context.Context, *session) Headed {
		e := Headed{Messages: len(awkward)}
		messages := stat.Map(awkward, func(a awkwardMessage) []byte { return []byte(a.text) })
		exchange(framers.ContentLength(), messages, func(r framers.Reader) {
			for i, want := range messages {
				got, err := r.ReadMessage()
				if err != nil || !bytes.Equal(got, want) {
					e.Altered = append(e.Altered, awkward[i].name)
				}
			}
		})
		return e
	}, func(e Headed) finding {
		return decide(fmt.Sprintf("%d of %d", e.Messages-len(e.Altered), e.Messages), len(e.Altered) == 0).naming(list(e.Altered))
	}),
	claimOnServers("003-mcp-content-length", func(e Interviews) finding {
		header := e.tallyOf(func(s Server) bool { return s.ContentLength })
		line := len(header.yes) + len(header.no)
		figure := fmt.Sprintf("header answered by %d, line by %d of %d servers", len(header.yes), line, len(e.Servers))
		return decide(figure, len(header.no) == 0 && len(header.yes) > 0,
			len(header.yes) == 0 && line == len(e.Servers) && line > 0).naming(list(header.yes))
	}),
}

// Headed is the evidence of 003-exact-sizes.
type Headed struct {
	Messages int      `json:"messages"`
	Altered  []string `json:"altered"` // those that did not arrive as they were sent
}

type awkwardMessage struct{ name, text string }

// awkward are messages that a line framing could not carry, or would cut.
var awkward = []awkwardMessage{
	{"newline", "{\n}"},
	{"blank line", "a\r\n\r\nb"},
	{"header inside", "Content-Length: 5\r\n\r\nhello"},
	{"multi-byte text", "é€😀"},
	{"zero bytes", "\x00\x00\x00"},
	{"last", "{}"},
}

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

// ours is the name of the server of this project, whose behaviour is no evidence of what servers do.
const ours = "pipebench serve"

func programs() []program {
	const slow = `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"slow","arguments":{}}}`
	all := []program{
		{ours, slow, func() *proc.Process { return script.Must(proc.Self("claims/serve", nil)) }},
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

// claimOnServers makes a claim on what servers do. It is judged by those of others alone, and not at
// all if none of them was there, or could be spoken to.
func claimOnServers(id string, rule func(Interviews) finding) Claim {
	c := claim(id, interviews, func(e Interviews) finding { return rule(e.others()) })
	judge := c.judge
	c.judge = func(evidence results.Evidence) (Judgement, error) {
		var e Interviews
		err := evidence.Decode(&e)
		if err != nil {
			return Judgement{}, err
		}
		others := e.others()
		asksOfHandshake := id == "004-mcp-newline" // so that no answer is an answer
		if len(others.Servers) == 0 || others.silent() && !asksOfHandshake {
			return Judgement{Verdict: NotTestable, Figure: "0 servers", Why: "no server of others " +
				"answered: put one such as mcp-server-everything on the PATH"}, nil
		}
		return judge(evidence)
	}
	return c
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
