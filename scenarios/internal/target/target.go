// Package target talks to a stdio server: it recognizes the server's protocol, completes the
// handshake, makes requests of an exact size, and checks the answers.
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
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// Options say what to start and how to speak to it.
type Options struct {
	Command []string
	Env     []string // of the server; nil means our own environment
	Dir     string   // where the server runs; "" means where we run
	// New, if set, returns a process that is not started yet. Command, Env and Dir are not used
	// then.
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

// framing returns the framing that o.Framing names, or else the standard one.
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
type StartError struct{ Err error }

func (e *StartError) Error() string {
	return fmt.Sprintf("%v (is it installed, and spelt as on a command line?)", e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// A Server is a running server. Its answers go to the [Receiver], if there is one, and otherwise to
// [child.Conn.Next].
type Server struct {
	*child.Conn
	o        Options
	client   int                      // the process ID that the server gets as its client's
	protocol atomic.Pointer[Protocol] // nil until it is known
	receive  atomic.Pointer[Receiver]
	ignoring atomic.Bool
	inChunks atomic.Bool // the server gets lines from us, and has sent a message in chunks

	// Only the goroutine that makes requests uses these two fields.
	served [2]int64 // how many requests were answered well, by their Kind
	Paces  [2]Pace  // how long answers take, by the Kind of their request

	Strays Strays
	Asked  sync.Map // the methods of the server's requests that were answered, as keys

	// question is the server's last message in this exchange if it is such a request, or else nil.
	question atomic.Pointer[string]
}

// CountServed counts n requests of a kind that were answered well, but not by [Server.Trip].
func (s *Server) CountServed(kind Kind, n int64) { s.served[kind] += n }

// A Receiver gets each message that may be an answer. The message is valid only during the call.
type Receiver func(child.Message)

// MostInflight is the largest number of requests under way at once.
const MostInflight = 1 << 16

// launch starts a server. The server runs on when ctx ends.
func launch(ctx context.Context, o Options, f framers.Framing) (*Server, error) {
	p := o.process()
	s := &Server{o: o, client: os.Getpid()}
	s.Strays.mixing = make(chan struct{}, 1)
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
		return nil, &StartError{err}
	}
	s.Conn = c
	if o.Behind {
		s.client = p.Cmd.Process.Pid
	}
	return s, nil
}

// Protocol returns what the server speaks. It returns nil if that is not known yet.
func (s *Server) Protocol() *Protocol { return s.protocol.Load() }

// InChunks reports whether the server has sent a message in chunks although it gets lines from us.
func (s *Server) InChunks() bool { return s.inChunks.Load() }

// OtherFraming reports whether the server speaks MCP in a form other than lines. No MCP client
// reads any other form. The result is false if Options.Framing is set.
func (s *Server) OtherFraming() bool {
	p := s.Protocol()
	return s.o.Framing == "" && p.Speaks() == "mcp" && p.Framing.String() != "ndjson"
}

// inFrames reports whether an MCP server sent m in a form other than a line. No MCP client reads
// any other form.
func (s *Server) inFrames(m child.Message) bool {
	p := s.Protocol()
	return p != nil && p.Speaks() == "mcp" && (m.InChunks || s.OtherFraming())
}

// Check judges m, the answer to r, including the framing in which it came.
func (s *Server) Check(r *Request, m child.Message) Outcome {
	out := r.Check(m.Raw, m.Envelope)
	out.InFrames = s.inFrames(m)
	more := s.behind(m)
	switch {
	case more == "":
	case s.countsBytes():
		const says = "an answer came that announces %s and has %d: its Content-Length is wrong"
		why := fmt.Sprintf(says, stat.FormatBytes(int64(len(m.Raw))), m.Envelope.End)
		return Outcome{Verdict: WrongLength, Why: why}
	default:
		why := "more stands on the line behind the answer: " + view.Truncate(more, strayText)
		return Outcome{Verdict: Mixed, Why: why}
	}
	return out
}

// behind returns what follows a JSON-RPC message in the same line or body.
func (s *Server) behind(m child.Message) string {
	p := s.Protocol()
	if p == nil || !p.JSONRPC || m.Envelope.End == 0 {
		return ""
	}
	return string(bytes.TrimSpace(m.Raw[m.Envelope.End:]))
}

// countsBytes reports whether the server speaks JSON-RPC with Content-Length headers.
func (s *Server) countsBytes() bool {
	p := s.Protocol()
	return p != nil && p.JSONRPC && p.Framing.String() == framers.ContentLength().String()
}

// WrongLength says how the next message, or the first that came since the last call, differs from
// its Content-Length. It returns "" if no difference is known.
func (s *Server) WrongLength() string {
	came := s.Strays.takeArrivals()
	if !s.countsBytes() {
		return ""
	}
	return lengthText(came, s.Pending())
}

// lengthText says how a message differs from its Content-Length: one that goes on, or the next,
// which is not whole. It returns "" if no difference is known.
func lengthText(came arrivals, next framers.Pending) string {
	switch {
	case came.goesOn || came.cut > 0 && next.Length < 0:
		const says = "a message came that announces %s and goes on behind them"
		return fmt.Sprintf(says, stat.FormatBytes(int64(came.cut)))
	case next.Length > 0:
		const says = "a message came that announces %s and has %d: its Content-Length is wrong, " +
			"or the rest was not written"
		return fmt.Sprintf(says, stat.FormatBytes(next.Length), next.Came)
	}
	return ""
}

// Receive makes f the receiver of each message that may be an answer. If f is nil,
// [child.Conn.Next] gets these messages.
func (s *Server) Receive(f Receiver) {
	if f == nil {
		s.receive.Store(nil)
		return
	}
	s.receive.Store(&f)
}

// Ignore makes s count and drop answers that no Receiver takes.
func (s *Server) Ignore() { s.ignoring.Store(true) }

// ourMethods are the methods of our own requests. A server that sends such a request only repeats
// what it got.
var ourMethods = []string{
	unknownMethod, "server/discover", "initialize", "tools/list", "tools/call",
	"textDocument/documentSymbol",
}

// respond returns the answer to a request from the server, or nil if the request is our own, sent
// back.
func (s *Server) respond(m child.Message) []byte {
	p := s.protocol.Load()
	if p == nil || !p.JSONRPC || slices.Contains(ourMethods, string(m.Envelope.Method)) {
		return nil
	}
	s.Asked.Store(string(m.Envelope.Method), true)
	question := fmt.Sprintf("%s (id %s)", m.Envelope.Method, m.Envelope.ID)
	s.question.Store(&question)
	return p.respond(m.Raw, m.Envelope)
}

// divert counts what cannot be an answer, and passes possible answers to the Receiver. It reports
// whether it took the message.
func (s *Server) divert(m child.Message) bool {
	s.question.Store(nil)
	if m.InChunks {
		s.inChunks.Store(true)
	}
	if m.Err != nil {
		s.Strays.addText(m.Raw)
		return true
	}
	p := s.protocol.Load()
	if p != nil && p.JSONRPC {
		switch m.Envelope.Kind() {
		case jsonrpc.Notification:
			s.Strays.addNotification(m.Envelope.Method)
			if !s.countsBytes() && s.behind(m) != "" { // perhaps the answer
				s.Strays.addLine(m.Raw)
			}
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
		s.Strays.AddUnasked(m.Envelope.ID)
	default:
		return false
	}
	return true
}

// How long a server may take to exit at the end of its input, and at SIGTERM.
const (
	LeaveAtEnd  = 2 * time.Second
	LeaveAtTerm = time.Second
)

// Shutdown ends the server's input, gives the server time to exit, and kills what is left of its
// process group.
func (s *Server) Shutdown() {
	s.Out.Resume()
	s.CloseInput()
	s.Process.Stop(LeaveAtEnd, LeaveAtTerm)
	s.Close()
}
