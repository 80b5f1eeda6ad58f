package claims

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	mcpstdio "github.com/pipebench/pipebench/scenarios/mcp"
	"github.com/pipebench/pipebench/scenarios/mcp/client"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
	"github.com/pipebench/pipebench/syspipe/script"
)

// frameLimit is the limit of document 001, in bytes.
const frameLimit = 16 << 20

// limitClaims are what document 001 says of its limit.
var limitClaims = []Claim{
	claim("001-exact", func(context.Context, *session) Exact {
		e := Exact{Limit: frameLimit}
		messages := [][]byte{message(frameLimit), message(frameLimit + 1), message(100)}
		exchange(framers.NDJSON(), messages, func(r framers.Reader) {
			got, err := r.ReadMessage()
			e.AtLimit = err == nil && len(got) == frameLimit
			got, err = r.ReadMessage()
			e.Over = err == nil && len(got) > frameLimit
			e.Error = faults.ErrorText(err)
			_, err = r.ReadMessage()
			e.NextAfter = err == nil
		}, framers.WithMaxMessage(frameLimit))
		return e
	}, func(e Exact) finding {
		return decide(fmt.Sprintf("limit %d B", e.Limit), !e.AtLimit, e.Over, e.NextAfter)
	}),
	claim("001-check-free", gatherFrame, func(Frame) finding { return decide("one comparison") }),
	claim("001-prevents-allocation", func(ctx context.Context, _ *session) Prevent {
		e := Prevent{Sent: allocated, Limit: frameLimit}
		send := sending(framers.NDJSON(), message(int(e.Sent)))
		e.Late = receive(ctx, faults.ReceiverArgs{Limit: frameLimit, WholeFirst: true}, e.Sent, send)
		e.Early = receive(ctx, faults.ReceiverArgs{Framing: "ndjson", Limit: frameLimit}, e.Sent, send)
		return e
	}, func(e Prevent) finding {
		figure := fmt.Sprintf("%s held; %s where checked while reading", faults.Size(e.Late.Held), faults.Size(e.Early.Held))
		return decide(figure, e.Late.Held >= e.Sent, e.Late.Held > int64(e.Limit))
	}),
	claim("001-closing-safer", func(ctx context.Context, _ *session) Compared {
		e := Compared{Sent: oversized, Limit: frameLimit}
		for _, name := range []string{optionNone, optionShut, optionSay, optionAsk} {
			e.Options = append(e.Options, tryOption(ctx, name, e.Sent))
		}
		return e
	}, func(e Compared) finding {
		options := map[string]Option{}
		for _, o := range e.Options {
			options[o.Option] = o
		}
		shut, say := options[optionShut], options[optionSay]
		figure := fmt.Sprintf("closing held %s and knew after %s, answering first %s and %s", faults.Size(shut.Held),
			results.FormatDuration(float64(shut.DetectNS)), faults.Size(say.Held), results.FormatDuration(float64(say.DetectNS)))
		return decide(figure, 2*shut.Held < say.Held || 10*shut.DetectNS < say.DetectNS,
			4*say.Held <= 5*shut.Held && say.ID != "null")
	}),
	claim("001-10mb-text", gatherFits(maker{"prose", 10_000_000, prose}, maker{"all quotation marks", 10_000_000, quotes}), judgeFits),
	claim("001-5mb-image", gatherFits(maker{"base64", 5_000_000, base64Of}), judgeFits),
	claim("001-1000-tools", gatherFits(maker{"tools", 1000, tools}), judgeFits),
	claim("001-50mb-excluded", gatherFits(maker{"base64", 50_000_000, base64Of}), func(e Fits) finding {
		return decide(e.figure(), !slices.ContainsFunc(e.Messages, func(c Content) bool { return c.Passed }))
	}),
	claim("001-http2-1000", gatherFrame, func(e Frame) finding {
		ratio := float64(e.Limit) / float64(e.HTTP2)
		return decide(fmt.Sprintf("×%.5g", ratio))
	}),
	claim("001-grpc-4mb", gatherFrame, func(e Frame) finding {
		ratio := float64(e.Limit) / float64(e.GRPC)
		return decide(fmt.Sprintf("×%.3g", ratio))
	}),
	claimOnServers("001-rarely-1mb", func(e Interviews) finding {
		largest := Server{}
		for _, s := range e.Servers {
			if s.Largest > largest.Largest {
				largest = s
			}
		}
		figure := fmt.Sprintf("longest line of %d servers: %d B", len(e.Servers), largest.Largest)
		return decide(figure, largest.Largest > 1e6).naming(largest.Name)
	}),
}

// Exact is the evidence of 001-exact.
type Exact struct {
	Limit     int    `json:"limit"`
	AtLimit   bool   `json:"at_limit"` // a message of that size was delivered
	Over      bool   `json:"over"`     // one of a byte more was delivered
	Error     string `json:"error,omitempty"`
	NextAfter bool   `json:"next_after"` // a message after it was delivered
}

// Prevent is the evidence of 001-prevents-allocation.
type Prevent struct {
	Sent  int64 `json:"sent"`
	Limit int   `json:"limit"`
	Late  Kept  `json:"late"`  // checks a frame that it has whole
	Early Kept  `json:"early"` // checks while it reads
}

// A Kept is what a receiver held of messages.
type Kept struct {
	Size      int64  `json:"size"`       // bytes of the message
	Held      int64  `json:"held"`       // memory that the process got from the system for it, in bytes
	AfterHeap int64  `json:"after_heap"` // bytes on its heap more than before, when the message was delivered and others had come
	AtOnce    *int64 `json:"at_once"`    // the same when the message was delivered and no other had come
	Delivered int64  `json:"delivered"`  // bytes of the message
	Refused   bool   `json:"refused"`
}

// receive sends a message of size bytes, and what send has behind it, to a process of its own.
func receive(ctx context.Context, args faults.ReceiverArgs, size int64, send func(io.Writer) error) Kept {
	got := faults.Receive(ctx, args, send)
	return Kept{
		Size: size, Held: got.Held, AfterHeap: got.AfterHeap, AtOnce: &got.AtOnce,
		Delivered: got.Delivered, Refused: got.Error != "" || got.Delivered > int64(args.Limit),
	}
}

// Frame is the evidence of 001-http2-1000.
type Frame struct {
	Limit int `json:"limit"` // bytes
	HTTP2 int `json:"http2"` // bytes
	GRPC  int `json:"grpc,omitempty"`
}

func gatherFrame(context.Context, *session) Frame { return Frame{frameLimit, 1 << 14, 4 << 20} }

// A Content is a message of a kind that document 001 names.
type Content struct {
	Name   string `json:"name"`
	Raw    int    `json:"raw"`    // bytes of what it carries
	JSON   int    `json:"json"`   // bytes of the message
	Passed bool   `json:"passed"` // a reader with the limit delivered it
}

// Fits is the evidence of the claims on what fits.
type Fits struct {
	Limit    int       `json:"limit"`
	Messages []Content `json:"messages"`
}

// A maker makes what a message carries.
type maker struct {
	name string
	raw  int // bytes, or tools
	make func(n int) any
}

func prose(n int) any {
	return strings.Repeat("The quick brown fox jumps over the lazy dog, and says so. ", n/58+1)[:n]
}

func quotes(n int) any { return strings.Repeat(`"`, n) }

func base64Of(n int) any { return base64.StdEncoding.EncodeToString(make([]byte, n)) }

func tools(n int) any {
	tools := make([]map[string]any, n)
	for i := range tools {
		tools[i] = map[string]any{
			"name":        fmt.Sprintf("tool_%d", i),
			"description": strings.Repeat("Says what the tool does and when to use it. ", 10),
			"inputSchema": map[string]any{"type": "object", "properties": map[string]any{
				"query": map[string]any{"type": "string", "description": "What to look for"},
				"limit": map[string]any{"type": "integer", "description": "How many at most"},
			}, "required": []string{"query"}},
		}
	}
	return tools
}

func gatherFits(makers ...maker) func(context.Context, *session) Fits {
	return func(context.Context, *session) Fits {
		e := Fits{Limit: frameLimit}
		for _, m := range makers {
			msg := script.Must(json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "result": map[string]any{"content": m.make(m.raw)}}))
			c := Content{Name: m.name, Raw: m.raw, JSON: len(msg)}
			exchange(framers.NDJSON(), [][]byte{msg}, func(r framers.Reader) {
				got, err := r.ReadMessage()
				c.Passed = err == nil && bytes.Equal(got, msg)
			}, framers.WithMaxMessage(frameLimit))
			e.Messages = append(e.Messages, c)
		}
		return e
	}
}

func (e Fits) figure() string {
	return strings.Join(stat.Map(e.Messages, func(c Content) string {
		return fmt.Sprintf("%s: %.1f MiB", c.Name, float64(c.JSON)/(1<<20))
	}), ", ")
}

func judgeFits(e Fits) finding {
	var t tally
	for _, c := range e.Messages {
		t.add(c.Name, c.Passed)
	}
	return t.judge(e.figure())
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
	o.Option, o.ServerSees, o.ID = name, cmp.Or(strings.Join(s.sees, "; "), "nothing"), string(s.id)
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
