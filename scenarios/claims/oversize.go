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
	"github.com/pipebench/pipebench/scenarios/mcpstdio"
	"github.com/pipebench/pipebench/scenarios/mcpstdio/client"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
	"github.com/pipebench/pipebench/syspipe/script"
)

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

// Compared options are the evidence of 001-closing-safer.
type Compared struct {
	Sent    int      `json:"sent"` // bytes of the oversized message
	Limit   int      `json:"limit"`
	Options []Option `json:"options"` // no limit, close, answer, negotiated
}

// The options of the document, in its order; the third answers and then closes.
const (
	optionNone = "no limit"
	optionShut = "close"
	optionSay  = "answer"
	optionAsk  = "negotiated"
)

var optionPolicies = map[string]client.Policy{
	optionNone: client.Unlimited, optionShut: client.CloseOnOversize, optionSay: client.ErrorOnOversize, optionAsk: client.Negotiate,
}

// serverLimit is what the server wants to send at most, where the client asks for its limit: the
// example of the document.
const serverLimit = 8 << 20

func gatherOptions(ctx context.Context, _ *session) Compared {
	e := Compared{Sent: oversized, Limit: frameLimit}
	for _, name := range []string{optionNone, optionShut, optionSay, optionAsk} {
		e.Options = append(e.Options, tryOption(ctx, name, e.Sent))
	}
	return e
}

// tryOption is the server of a client, a process of its own, that takes an oversized answer as its
// option has it.
func tryOption(ctx context.Context, name string, size int) (o Option) {
	w, clientIn, closeThere := faults.Open(syspipe.Anonymous)
	defer closeThere()
	clientOut, r, closeBack := faults.Open(syspipe.Anonymous)
	defer closeBack()
	p := script.Must(proc.Self("claims/client", name, clientIn, clientOut))
	defer p.Close()
	faults.UsePoller(w, r)
	script.Check(p.Start(ctx))
	left := make(chan oversizedServer, 1)
	go func() {
		s := oversizedServer{out: framers.NDJSON().NewWriter(w), size: size, limit: math.MaxInt, id: jsonrpc.Null}
		for in := framers.NDJSON().NewReader(r); ; {
			line, err := in.ReadMessage()
			if err != nil {
				left <- s
				return
			}
			s.take(line)
		}
	}()
	script.Check(p.Report(&o))
	s := <-left
	o.Option, o.ServerSees, o.ID = name, "nothing", string(s.id)
	if len(s.sees) > 0 {
		o.ServerSees = strings.Join(s.sees, "; ")
	}
	return o
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

func (s *oversizedServer) take(line []byte) {
	m, err := jsonrpc.Parse(line)
	switch {
	case err != nil || m.Kind() == jsonrpc.Notification:
	case m.Kind() == jsonrpc.Failure:
		s.id, s.sees = m.ID, append(s.sees, "an error response: "+string(line))
	case m.Method == "initialize":
		var params struct {
			Capabilities struct{ Experimental map[string]int }
		}
		capabilities := "{}"
		if json.Unmarshal(m.Params, &params) == nil && params.Capabilities.Experimental[mcpstdio.MaxFrameSize] > 0 {
			s.limit = min(serverLimit, params.Capabilities.Experimental[mcpstdio.MaxFrameSize])
			capabilities = fmt.Sprintf(`{"experimental":{%q:%d}}`, mcpstdio.MaxFrameSize, serverLimit)
		}
		s.reply(jsonrpc.AppendResult(nil, m.ID, fmt.Appendf(nil,
			`{"protocolVersion":%q,"capabilities":%s,"serverInfo":{"name":"large","version":"1"}}`, client.DefaultProtocol, capabilities)))
	case m.Method == "large" && s.size > s.limit:
		s.id, s.sees = m.ID, append(s.sees, fmt.Sprintf("the limit of %d bytes, before it sends", s.limit))
		s.reply(jsonrpc.AppendError(nil, m.ID, jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the answer is too large"}))
	case m.Method == "large":
		s.reply(jsonrpc.AppendResult(nil, m.ID, append(append([]byte{'"'}, bytes.Repeat([]byte("x"), s.size)...), '"')))
	default:
		s.reply(jsonrpc.AppendResult(nil, m.ID, []byte("{}")))
	}
}

func (s *oversizedServer) reply(msg []byte) {
	err := s.out.WriteMessage(msg)
	if broken := new(syspipe.BrokenPipeError); errors.As(err, &broken) {
		s.sees = append(s.sees, fmt.Sprintf("a broken pipe, after %d of %d bytes", broken.Accepted, len(msg)))
	} else if err != nil {
		s.sees = append(s.sees, err.Error())
	}
}

// pipesOf launches the server of a connection, which runs at the other ends of two pipes.
type pipesOf struct{ in, out io.ReadWriteCloser }

func (p pipesOf) Launch() (*client.Process, error) {
	done := make(chan struct{})
	return &client.Process{Stdin: p.out, Stdout: p.in, Done: done, ExitCode: func() int { return 0 }, Stop: func() bool {
		close(done)
		return false
	}}, nil
}

// receiveOversized is the client: it asks for something large, and then for something small.
func receiveOversized(w *proc.Work, name string) {
	faults.UsePoller(w.Ends...)
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	var o Option
	c := script.Must(client.Open(pipesOf{w.Ends[0], w.Ends[1]}, client.Options{
		Policy: optionPolicies[name], MaxMessage: frameLimit, Restarts: -1,
		OnViolation: func(v client.Violation) { o.Read = v.FrameSize },
	}))
	script.Check(c.Wait(ctx))
	before, began := faults.MemoryFromSystem(), time.Now()
	if _, err := c.Call(ctx, "large", nil); err != nil {
		o.DetectNS = time.Since(began).Nanoseconds()
	}
	_, err := c.Call(ctx, "ping", nil)
	o.Next, o.Held = err == nil, faults.MemoryFromSystem()-before
	c.Close()
	script.Check(w.Report(o))
}

func judgeOptions(e Compared) Judgement {
	options := map[string]Option{}
	for _, o := range e.Options {
		options[o.Option] = o
	}
	shut, say := options[optionShut], options[optionSay]
	figure := fmt.Sprintf("closing held %s and knew after %s, answering first %s and %s", faults.Size(shut.Held),
		results.FormatDuration(float64(shut.DetectNS)), faults.Size(say.Held), results.FormatDuration(float64(say.DetectNS)))
	return decide(figure,
		ruling{2*shut.Held < say.Held || 10*shut.DetectNS < say.DetectNS, Holds,
			"answering takes more memory, or longer to know, than closing"},
		ruling{4*say.Held <= 5*shut.Held && say.ID != "null", Refuted,
			"answering first knows as soon and holds no more, and tells the server which answer was too large; " +
				"one that is cut off sees a broken pipe and no reason, and one that knew the limit refuses before the first byte"},
		ruling{true, Depends, "answering holds about as much, but did not name the request"})
}
