package claims

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/faults"
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
	claim("002-malformed-skipped", interviews, whether(func(s Server) bool { return s.Malformed })),
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
	claim("003-mcp-content-length", interviews, func(e Interviews) finding {
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
