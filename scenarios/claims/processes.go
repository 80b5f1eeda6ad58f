package claims

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// processClaims are what document 002 says.
var processClaims = []Claim{
	claim("002-bytewise", gatherBytewise, judgeBytewise),
	claim("002-crash-isolation", gatherCrash, judgeCrash),
	claimOnServers("002-malformed-skipped", judgeMalformed),
	claim("002-efficient-json", gatherParsing, judgeParsing),
	claim("002-stderr-separate", gatherLogs, judgeLogs),
}

// Bytewise is the evidence of 002-bytewise.
type Bytewise struct {
	// Bytes that were compared one by one. The measurement fails at the first that is wrong.
	Compared int64          `json:"compared"`
	ToOurs   []faults.Sized `json:"to_ours"`
	Calls    float64        `json:"calls"` // system calls per KiB
}

func gatherBytewise(ctx context.Context, s *session) (Bytewise, error) {
	var e Bytewise
	records, err := s.readersGrowth(ctx)
	if err != nil {
		return e, err
	}
	for _, r := range records {
		if r.Cell.Framing == "ndjson-bytewise" && r.Verified != nil {
			e.Compared += r.Verified.Bytes
		}
	}
	for _, g := range faults.GrowthOf(records, growthFrom) {
		if g.Framing == "ndjson-bytewise" {
			e.ToOurs = g.ToOurs
			e.Calls = g.Calls
		}
	}
	return e, nil
}

func judgeBytewise(e Bytewise) finding {
	if e.Compared == 0 || len(e.ToOurs) == 0 {
		return finding{outcome: outcome{verdict: Refuted}}
	}
	worst := e.ToOurs[0]
	for _, s := range e.ToOurs {
		if s.Figure.Median > worst.Figure.Median {
			worst = s
		}
	}
	f := finding{figure: fmt.Sprintf("%s at %s, n = %d; %.0f calls for a KiB",
		estimate(worst.Figure), faults.Size(worst.Size), worst.Figure.N, e.Calls)}
	const dear = 3 // times as long as the reader that takes what there is
	if worst.Figure.Above(dear) {
		f.verdict = Depends
	} else {
		f.verdict = Holds
	}
	return f
}

// Crash is the evidence of 002-crash-isolation.
type Crash struct {
	Exit      string `json:"exit"`       // of the server
	Told      bool   `json:"told"`       // the client saw the end of the server's output
	ToldNS    int64  `json:"told_ns"`    // after the server's last answer
	WriteFail string `json:"write_fail"` // the client's next request
	Printer   bool   `json:"printer_killed"`
}

func gatherCrash(ctx context.Context, s *session) (Crash, error) {
	var e Crash
	if err := e.converse(ctx); err != nil {
		return e, err
	}
	all, err := s.faults(ctx, "reader-gone")
	if err != nil {
		return e, err
	}
	var printer faults.Printer
	if err := decodeFault(all, "reader-gone/stdout/default", &printer); err != nil {
		return e, err
	}
	e.Printer = printer.Signal
	return e, nil
}

// converse asks a server that dies after its first answer, and then asks it again.
func (e *Crash) converse(ctx context.Context) error {
	p, err := proc.Self("claims/crasher", nil)
	if err != nil {
		return err
	}
	c, err := faults.StartConversation(ctx, p)
	if err != nil {
		return err
	}
	defer c.Close()
	c.Say("ask\n")
	isAnswer := func(line string) bool { return line == "answer" }
	if err := c.Await(ctx, answerWithin, isAnswer); err != nil {
		return err
	}
	answered := time.Now()
	e.Told = c.Ended(answerWithin)
	if e.Told {
		e.ToldNS = time.Since(answered).Nanoseconds()
		e.Exit = p.Cmd.ProcessState.String()
	}
	e.WriteFail = faults.ErrorText(c.Say("ask\n"))
	return nil
}

// answerAndCrash is the server that dies: it answers one request and exits.
func answerAndCrash(*proc.Work) error {
	_, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return err
	}
	fmt.Println("answer")
	os.Exit(2)
	return nil
}

func judgeCrash(e Crash) finding {
	if !e.Told {
		return finding{outcome: outcome{verdict: Refuted}}
	}
	f := finding{figure: "told after " + results.FormatDuration(float64(e.ToldNS))}
	if e.Printer {
		f.verdict = Depends
	} else {
		f.verdict = Holds
	}
	return f
}

func judgeMalformed(e Interviews) finding {
	return e.judgeEach(func(s Server) bool { return s.Malformed })
}

// Parsing is the evidence of 002-efficient-json.
type Parsing struct {
	Size      int           `json:"size"` // bytes of a message
	JSONNS    stat.Estimate `json:"json_ns"`
	MessageNS stat.Estimate `json:"message_ns"` // of sending and receiving it
	Share     stat.Estimate `json:"share"`      // the former over the latter, round by round
}

func gatherParsing(context.Context, *session) (Parsing, error) {
	e := Parsing{Size: 64 << 10}
	const tool = 700 // bytes of a tool, about
	content := map[string]any{"jsonrpc": "2.0", "id": 1, "result": tools(e.Size / tool)}
	msg, err := json.Marshal(content)
	if err != nil {
		return e, err
	}
	var parsing, sending, shares []float64
	for range stat.LeastSamples {
		ns, err := timeParsing(msg)
		if err != nil {
			return e, err
		}
		each, err := timeSending(msg)
		if err != nil {
			return e, err
		}
		parsing = append(parsing, ns)
		sending = append(sending, each)
		shares = append(shares, ns/each)
	}
	e.JSONNS = stat.Median(parsing)
	e.MessageNS = stat.Median(sending)
	e.Share = stat.Median(shares)
	return e, nil
}

// timeParsing returns how long it takes to parse a message and to write it again, in nanoseconds.
func timeParsing(msg []byte) (float64, error) {
	const times = 20
	began := time.Now()
	for range times {
		var m any
		if err := json.Unmarshal(msg, &m); err != nil {
			return 0, err
		}
		if _, err := json.Marshal(m); err != nil {
			return 0, err
		}
	}
	return float64(time.Since(began)) / times, nil
}

// timeSending returns how long it takes to send and receive a message as a line, in nanoseconds.
func timeSending(msg []byte) (float64, error) {
	const times = 500
	messages := make([][]byte, times)
	for i := range messages {
		messages[i] = msg
	}
	began := time.Now()
	err := exchange(framers.NDJSON(), messages, func(r framers.Reader) error {
		for range times {
			if _, err := r.ReadMessage(); err != nil {
				return err
			}
		}
		return nil
	})
	return float64(time.Since(began)) / times, err
}

func judgeParsing(e Parsing) finding {
	f := finding{figure: fmt.Sprintf("%s, n = %d", estimate(e.Share), e.Share.N)}
	const several = 3
	switch {
	case e.Share.Below(1):
		f.verdict = Refuted
	case e.Share.Above(several):
		f.verdict = Holds
	default:
		f.verdict = Depends
	}
	return f
}

// Logs are the evidence of 002-stderr-separate.
type Logs struct {
	Undrained faults.Logging `json:"undrained"`
	Drained   faults.Logging `json:"drained"`
}

func gatherLogs(ctx context.Context, s *session) (Logs, error) {
	var e Logs
	all, err := s.faults(ctx, "stderr-undrained")
	if err != nil {
		return e, err
	}
	if err := decodeFault(all, "stderr-undrained/logs-4096", &e.Undrained); err != nil {
		return e, err
	}
	err = decodeFault(all, "stderr-undrained/logs-65537-drained", &e.Drained)
	return e, err
}

func judgeLogs(e Logs) finding {
	f := finding{figure: fmt.Sprintf("%d of %d requests, log unread",
		e.Undrained.Answered, e.Undrained.Asked)}
	unread := e.Undrained.Answered == e.Undrained.Asked
	read := e.Drained.Answered == e.Drained.Asked
	switch {
	case unread && read:
		f.verdict = Holds
	case read:
		f.verdict = Depends
	default:
		f.verdict = Refuted
	}
	return f
}
