package claims

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/faults"
)

// frameLimit is the limit of document 001, in bytes.
const frameLimit = 16 << 20

// limitClaims are what document 001 says of its limit.
var limitClaims = []Claim{
	claim("001-exact", gatherExact, judgeExact),
	claim("001-check-free", gatherFrame, judgeCheckFree),
	claim("001-prevents-allocation", gatherPrevent, judgePrevent),
	claim("001-closing-safer", gatherCompared, judgeCompared),
	claim("001-10mb-text", gatherTexts, judgeFits),
	claim("001-5mb-image", gatherImage, judgeFits),
	claim("001-1000-tools", gatherTools, judgeFits),
	claim("001-50mb-excluded", gatherVideo, judgeExcluded),
	claim("001-http2-1000", gatherFrame, judgeHTTP2),
	claim("001-grpc-4mb", gatherFrame, judgeGRPC),
	claimOnServers("001-rarely-1mb", judgeLongest),
}

// Exact is the evidence of 001-exact.
type Exact struct {
	Limit     int    `json:"limit"`
	AtLimit   bool   `json:"at_limit"` // a message of that size was delivered
	Over      bool   `json:"over"`     // one of a byte more was delivered
	Error     string `json:"error,omitempty"`
	NextAfter bool   `json:"next_after"` // a message after it was delivered
}

func gatherExact(context.Context, *session) (Exact, error) {
	e := Exact{Limit: frameLimit}
	messages := messagesOf(frameLimit, frameLimit+1, 100)
	receive := func(r framers.Reader) error {
		got, err := r.ReadMessage()
		e.AtLimit = err == nil && len(got) == frameLimit
		got, err = r.ReadMessage()
		e.Over = err == nil && len(got) > frameLimit
		e.Error = faults.ErrorText(err)
		_, err = r.ReadMessage()
		e.NextAfter = err == nil
		return nil
	}
	err := exchange(framers.NDJSON(), messages, receive, framers.WithMaxMessage(frameLimit))
	return e, err
}

func judgeExact(e Exact) finding {
	f := finding{figure: fmt.Sprintf("limit %d B", e.Limit)}
	switch {
	case !e.AtLimit:
		f.outcome = outcome{Refuted, "limit refused"}
	case e.Over:
		f.outcome = outcome{Refuted, "more passed"}
	case e.NextAfter:
		f.outcome = outcome{Refuted, "read on"}
	default:
		f.verdict = Holds
	}
	return f
}

// Prevent is the evidence of 001-prevents-allocation.
type Prevent struct {
	Sent  int64 `json:"sent"`
	Limit int   `json:"limit"`
	Late  Kept  `json:"late"`  // checks a frame that it has whole
	Early Kept  `json:"early"` // checks while it reads
}

func gatherPrevent(ctx context.Context, _ *session) (Prevent, error) {
	e := Prevent{Sent: allocated, Limit: frameLimit}
	send := sending(framers.NDJSON(), message(int(e.Sent)))
	late := faults.ReceiverArgs{Limit: frameLimit, WholeFirst: true}
	early := faults.ReceiverArgs{Framing: "ndjson", Limit: frameLimit}
	var err error
	e.Late, err = receive(ctx, late, e.Sent, send)
	if err != nil {
		return e, err
	}
	e.Early, err = receive(ctx, early, e.Sent, send)
	return e, err
}

func judgePrevent(e Prevent) finding {
	f := finding{figure: fmt.Sprintf("%s held; %s where checked while reading",
		faults.Size(e.Late.Held), faults.Size(e.Early.Held))}
	switch {
	case e.Late.Held >= e.Sent:
		f.verdict = Refuted
	case e.Late.Held > int64(e.Limit):
		f.verdict = Depends
	default:
		f.verdict = Holds
	}
	return f
}

// Frame is the evidence of the claims that compare the limit with constants.
type Frame struct {
	Limit int `json:"limit"` // bytes
	HTTP2 int `json:"http2"` // bytes
	GRPC  int `json:"grpc,omitempty"`
}

func gatherFrame(context.Context, *session) (Frame, error) {
	return Frame{Limit: frameLimit, HTTP2: 1 << 14, GRPC: 4 << 20}, nil
}

func judgeCheckFree(Frame) finding {
	return finding{outcome: outcome{verdict: Noted}, figure: "one comparison"}
}

func judgeHTTP2(e Frame) finding {
	ratio := float64(e.Limit) / float64(e.HTTP2)
	return finding{outcome: outcome{verdict: Noted}, figure: fmt.Sprintf("×%.5g", ratio)}
}

func judgeGRPC(e Frame) finding {
	ratio := float64(e.Limit) / float64(e.GRPC)
	return finding{outcome: outcome{verdict: Noted}, figure: fmt.Sprintf("×%.3g", ratio)}
}

// Fits is the evidence of the claims on what fits.
type Fits struct {
	Limit    int       `json:"limit"`
	Messages []Content `json:"messages"`
}

// A Content is a message of a kind that document 001 names.
type Content struct {
	Name   string `json:"name"`
	Raw    int    `json:"raw"`    // bytes of what it carries, or tools
	JSON   int    `json:"json"`   // bytes of the message
	Passed bool   `json:"passed"` // a reader with the limit delivered it
}

func gatherTexts(context.Context, *session) (Fits, error) {
	const n = 10_000_000
	sentence := "The quick brown fox jumps over the lazy dog, and says so. "
	prose := strings.Repeat(sentence, n/len(sentence)+1)[:n]
	e := Fits{Limit: frameLimit}
	if err := e.send("prose", n, prose); err != nil {
		return e, err
	}
	err := e.send("all quotation marks", n, strings.Repeat(`"`, n))
	return e, err
}

func gatherImage(context.Context, *session) (Fits, error) {
	const n = 5_000_000
	e := Fits{Limit: frameLimit}
	err := e.send("base64", n, base64Of(n))
	return e, err
}

func gatherVideo(context.Context, *session) (Fits, error) {
	const n = 50_000_000
	e := Fits{Limit: frameLimit}
	err := e.send("base64", n, base64Of(n))
	return e, err
}

func gatherTools(context.Context, *session) (Fits, error) {
	const n = 1000
	e := Fits{Limit: frameLimit}
	err := e.send("tools", n, tools(n))
	return e, err
}

// send sends a message with that content to a reader with the limit.
func (e *Fits) send(name string, raw int, content any) error {
	result := map[string]any{"content": content}
	msg, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "result": result})
	if err != nil {
		return err
	}
	c := Content{Name: name, Raw: raw, JSON: len(msg)}
	receive := func(r framers.Reader) error {
		got, err := r.ReadMessage()
		c.Passed = err == nil && bytes.Equal(got, msg)
		return nil
	}
	limit := framers.WithMaxMessage(frameLimit)
	if err := exchange(framers.NDJSON(), [][]byte{msg}, receive, limit); err != nil {
		return err
	}
	e.Messages = append(e.Messages, c)
	return nil
}

func base64Of(n int) string { return base64.StdEncoding.EncodeToString(make([]byte, n)) }

// tools is a list of n tools with descriptions.
func tools(n int) []map[string]any {
	schema := map[string]any{
		"type": "object",
		"properties": map[string]any{
			"query": map[string]any{"type": "string", "description": "What to look for"},
			"limit": map[string]any{"type": "integer", "description": "How many at most"},
		},
		"required": []string{"query"},
	}
	description := strings.Repeat("Says what the tool does and when to use it. ", 10)
	var list []map[string]any
	for i := range n {
		list = append(list, map[string]any{
			"name":        fmt.Sprintf("tool_%d", i),
			"description": description,
			"inputSchema": schema,
		})
	}
	return list
}

func (e Fits) figure() string {
	var each []string
	for _, c := range e.Messages {
		each = append(each, fmt.Sprintf("%s: %.1f MiB", c.Name, float64(c.JSON)/(1<<20)))
	}
	return strings.Join(each, ", ")
}

func judgeFits(e Fits) finding {
	var t tally
	for _, c := range e.Messages {
		t.add(c.Name, c.Passed)
	}
	return t.judge(e.figure())
}

func judgeExcluded(e Fits) finding {
	passed := false
	for _, c := range e.Messages {
		passed = passed || c.Passed
	}
	return finding{outcome: holdsIf(!passed), figure: e.figure()}
}

func judgeLongest(e Interviews) finding {
	var longest Server
	for _, s := range e.Servers {
		if s.Largest > longest.Largest {
			longest = s
		}
	}
	f := finding{
		figure: fmt.Sprintf("longest line of %d servers: %d B", len(e.Servers), longest.Largest),
		names:  longest.Name,
	}
	if longest.Largest > 1_000_000 {
		f.verdict = Refuted
	} else {
		f.verdict = NotTestable
	}
	return f
}
