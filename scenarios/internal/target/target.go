// Package target knows what a stdio server speaks: it starts one, finds out its protocol, shakes
// hands, and makes requests of an exact size whose answers it checks. It is for pipebench's
// scenarios alone.
//
//	s, err := target.Open(ctx, target.Options{Command: []string{"my-server"}, Start: time.Minute})
//	if err != nil {
//		return err
//	}
//	defer s.Shutdown()
//	request := s.Protocol().Request(target.Tool, 64<<10)
//	out, err := s.Trip(ctx, request, 1) // out says how the server met it
package target

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// Options say what to start and how to speak to it.
type Options struct {
	Command []string
	Env     []string // of the server; nil is ours
	Dir     string   // where it runs; "" is where we run
	// New prepares a process for a start; nil stands for Command with Env in Dir.
	New    func() *proc.Process
	Behind bool // the process of New is the server's client, and starts the server itself

	Protocol string // one of Protocols; "" is "auto"
	Framing  string // a framers spec; "" is the protocol's own
	Lenient  bool   // malformed lines of a header are skipped
	Request  string // what requests exercise, one of Requests; "" is RequestAuto

	Tool      ToolCall // for MCP: takes a payload; zero is a tool of the usual name
	ReplyTool ToolCall // for MCP: makes a payload; zero is a tool of a usual name
	Language  string   // for LSP: that of the documents

	Pipes    child.Options // Respond, Divert and Reading are ours
	Start    time.Duration // for each answer of the handshake
	Patience time.Duration // the shortest deadline of an answer
	Longest  time.Duration // the longest one, however large the message

	Observe func(step string) // if set, gets a text that says what is waited for
}

func (o Options) observe(step string) {
	if o.Observe != nil {
		o.Observe(step)
	}
}

// framing returns the framing that was asked for, or else the standard one. If it is lines, long
// answers may come in chunks.
func (o Options) framing(standard framers.Framing) framers.Framing {
	f, err := framers.Parse(o.Framing)
	if o.Framing != "" && err == nil {
		return f
	}
	return child.LinesOrChunks(standard)
}

func (o Options) process() *proc.Process {
	if o.New != nil {
		return o.New()
	}
	p := proc.Command(o.Command[0], o.Command[1:]...)
	p.Cmd.Env = o.Env
	p.Cmd.Dir = o.Dir
	return p
}

// A StartError is returned when the command could not be started at all.
type StartError struct {
	Command []string
	Err     error
}

func (e *StartError) Error() string {
	return fmt.Sprintf("%v (is it installed, and spelt as on a command line?)", e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// A Server is a running server. Next returns answers that nobody waits for, until Ignore is called.
type Server struct {
	*child.Conn
	o        Options
	client   int                      // number of the process that the server is told is its client
	protocol atomic.Pointer[Protocol] // nil until it is known
	receive  atomic.Pointer[Receiver]
	ignoring atomic.Bool
	inChunks atomic.Bool // it is sent lines and has sent a message in chunks

	// These belong to the goroutine that makes requests.
	served int64
	Paces  [2]Pace // how long answers take, by the Kind of their request

	Strays Strays
}

// A Receiver is called with each message that may be an answer, by the goroutine that reads. The
// message is valid during the call.
type Receiver func(child.Message)

// MostInflight is the largest number of requests under way at once.
const MostInflight = 1 << 16

// launch starts a server that nothing is known about yet. It does not end with ctx.
func launch(ctx context.Context, o Options, f framers.Framing) (*Server, error) {
	p := o.process()
	s := &Server{o: o, client: os.Getpid()}
	pipes := o.Pipes
	pipes.Respond = s.respond
	pipes.Divert = s.divert
	pipes.Reading = []framers.Option{framers.WithExpiry(0)}
	if pipes.MaxMessage > 0 {
		inFlight := framers.WithMaxInFlight(MostInflight, pipes.MaxMessage)
		pipes.Reading = append(pipes.Reading, inFlight)
	}
	if o.Lenient {
		pipes.Reading = append(pipes.Reading, framers.WithLenient())
	}
	c, err := child.Start(context.WithoutCancel(ctx), p, f, pipes)
	if err != nil {
		return nil, &StartError{o.Command, err}
	}
	s.Conn = c
	if o.Behind {
		s.client = p.Cmd.Process.Pid
	}
	return s, nil
}

// Protocol returns what the server speaks.
func (s *Server) Protocol() *Protocol { return s.protocol.Load() }

// InChunks reports whether the server is sent lines and has sent a message in chunks.
func (s *Server) InChunks() bool { return s.inChunks.Load() }

// OtherFraming reports whether the server speaks MCP in a framing that no client of MCP reads, and
// that was not asked for.
func (s *Server) OtherFraming() bool {
	p := s.Protocol()
	return s.o.Framing == "" && p.Speaks() == "mcp" && p.Framing.String() != "ndjson"
}

// inFrames reports whether a message came in frames that no client of MCP reads, and that were not
// asked for.
func (s *Server) inFrames(m child.Message) bool {
	p := s.Protocol()
	return p != nil && p.Speaks() == "mcp" && (m.InChunks || s.OtherFraming())
}

// Check judges the answer to the request's message, as [Request.Check] does, and sees whether
// clients can read it.
func (s *Server) Check(r *Request, m child.Message) Outcome {
	out := r.Check(m.Raw, m.Envelope)
	out.InFrames = s.inFrames(m)
	return out
}

// Receive has f called with each message that may be an answer. Next no longer returns these, until
// Receive is called with nil.
func (s *Server) Receive(f Receiver) {
	if f == nil {
		s.receive.Store(nil)
		return
	}
	s.receive.Store(&f)
}

// Ignore lets the server count and drop answers that nobody waits for. Next no longer returns them.
func (s *Server) Ignore() { s.ignoring.Store(true) }

// ourMethods are those of a client's requests: a server that sends such a request echoes it.
var ourMethods = []string{
	unknownMethod, "server/discover", "initialize", "tools/list", "tools/call",
	"textDocument/documentSymbol",
}

// respond answers a request of the server's own, if the server is known to speak JSON-RPC.
func (s *Server) respond(m child.Message) []byte {
	p := s.protocol.Load()
	if p == nil || !p.JSONRPC || slices.Contains(ourMethods, string(m.Envelope.Method)) {
		return nil
	}
	return p.respond(m.Raw, m.Envelope)
}

// divert gets each message first, and reports whether it took the message. It counts a message that
// cannot be an answer, and gives one that may be an answer to the receiver. It leaves the server's
// own requests to respond, and everything else to Next.
func (s *Server) divert(m child.Message) bool {
	if m.InChunks {
		s.inChunks.Store(true)
	}
	if m.Err != nil {
		s.Strays.addLine(m.Raw)
		return true
	}
	p := s.protocol.Load()
	if p != nil && p.JSONRPC {
		switch m.Envelope.Kind() {
		case jsonrpc.Notification:
			s.Strays.addMessage(m.Raw)
			return true
		case jsonrpc.None:
			s.Strays.addLine(m.Raw)
			return true
		case jsonrpc.Request:
			if !slices.Contains(ourMethods, string(m.Envelope.Method)) {
				return false
			}
		}
	}
	receive := s.receive.Load()
	switch {
	case receive != nil:
		(*receive)(m)
	case s.ignoring.Load():
		s.Strays.Unasked.Add(1)
	default:
		return false
	}
	return true
}

// The patience with a server that is asked to leave: at the end of its input it may finish its
// work, at SIGTERM it should just tidy up.
const (
	LeaveAtEnd  = 2 * time.Second
	LeaveAtTerm = time.Second
)

// Shutdown lets the server leave by itself, then ends everything in its group, as Close does.
func (s *Server) Shutdown() {
	s.Out.Resume()
	s.CloseInput()
	s.Process.Stop(LeaveAtEnd, LeaveAtTerm)
	s.Close()
}
