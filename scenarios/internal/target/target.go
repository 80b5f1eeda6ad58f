// Package target talks to a stdio server: it finds out which protocol the server speaks, completes
// the handshake, makes requests of an exact size, and checks the answers. It is for pipebench's
// scenarios alone.
//
//	s, err := target.Open(ctx, target.Options{Command: []string{"my-server"}, Start: time.Minute})
//	if err != nil {
//		return err
//	}
//	defer s.Shutdown()
//	request := s.Protocol().Request(target.Tool, 64<<10)
//	out, err := s.Trip(ctx, request, 1) // out says how the server dealt with the request
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
	Env     []string // of the server; nil means our own environment
	Dir     string   // where the server runs; "" means where we run
	// New returns a process that is ready to be started. If New is nil, the process is Command,
	// with Env, in Dir.
	New    func() *proc.Process
	Behind bool // the process of New is the server's client, and itself starts the server

	Protocol string // one of Protocols(); "" means "auto"
	Framing  string // a framers spec; "" means the protocol's own framing
	Lenient  bool   // malformed lines of a header are skipped
	Request  string // what requests exercise, one of Requests(); "" means RequestAuto

	Tool      ToolCall // for MCP: the tool that takes a payload; zero means "echo"
	ReplyTool ToolCall // for MCP: the tool that makes a payload; zero means one of replyToolNames
	Language  string   // for LSP: the language of the documents

	Pipes    child.Options // we overwrite its Respond, Divert and Reading
	Start    time.Duration // time limit for each answer of the handshake
	Patience time.Duration // the shortest time limit for an answer
	Longest  time.Duration // the longest time limit, however large the message; 0: none

	Observe func(step string) // if set, is called with a text that says what we wait for
}

func (o Options) observe(step string) {
	if o.Observe != nil {
		o.Observe(step)
	}
}

// framing returns the framing that o.Framing names, or else the standard one. Standard lines also
// read answers in chunks (see child.LinesOrChunks).
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

// A Server is a running server. Until Ignore is called, Next returns answers that no [Receiver]
// takes.
type Server struct {
	*child.Conn
	o        Options
	client   int                      // the server gets it as its client's process ID
	protocol atomic.Pointer[Protocol] // nil until it is known
	receive  atomic.Pointer[Receiver]
	ignoring atomic.Bool
	inChunks atomic.Bool // the server gets lines from us, and has sent a message in chunks

	// Only the goroutine that makes requests uses served and Paces.
	served int64   // how many requests were answered well
	Paces  [2]Pace // how long answers take, by the Kind of their request

	Strays Strays
}

// A Receiver is called with each message that may be an answer. The reading goroutine calls it. The
// message is valid only during the call.
type Receiver func(child.Message)

// MostInflight is the largest number of requests under way at once.
const MostInflight = 1 << 16

// launch starts a server about which nothing is known yet. The server does not end when ctx ends.
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

// Protocol returns what the server speaks; nil if that is not known yet.
func (s *Server) Protocol() *Protocol { return s.protocol.Load() }

// InChunks reports whether the server has sent a message in chunks although it gets lines from us.
func (s *Server) InChunks() bool { return s.inChunks.Load() }

// OtherFraming reports whether the server speaks MCP in a framing that no MCP client reads. It is
// false if Options.Framing asked for a framing.
func (s *Server) OtherFraming() bool {
	p := s.Protocol()
	return s.o.Framing == "" && p.Speaks() == "mcp" && p.Framing.String() != "ndjson"
}

// inFrames reports whether an MCP server sent m in frames that no MCP client reads. It is false if
// Options.Framing asked for a framing.
func (s *Server) inFrames(m child.Message) bool {
	p := s.Protocol()
	return p != nil && p.Speaks() == "mcp" && (m.InChunks || s.OtherFraming())
}

// Check judges m, the answer to r, as [Request.Check] does. It also says whether m came in frames
// that no MCP client reads.
func (s *Server) Check(r *Request, m child.Message) Outcome {
	out := r.Check(m.Raw, m.Envelope)
	out.InFrames = s.inFrames(m)
	return out
}

// Receive makes f the [Receiver] of the server. From then on, f is called with each message that
// may be an answer, and Next no longer returns such messages. Receive(nil) removes the Receiver.
func (s *Server) Receive(f Receiver) {
	if f == nil {
		s.receive.Store(nil)
		return
	}
	s.receive.Store(&f)
}

// Ignore makes s count and drop answers that no Receiver takes. Next no longer returns them.
func (s *Server) Ignore() { s.ignoring.Store(true) }

// ourMethods are the methods of requests that we send. A server that sends a request with such a
// method sends back our own request.
var ourMethods = []string{
	unknownMethod, "server/discover", "initialize", "tools/list", "tools/call",
	"textDocument/documentSymbol",
}

// respond returns the answer to a request from the server. It returns nil if the request is one of
// ours that came back, or if it is not known that the server speaks JSON-RPC.
func (s *Server) respond(m child.Message) []byte {
	p := s.protocol.Load()
	if p == nil || !p.JSONRPC || slices.Contains(ourMethods, string(m.Envelope.Method)) {
		return nil
	}
	return p.respond(m.Raw, m.Envelope)
}

// divert gets each message first, and reports whether it took the message:
//
//   - It counts a message that cannot be an answer.
//   - It gives a message that may be an answer to the Receiver. Without a Receiver, it counts the
//     message if answers are ignored, and otherwise leaves it to Next.
//   - It leaves the server's own requests to respond.
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

// How long a server may take to leave when it is asked to. At the end of its input it may have to
// finish its work. At SIGTERM it should just tidy up.
const (
	LeaveAtEnd  = 2 * time.Second
	LeaveAtTerm = time.Second
)

// Shutdown ends the server's input and lets the server leave by itself. Then it kills all that is
// left in the server's process group, as Close does.
func (s *Server) Shutdown() {
	s.Out.Resume()
	s.CloseInput()
	s.Process.Stop(LeaveAtEnd, LeaveAtTerm)
	s.Close()
}
