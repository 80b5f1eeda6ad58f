package claims

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// lineClaims are what document 004 says.
var lineClaims = []Claim{
	claimOnHandshakes("004-mcp-newline", judgeNewline),
	claim("004-4096-robust", gatherPieces, judgePieces),
	claim("004-4096-cheap", gatherRescan, judgeRescan),
	claim("004-10mb-limit", gatherUnbounded, judgeUnbounded),
	claim("004-skip-hangs", gatherSkip, judgeSkip),
	claim("004-id-in-1k", gatherPlaces, judgePlaces),
	claimOnServers("004-eof-shutdown", judgeShutdown),
	claimOnServers("004-unknown-id", judgeUnknownID),
	claimOnServers("004-empty-lines", judgeBlank),
	claimOnServers("004-trailing-space", judgeTrailing),
	claim("004-stdout-reserved", gatherDirty, judgeDirty),
}

func judgeNewline(e Interviews) finding {
	var t tally
	for _, s := range e.Servers {
		t.add(s.Name, s.Newline)
	}
	return t.judge(t.figure() + " servers")
}

func gatherRescan(ctx context.Context, s *session) (faults.ReaderGrowth, error) {
	records, err := s.readersGrowth(ctx)
	if err != nil {
		return faults.ReaderGrowth{}, err
	}
	for _, g := range faults.GrowthOf(records, growthFrom) {
		if g.Framing == "ndjson-rescan" {
			return *g, nil
		}
	}
	return faults.ReaderGrowth{}, errors.New("no figures of the reader that searches again")
}

func judgeRescan(e faults.ReaderGrowth) finding {
	const steep = 1.3 // a linear reader that leaves the caches comes near 1.15
	f := finding{
		outcome: holdsIf(e.Slope.Slope <= steep), figure: e.Slope.String(), unsure: true,
	}
	if n := len(e.ToOurs); n > 0 {
		last := e.ToOurs[n-1]
		f.figure += fmt.Sprintf("; %s at %s, n = %d",
			estimate(last.Figure), faults.Size(last.Size), last.Figure.N)
	}
	if in := e.Slope.Interval; in != nil {
		perhapsLinear := e.Slope.Slope > steep && in.Lo <= 1
		perhapsSteep := e.Slope.Slope <= steep && in.Hi > steep
		f.unsure = perhapsLinear || perhapsSteep
	}
	return f
}

func gatherUnbounded(ctx context.Context, _ *session) (faults.UnboundedLine, error) {
	e, err := faults.SendEndlessLine(ctx, "ndjson-rescan", framers.Close, unendingBytes)
	if err != nil {
		return faults.UnboundedLine{}, err
	}
	return *e, nil
}

func judgeUnbounded(e faults.UnboundedLine) finding {
	f := finding{figure: fmt.Sprintf("%s held, %s of %s read",
		faults.Size(e.Held), faults.Size(e.Read), faults.Size(e.Sent))}
	switch {
	case !e.Detected:
		f.outcome = outcome{Refuted, "unnoticed"}
	case e.Held > 3*int64(e.Limit):
		f.outcome = outcome{Refuted, "late"}
	default:
		f.verdict = Holds
	}
	return f
}

// Skip is the evidence of 004-skip-hangs.
type Skip struct {
	Limit    int      `json:"limit"`    // bytes of a line
	Skipped  []string `json:"skipped"`  // ids that the server which skips answered
	Answered []string `json:"answered"` // ids that the server which answers answered
	WaitedNS int64    `json:"waited_ns"`
}

// skipWait is how long a client waits for the answer to the oversized request when it has the
// answer to the request after it. It can be short: by then the server has nothing else to do.
const skipWait = 300 * time.Millisecond

func gatherSkip(ctx context.Context, _ *session) (Skip, error) {
	e := Skip{Limit: 64 << 10, WaitedNS: skipWait.Nanoseconds()}
	var err error
	e.Skipped, err = askOversized(ctx, answererArgs{Limit: e.Limit})
	if err != nil {
		return e, err
	}
	e.Answered, err = askOversized(ctx, answererArgs{Limit: e.Limit, Answer: true})
	return e, err
}

// askOversized sends an oversized request 1 and a small request 2, and returns the ids that were
// answered.
func askOversized(ctx context.Context, args answererArgs) ([]string, error) {
	p, err := proc.Self("claims/answerer", args)
	if err != nil {
		return nil, err
	}
	c, err := faults.StartConversation(ctx, p)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	c.Say(string(message(2*args.Limit)) + "\n" + ping + "\n")
	var ids []string
	note := func(line string) bool {
		var m struct{ ID json.RawMessage }
		if err := json.Unmarshal([]byte(line), &m); err == nil {
			ids = append(ids, string(m.ID))
		}
		return len(ids) > 0 && ids[len(ids)-1] == "2"
	}
	if c.Await(ctx, answerWithin, note) == nil {
		c.Await(ctx, skipWait, note)
	}
	return ids, nil
}

func judgeSkip(e Skip) finding {
	f := finding{figure: fmt.Sprintf("answered: %s; by a server that does not skip: %s",
		list(e.Skipped), list(e.Answered))}
	switch {
	case slices.Contains(e.Skipped, "1"):
		f.verdict = Refuted
	case slices.Contains(e.Skipped, "2"):
		f.verdict = Holds
	default:
		f.verdict = Depends
	}
	return f
}

type answererArgs struct {
	Limit  int
	Answer bool // an oversized line is answered with an error
}

// answerLines is a server that answers requests line by line, with a limit on lines. It skips an
// oversized request, or answers it with an error.
func answerLines(_ *proc.Work, args answererArgs) error {
	const failed = `{"jsonrpc":"2.0","id":%s,` +
		`"error":{"code":-32600,"message":"request too large"}}` + "\n"
	const done = `{"jsonrpc":"2.0","id":%s,"result":{}}` + "\n"
	in := framers.NDJSON().NewReader(os.Stdin,
		framers.WithMaxMessage(args.Limit), framers.WithPolicy(framers.Resync))
	for {
		msg, err := in.ReadMessage()
		if err == io.EOF {
			return nil
		}
		var large *framers.TooLargeError
		if errors.As(err, &large) {
			if args.Answer {
				fmt.Printf(failed, idIn(large.Head))
			}
			continue
		}
		if err != nil {
			return err
		}
		fmt.Printf(done, idIn(msg))
	}
}

// Places are the evidence of 004-id-in-1k.
type Places struct {
	Found []string `json:"found"` // where the id stood when it was found
	Lost  []string `json:"lost"`
}

func gatherPlaces(context.Context, *session) (Places, error) {
	params := `"params":{"text":"` + strings.Repeat("x", 64<<10) + `"}`
	requests := []struct{ name, text string }{
		{"first", `{"id":7,"jsonrpc":"2.0","method":"m",` + params + `}`},
		{"before params", `{"jsonrpc":"2.0","id":7,"method":"m",` + params + `}`},
		{"last", `{"jsonrpc":"2.0","method":"m",` + params + `,"id":7}`},
	}
	var t tally
	for _, r := range requests {
		t.add(r.name, idIn([]byte(r.text[:1<<10])) == "7")
	}
	return Places{t.yes, t.no}, nil
}

func judgePlaces(e Places) finding {
	t := tally{e.Found, e.Lost}
	return t.judge(t.figure() + " places")
}

// idIn finds the id of a request in the beginning of its text, "null" if it is not there.
func idIn(head []byte) string {
	id, ok := jsonrpc.FindID(head)
	if !ok {
		return string(jsonrpc.Null)
	}
	return string(id)
}

// Limits of 004-eof-shutdown.
const (
	flushLimit = 2 * time.Second
	goneLimit  = 5 * time.Second
)

func judgeShutdown(e Interviews) finding {
	both := e.tallyOf(func(s Server) bool {
		flushed := s.Replied && s.ReplyNS <= flushLimit.Nanoseconds()
		gone := s.Exited && s.ExitNS <= goneLimit.Nanoseconds()
		return flushed && gone
	})
	var each []string
	for _, s := range e.Servers {
		if !s.Newline {
			continue
		}
		reply := "dropped the response"
		if s.Replied {
			reply = "answered"
		}
		end := "still there"
		if s.Exited {
			end = "gone after " + results.FormatDuration(float64(s.ExitNS))
		}
		each = append(each, fmt.Sprintf("%s %s, %s", s.Name, reply, end))
	}
	f := both.judge(both.figure() + " servers")
	f.names = strings.Join(each, "; ")
	return f
}

func judgeUnknownID(e Interviews) finding {
	null := 0
	empty := 0
	var each []string
	for _, s := range e.Servers {
		switch s.MalformedID {
		case "null":
			null++
		case `""`:
			empty++
		}
		each = append(each, s.Name+": "+s.MalformedID)
	}
	f := finding{
		figure: fmt.Sprintf(`null from %d, "" from %d of %d servers`, null, empty, len(e.Servers)),
		names:  strings.Join(each, "; "),
	}
	switch {
	case null > 0 && empty > 0:
		f.verdict = Holds
	case null > 0:
		f.verdict = Refuted
	default:
		f.verdict = Depends
	}
	return f
}

func judgeBlank(e Interviews) finding {
	return e.judgeEach(func(s Server) bool { return s.Blank })
}

func judgeTrailing(e Interviews) finding {
	return e.judgeEach(func(s Server) bool { return s.Trailing })
}

// Dirty is the evidence of 004-stdout-reserved.
type Dirty struct {
	Readers []faults.DirtyLines `json:"readers"`
}

func gatherDirty(ctx context.Context, s *session) (Dirty, error) {
	var e Dirty
	all, err := s.faults(ctx, "dirty-lines")
	if err != nil {
		return e, err
	}
	for _, f := range all {
		var d faults.DirtyLines
		if err := f.Evidence.Decode(&d); err != nil {
			return e, err
		}
		e.Readers = append(e.Readers, d)
	}
	return e, nil
}

func judgeDirty(e Dirty) finding {
	var t tally
	for _, r := range e.Readers {
		for _, c := range r.Cases {
			if c.Oddity == "log line" {
				t.add(r.Reader, c.Intact == c.Sent)
			}
		}
	}
	return finding{
		outcome: holdsIf(len(t.no) > 0),
		figure:  t.figure() + " readers lost no message",
		names:   list(t.no),
	}
}
