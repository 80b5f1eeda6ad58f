package claims

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	mcpstdio "github.com/pipebench/pipebench/scenarios/mcp"
	"github.com/pipebench/pipebench/scenarios/mcp/client"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// Compared options are the evidence of 001-closing-safer.
type Compared struct {
	Sent    int      `json:"sent"` // bytes of the oversized message
	Limit   int      `json:"limit"`
	Options []Option `json:"options"` // no limit, close, answer, negotiated
}

// An Option is one way for a client to take an oversized message.
type Option struct {
	Option     string `json:"option"`
	Held       int64  `json:"held"`        // memory the client got from the system, in bytes
	Read       int64  `json:"read"`        // bytes it had read when it knew; 0: it never knew
	ServerSees string `json:"server_sees"` // how the server learns of it
	ID         string `json:"id"`          // of the request, as the server is told it
	Next       bool   `json:"next"`        // the next request was answered
	DetectNS   int64  `json:"detect_ns"`   // from the request to the client's knowing
}

// The options of the document, in its order; the third answers and then closes.
const (
	optionNone = "no limit"
	optionShut = "close"
	optionSay  = "answer"
	optionAsk  = "negotiated"
)

var optionPolicies = map[string]client.Policy{
	optionNone: client.Unlimited,
	optionShut: client.CloseOnOversize,
	optionSay:  client.ErrorOnOversize,
	optionAsk:  client.Negotiate,
}

func gatherCompared(ctx context.Context, _ *session) (Compared, error) {
	e := Compared{Sent: oversized, Limit: frameLimit}
	for _, name := range []string{optionNone, optionShut, optionSay, optionAsk} {
		o, err := tryOption(ctx, name, e.Sent)
		if err != nil {
			return e, err
		}
		e.Options = append(e.Options, o)
	}
	return e, nil
}

func judgeCompared(e Compared) finding {
	var shut, say Option
	for _, o := range e.Options {
		switch o.Option {
		case optionShut:
			shut = o
		case optionSay:
			say = o
		}
	}
	f := finding{
		figure: fmt.Sprintf("closing held %s and knew after %s, answering first %s and %s",
			faults.Size(shut.Held), results.FormatDuration(float64(shut.DetectNS)),
			faults.Size(say.Held), results.FormatDuration(float64(say.DetectNS))),
	}
	switch {
	case 2*shut.Held < say.Held || 10*shut.DetectNS < say.DetectNS:
		f.verdict = Holds
	case 4*say.Held <= 5*shut.Held && say.ID != "null":
		f.verdict = Refuted
	default:
		f.verdict = Depends
	}
	return f
}

// serverLimit is the most that the server sends if the client negotiates a limit, in bytes. It is
// the example of the document.
const serverLimit = 8 << 20

// tryOption starts a client with that option in a process of its own, and serves it an answer of
// size bytes.
func tryOption(ctx context.Context, name string, size int) (Option, error) {
	w, clientIn, err := faults.OpenPipe(syspipe.Anonymous)
	if err != nil {
		return Option{}, err
	}
	defer clientIn.Close()
	defer w.Close()
	clientOut, r, err := faults.OpenPipe(syspipe.Anonymous)
	if err != nil {
		return Option{}, err
	}
	defer r.Close()
	defer clientOut.Close()
	p, err := proc.Self("claims/client", name, clientIn, clientOut)
	if err != nil {
		return Option{}, err
	}
	defer p.Close()
	if err := faults.PollEnds(w, r); err != nil {
		return Option{}, err
	}
	if err := p.Start(ctx); err != nil {
		return Option{}, err
	}
	proc.CloseAll([]*syspipe.End{clientIn, clientOut})
	s := &oversizedServer{
		out: framers.NDJSON().NewWriter(w), size: size, limit: math.MaxInt, id: jsonrpc.Null,
	}
	left := make(chan struct{})
	go func() {
		defer close(left)
		s.serve(r)
	}()
	var o Option
	if err := p.Report(&o); err != nil {
		return Option{}, err
	}
	<-left
	o.Option = name
	o.ID = string(s.id)
	o.ServerSees = "nothing"
	if len(s.sees) > 0 {
		o.ServerSees = strings.Join(s.sees, "; ")
	}
	return o, nil
}

// An oversizedServer answers the request "large" with a result beyond the client's limit, unless it
// knows that limit.
type oversizedServer struct {
	out   framers.Writer
	size  int        // bytes of the result
	limit int        // of the connection, as far as it is known
	id    jsonrpc.ID // of the request, as the client, or this server, names it in an error
	sees  []string   // what tells the server that its answer was too large
}

// serve answers until the client has left.
func (s *oversizedServer) serve(r io.Reader) {
	in := framers.NDJSON().NewReader(r)
	for {
		line, err := in.ReadMessage()
		if err != nil {
			return
		}
		s.take(line)
	}
}

func (s *oversizedServer) take(line []byte) {
	m, err := jsonrpc.Parse(line)
	if err != nil {
		return
	}
	switch {
	case m.Kind() == jsonrpc.Notification:
	case m.Kind() == jsonrpc.Failure:
		s.id = m.ID
		s.sees = append(s.sees, "an error response: "+string(line))
	case m.Method == "initialize":
		s.initialize(m)
	case m.Method == "large":
		s.answerLarge(m)
	default:
		s.reply(jsonrpc.AppendResult(nil, m.ID, []byte("{}")))
	}
}

// initialize answers the handshake. If the client names its limit, so does the server.
func (s *oversizedServer) initialize(m jsonrpc.Message) {
	var params struct {
		Capabilities struct{ Experimental map[string]int }
	}
	asked := 0
	if err := json.Unmarshal(m.Params, &params); err == nil {
		asked = params.Capabilities.Experimental[mcpstdio.MaxFrameSize]
	}
	capabilities := "{}"
	if asked > 0 {
		s.limit = min(serverLimit, asked)
		capabilities = fmt.Sprintf(`{"experimental":{%q:%d}}`, mcpstdio.MaxFrameSize, serverLimit)
	}
	result := fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":%s,`+
		`"serverInfo":{"name":"large","version":"1"}}`, client.DefaultProtocol, capabilities)
	s.reply(jsonrpc.AppendResult(nil, m.ID, result))
}

// answerLarge sends the large result, or an error if it is known to be too large.
func (s *oversizedServer) answerLarge(m jsonrpc.Message) {
	if s.size > s.limit {
		s.id = m.ID
		s.sees = append(s.sees, fmt.Sprintf("the limit of %d bytes, before it sends", s.limit))
		s.reply(jsonrpc.AppendError(nil, m.ID, jsonrpc.Error{
			Code: jsonrpc.CodeInvalidRequest, Message: "the answer is too large",
		}))
		return
	}
	result := bytes.Repeat([]byte("x"), s.size+2)
	result[0] = '"'
	result[len(result)-1] = '"'
	s.reply(jsonrpc.AppendResult(nil, m.ID, result))
}

func (s *oversizedServer) reply(msg []byte) {
	err := s.out.WriteMessage(msg)
	if err == nil {
		return
	}
	sees := err.Error()
	var broken *syspipe.BrokenPipeError
	if errors.As(err, &broken) {
		sees = fmt.Sprintf("a broken pipe, after %d of %d bytes", broken.Accepted, len(msg))
	}
	s.sees = append(s.sees, sees)
}

// A pipedServer is a server that runs at the other ends of two pipes.
type pipedServer struct{ in, out io.ReadWriteCloser }

// Launch gives a client the ends of the pipes in place of a process.
func (p pipedServer) Launch() (*client.Process, error) {
	done := make(chan struct{})
	return &client.Process{
		Stdin: p.out, Stdout: p.in, Done: done,
		ExitCode: func() int { return 0 },
		Stop: func() bool {
			close(done)
			return false
		},
	}, nil
}

// receiveOversized is the client: it asks for something large, and then for something small.
func receiveOversized(w *proc.Work, option string) error {
	if err := faults.PollEnds(w.Ends...); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	var o Option
	c, err := client.Open(pipedServer{w.Ends[0], w.Ends[1]}, client.Options{
		Policy: optionPolicies[option], MaxMessage: frameLimit, Restarts: -1,
		OnViolation: func(v client.Violation) { o.Read = v.FrameSize },
	})
	if err != nil {
		return err
	}
	if err := c.Wait(ctx); err != nil {
		return err
	}
	before := faults.MemoryFromSystem()
	began := time.Now()
	if _, err := c.Call(ctx, "large", nil); err != nil {
		o.DetectNS = time.Since(began).Nanoseconds()
	}
	_, err = c.Call(ctx, "ping", nil)
	o.Next = err == nil
	o.Held = faults.MemoryFromSystem() - before
	c.Close()
	return w.Report(o)
}
