package claims

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	"github.com/pipebench/pipebench/syspipe/proc"
	"github.com/pipebench/pipebench/syspipe/script"
)

// lineClaims are what document 004 says.
var lineClaims = []Claim{
	claimOnServers("004-mcp-newline", func(e Interviews) finding {
		var t tally
		for _, s := range e.Servers {
			t.add(s.Name, s.Newline)
		}
		return t.judge(t.figure() + " servers")
	}),
	claim("004-4096-robust", gatherPieces, func(e Pieces) finding {
		figure := fmt.Sprintf("%d of %d", e.Intact, e.Messages)
		intact, p := e.Intact == e.Messages, cmp.Or(e.Printed, &Printed{Intact: e.Messages, LastLine: true})
		mended := intact && (!p.LastLine || p.Intact < e.Messages)
		if mended {
			figure += fmt.Sprintf(", as printed %d", p.Intact)
		}
		return decide(figure, !intact, mended && p.BadText, mended)
	}),
	claim("004-4096-cheap", func(ctx context.Context, s *session) faults.ReaderGrowth {
		all := faults.GrowthOf(s.readersGrowth(ctx), growthFrom)
		i := slices.IndexFunc(all, func(g *faults.ReaderGrowth) bool { return g.Framing == "ndjson-rescan" })
		if i < 0 {
			script.Check(errors.New("no figures of the reader that searches again"))
		}
		return *all[i]
	}, func(e faults.ReaderGrowth) finding {
		figure := e.Slope.String()
		if n := len(e.ToOurs); n > 0 {
			last := e.ToOurs[n-1]
			figure += fmt.Sprintf("; %s at %s, n = %d", estimate(last.Figure), faults.Size(last.Size), last.Figure.N)
		}
		const steep = 1.3 // a linear reader that leaves the caches comes near 1.15
		unsure := true
		if in := e.Slope.Interval; in != nil {
			perhapsLinear := e.Slope.Slope > steep && in.Lo <= 1
			perhapsSteep := e.Slope.Slope <= steep && in.Hi > steep
			unsure = perhapsLinear || perhapsSteep
		}
		return decide(figure, e.Slope.Slope <= steep).unsureIf(unsure)
	}),
	claim("004-10mb-limit", func(ctx context.Context, _ *session) faults.UnboundedLine {
		return *faults.SendUnbounded(ctx, "ndjson-rescan", framers.Close, unendingBytes)
	}, func(e faults.UnboundedLine) finding {
		figure := fmt.Sprintf("%s held, %s of %s read", faults.Size(e.Held), faults.Size(e.Read), faults.Size(e.Sent))
		return decide(figure, !e.Detected, e.Held > 3*int64(e.Limit))
	}),
	claim("004-skip-hangs", func(ctx context.Context, _ *session) (e Skip) {
		e.Limit, e.WaitedNS = 64<<10, skipWait.Nanoseconds()
		e.Skipped = askOversized(ctx, answererArgs{e.Limit, false})
		e.Answered = askOversized(ctx, answererArgs{e.Limit, true})
		return e
	}, func(e Skip) finding {
		figure := fmt.Sprintf("answered: %s; by a server that does not skip: %s", list(e.Skipped), list(e.Answered))
		return decide(figure, slices.Contains(e.Skipped, "1"), slices.Contains(e.Skipped, "2"))
	}),
	claim("004-id-in-1k", func(context.Context, *session) Places {
		var t tally
		params := `"params":{"text":"` + strings.Repeat("x", 64<<10) + `"}`
		for _, place := range []struct{ name, members string }{
			{"first", `"id":7,"jsonrpc":"2.0","method":"m",` + params},
			{"before params", `"jsonrpc":"2.0","id":7,"method":"m",` + params},
			{"last", `"jsonrpc":"2.0","method":"m",` + params + `,"id":7`},
		} {
			head := "{" + place.members + "}"
			t.add(place.name, idIn([]byte(head[:1<<10])) == "7")
		}
		return Places{t.yes, t.no}
	}, func(e Places) finding {
		t := tally{e.Found, e.Lost}
		return t.judge(t.figure() + " places")
	}),
	claimOnServers("004-eof-shutdown", func(e Interviews) finding {
		flushed := func(s Server) bool { return s.Replied && s.ReplyNS <= flushLimit.Nanoseconds() }
		gone := func(s Server) bool { return s.Exited && s.ExitNS <= goneLimit.Nanoseconds() }
		both := e.tallyOf(func(s Server) bool { return flushed(s) && gone(s) })
		var each []string
		for _, s := range e.Servers {
			if !s.Newline {
				continue
			}
			reply, end := "dropped the response", "still there"
			if s.Replied {
				reply = "answered"
			}
			if s.Exited {
				end = "gone after " + results.FormatDuration(float64(s.ExitNS))
			}
			each = append(each, fmt.Sprintf("%s %s, %s", s.Name, reply, end))
		}
		return both.judge(both.figure() + " servers").naming(strings.Join(each, "; "))
	}),
	claimOnServers("004-unknown-id", func(e Interviews) finding {
		seen := map[string]int{} // servers, by the id
		var each []string
		for _, s := range e.Servers {
			seen[s.MalformedID]++
			each = append(each, s.Name+": "+s.MalformedID)
		}
		null, empty := seen["null"], seen[`""`]
		figure := fmt.Sprintf("null from %d, \"\" from %d of %d servers", null, empty, len(e.Servers))
		return decide(figure, null > 0 && empty > 0, null > 0).naming(strings.Join(each, "; "))
	}),
	claimOnServers("004-empty-lines", whether(func(s Server) bool { return s.Blank })),
	claimOnServers("004-trailing-space", whether(func(s Server) bool { return s.Trailing })),
	claim("004-stdout-reserved", func(ctx context.Context, s *session) (e Dirty) {
		for _, f := range s.faults(ctx, "dirty-lines") {
			var d faults.DirtyLines
			script.Check(f.Evidence.Decode(&d))
			e.Readers = append(e.Readers, d)
		}
		return e
	}, func(e Dirty) finding {
		var t tally
		for _, r := range e.Readers {
			for _, c := range r.Cases {
				if c.Oddity == "log line" {
					t.add(r.Reader, c.Intact == c.Sent)
				}
			}
		}
		figure := t.figure() + " readers lost no message"
		return decide(figure, len(t.no) > 0).naming(list(t.no))
	}),
}

// Pieces is the evidence of 004-4096-robust.
type Pieces struct {
	Messages int   `json:"messages"`
	Pieces   []int `json:"pieces"` // bytes of each write
	Intact   int   `json:"intact"`

	Printed *Printed `json:"printed,omitempty"`
}

// A Printed is what the reader does that the document prints, with nothing mended.
type Printed struct {
	Intact   int  `json:"intact"`    // of the messages
	LastLine bool `json:"last_line"` // it delivers a last line without a newline
	BadText  bool `json:"bad_text"`  // it calls a line that is no UTF-8 too large
}

// readPrinted is that reader.
func readPrinted(r io.Reader, yield func(line []byte, tooLarge bool)) {
	var buffer []byte
	for chunk := make([]byte, 4096); ; {
		n, err := r.Read(chunk)
		if n == 0 { // "EOF detected": what is in the buffer goes
			if err != io.EOF {
				script.Check(err)
			}
			return
		}
		buffer = append(buffer, chunk[:n]...)
		for {
			line, rest, found := bytes.Cut(buffer, []byte("\n"))
			if !found {
				break
			}
			if buffer = rest; len(line) > 10<<20 || !utf8.Valid(line) {
				yield(line[:min(len(line), 1<<10)], true)
			} else if line = bytes.TrimSpace(line); len(line) > 0 {
				yield(line, false)
			}
		}
	}
}

func gatherPieces(context.Context, *session) (e Pieces) {
	messages := stat.Map([]int{4094, 4095, 4096, 4097, 8191, 8192, 100, 12_287, 50}, message)
	wire := append(bytes.Join(messages, []byte("\n")), '\n')
	e.Printed = new(Printed)
	faults.Deliver([]byte("\xff\n{}"), false, func(r io.Reader) {
		readPrinted(r, func(line []byte, tooLarge bool) {
			e.Printed.BadText = e.Printed.BadText || tooLarge
			e.Printed.LastLine = e.Printed.LastLine || string(line) == "{}"
		})
	})
	for _, piece := range []int{1, 100, 4095, 4096, 4097, 10_000} {
		e.Pieces = append(e.Pieces, piece)
		e.Messages += len(messages)
		send := func(w io.Writer) error {
			for p := range slices.Chunk(wire, piece) {
				if _, err := w.Write(p); err != nil {
					return err
				}
			}
			return nil
		}
		faults.Through(send, func(r io.Reader) {
			in := framers.Rescan().NewReader(r)
			for _, want := range messages {
				if bytes.Equal(script.Must(in.ReadMessage()), want) {
					e.Intact++
				}
			}
		})
		left := messages
		faults.Through(send, func(r io.Reader) {
			readPrinted(r, func(line []byte, _ bool) {
				if len(left) > 0 && bytes.Equal(line, left[0]) {
					e.Printed.Intact++
					left = left[1:]
				}
			})
		})
	}
	return e
}

// Skip is the evidence of 004-skip-hangs.
type Skip struct {
	Limit    int      `json:"limit"`    // bytes of a line
	Skipped  []string `json:"skipped"`  // ids that the server which skips answered
	Answered []string `json:"answered"` // ids that the server which answers answered
	WaitedNS int64    `json:"waited_ns"`
}

// skipWait is how long a client waits for the answer to the oversized request once it has the one
// to the request after it: the server has nothing to do.
const skipWait = 300 * time.Millisecond

// askOversized sends an oversized request 1 and a small request 2.
func askOversized(ctx context.Context, args answererArgs) (ids []string) {
	c := faults.Converse(ctx, script.Must(proc.Self("claims/answerer", args)))
	defer c.Close()
	c.Say(string(message(2*args.Limit)) + "\n" + ping + "\n")
	note := func(line string) bool {
		var m struct{ ID json.RawMessage }
		if json.Unmarshal([]byte(line), &m) == nil {
			ids = append(ids, string(m.ID))
		}
		return len(ids) > 0 && ids[len(ids)-1] == "2"
	}
	if c.Await(ctx, answerWithin, note) == nil {
		c.Await(ctx, skipWait, note)
	}
	return ids
}

// Places are the evidence of 004-id-in-1k.
type Places struct {
	Found []string `json:"found"` // where the id stood when it was found
	Lost  []string `json:"lost"`
}

// Limits of 004-eof-shutdown.
const (
	flushLimit = 2 * time.Second
	goneLimit  = 5 * time.Second
)

// Dirty is the evidence of 004-stdout-reserved.
type Dirty struct {
	Readers []faults.DirtyLines `json:"readers"`
}

type answererArgs struct {
	Limit  int
	Answer bool // an oversized line is answered with an error
}

// answerLines answers requests line by line, with a limit.
func answerLines(_ *proc.Work, args answererArgs) {
	in := framers.NDJSON().NewReader(os.Stdin, framers.WithMaxMessage(args.Limit), framers.WithPolicy(framers.Resync))
	for {
		msg, err := in.ReadMessage()
		large, tooLarge := err.(*framers.TooLargeError)
		switch {
		case err == io.EOF:
			return
		case tooLarge && args.Answer:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"request too large"}}`+"\n", idIn(large.Head))
		case !tooLarge:
			script.Check(err)
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", idIn(msg))
		}
	}
}

// idIn finds the id of a request in the beginning of its text, "null" if it is not there.
func idIn(head []byte) string {
	if id, ok := jsonrpc.FindID(head); ok {
		return string(id)
	}
	return string(jsonrpc.Null)
}
