package trials

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/experiment"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/mcp"
	"github.com/pipebench/pipebench/scenarios/mcp/client"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// An oversizePolicy is a way for a client to take a message beyond its limit.
type oversizePolicy struct {
	name   string
	title  string
	policy client.Policy
}

var oversizePolicies = []oversizePolicy{
	{"unlimited", "a client without a limit is answered with 64 MiB", client.Unlimited},
	{"close", "a client that closes", client.CloseOnOversize},
	{"answer", "a client that answers with an error, and closes", client.ErrorOnOversize},
	{"negotiate", "a client whose server knows its limit", client.Negotiate},
}

// Oversize is what became of an oversized answer.
type Oversize struct {
	Held     int64  `json:"held"`      // memory that the client got from the system, in bytes
	Read     int64  `json:"read"`      // bytes it had read when it knew; 0: it never knew
	DetectNS int64  `json:"detect_ns"` // from the request to the client's knowing
	Next     bool   `json:"next"`      // the next request was answered
	Sees     string `json:"sees"`      // how the server learns of it
	ID       string `json:"id"`        // of the request, as the server is told it
}

const largeServerWork = "trials/large-server"

// oversizeSize is how large the answer is, and negotiatedSize the most that the server sends if the
// client names its limit, in bytes.
const (
	oversizeSize   = 64 << 20
	negotiatedSize = 8 << 20
)

// try asks a server for something large, and then for something small.
func (p oversizePolicy) try(t *experiment.Trial) {
	debug.SetGCPercent(100) // nothing here blocks a thread
	toServer, serverIn := t.Open(syspipe.Anonymous)
	serverOut, fromServer := t.Open(syspipe.Anonymous)
	t.Check(toServer.UsePoller())
	t.Check(fromServer.UsePoller())
	server := t.Start(largeServerWork, nil, serverIn, serverOut)
	if t.Err() != nil {
		return
	}
	serverIn.Close()
	serverOut.Close()
	var o Oversize
	c, err := client.Open(pipedServer{toServer, fromServer}, client.Options{
		Policy: p.policy, MaxMessage: FrameLimit, Restarts: -1,
		OnViolation: func(v client.Violation) { o.Read = v.FrameSize },
	})
	if !t.Check(err) || !t.Check(c.Wait(t.Ctx)) {
		return
	}
	before := memory().Sys
	began := time.Now()
	if _, err := c.Call(t.Ctx, "large", nil); err != nil {
		o.DetectNS = time.Since(began).Nanoseconds()
	}
	ctx, cancel := context.WithTimeout(t.Ctx, time.Minute)
	defer cancel()
	_, err = c.Call(ctx, "ping", nil)
	o.Next = err == nil
	o.Held = int64(memory().Sys - before)
	c.Close()
	toServer.Close()
	fromServer.Close()
	var saw largeServer
	t.Check(server.Report(&saw))
	t.Check(server.Wait())
	o.ID = saw.ID
	o.Sees = strings.Join(saw.Sees, "; ")
	t.Found(results.Finding{
		ID: "trial/oversize/" + p.name, Title: p.title, Verdict: results.Noted,
		Value: o.Held, Unit: "B", Found: results.FormatSize(o.Held) + " held",
		Evidence: results.MustEvidence(o),
	})
}

// A pipedServer is a server that runs at the other ends of two pipes.
type pipedServer struct{ in, out *syspipe.End }

// Launch gives a client the ends of the pipes in place of a process.
func (p pipedServer) Launch() (*client.Process, error) {
	done := make(chan struct{})
	return &client.Process{
		Stdin: p.in, Stdout: p.out, Done: done,
		ExitCode: func() int { return 0 },
		Stop: func() bool {
			close(done)
			return false
		},
	}, nil
}

// A largeServer answers the request "large" with a result beyond the client's limit, unless it
// knows that limit.
type largeServer struct {
	ID   string   // of the request, as the client, or this server, names it in an error
	Sees []string // what tells the server that its answer was too large

	out   framers.Writer
	knows bool // the client's limit
}

// serveLarge is the server. It reports when its client has left.
func serveLarge(w *proc.Work) error {
	for _, end := range w.Ends {
		if err := end.UsePoller(); err != nil {
			return err
		}
	}
	s := &largeServer{ID: "null", out: framers.NDJSON().NewWriter(w.Ends[1])}
	in := framers.NDJSON().NewReader(w.Ends[0])
	for {
		line, err := in.ReadMessage()
		if err == io.EOF {
			return w.Report(s)
		}
		if err != nil {
			return err
		}
		m, err := jsonrpc.Parse(line)
		if err == nil {
			s.take(m, line)
		}
	}
}

func (s *largeServer) take(m jsonrpc.Message, line []byte) {
	switch {
	case m.Kind() == jsonrpc.Notification:
	case m.Kind() == jsonrpc.Failure:
		s.ID = string(m.ID)
		s.Sees = append(s.Sees, "an error response: "+string(line))
	case m.Method == "initialize":
		s.initialize(m)
	case m.Method == "large" && s.knows:
		s.ID = string(m.ID)
		limit := fmt.Sprintf("the limit of %d bytes, before it sends", negotiatedSize)
		s.Sees = append(s.Sees, limit)
		s.reply(jsonrpc.AppendError(nil, m.ID, jsonrpc.Error{
			Code: jsonrpc.CodeInvalidRequest, Message: "the answer is too large",
		}))
	case m.Method == "large":
		result := bytes.Repeat([]byte("x"), oversizeSize+2)
		result[0] = '"'
		result[len(result)-1] = '"'
		s.reply(jsonrpc.AppendResult(nil, m.ID, result))
	default:
		s.reply(jsonrpc.AppendResult(nil, m.ID, []byte("{}")))
	}
}

// initialize answers the handshake. If the client names its limit, so does the server.
func (s *largeServer) initialize(m jsonrpc.Message) {
	var params struct {
		Capabilities struct{ Experimental map[string]int }
	}
	capabilities := "{}"
	if err := json.Unmarshal(m.Params, &params); err == nil {
		s.knows = params.Capabilities.Experimental[mcp.MaxFrameSize] > 0
	}
	if s.knows {
		capabilities = fmt.Sprintf(`{"experimental":{%q:%d}}`, mcp.MaxFrameSize, negotiatedSize)
	}
	s.reply(jsonrpc.AppendResult(nil, m.ID, fmt.Appendf(nil, `{"protocolVersion":%q,`+
		`"capabilities":%s,"serverInfo":{"name":"large","version":"1"}}`,
		client.DefaultProtocol, capabilities)))
}

func (s *largeServer) reply(msg []byte) {
	err := s.out.WriteMessage(msg)
	var broken *syspipe.BrokenPipeError
	switch {
	case errors.As(err, &broken):
		sees := fmt.Sprintf("a broken pipe, after %d of %d bytes", broken.Accepted, len(msg))
		s.Sees = append(s.Sees, sees)
	case err != nil:
		s.Sees = append(s.Sees, err.Error())
	}
}
