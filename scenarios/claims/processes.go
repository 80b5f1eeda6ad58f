package claims

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/scenarios/faults/evidence"
)

// processClaims are what document 002 says.
var processClaims = []Claim{
	{
		ID: "002-bytewise", Seed: "002", Where: "Transport Layer (Pseudo Code)",
		Text: "Reading one byte at a time until a newline is a way to read lines",
		Rule: "Lines of 64 KiB to 1 MiB, every byte of some compared, time against a reader that takes what there is, round by round. Refuted if a byte is wrong; holds if right and no size takes three times as long; depends if right and slower.",
		exam: by(gatherBytewise, judgeBytewise),
	},
	{
		ID: "002-crash-isolation", Seed: "002", Where: "Process Isolation",
		Text: "A server that crashes does not affect its client",
		Rule: "A server process dies after its first answer, and its client goes on. Refuted if the client is not told; depends if it is, but a client that prints into the dead pipe without care is killed by a signal; else holds.",
		exam: by(gatherCrash, judgeCrash),
	},
	{
		ID: "002-malformed-skipped", Seed: "002", Where: "Error Handling",
		Text: "A malformed message is skipped, and the next one answered",
		Rule: "A line that is no JSON, then a request, to real servers. Holds if all answer the request; refuted if none does; else depends.",
		exam: by(interviews, judgeMalformed),
	},
	{
		ID: "002-stderr-separate", Seed: "002", Where: "Communication Flow",
		Text: "A server can log to standard error without touching the messages",
		Rule: "A server logs per request to a standard error that its client holds. Holds if it answers all requests whether or not the client reads the log; depends if only when it does; refuted if neither.",
		exam: by(gatherLogs, judgeLogs),
	},
}

// Bytewise is the evidence of 002-bytewise.
type Bytewise struct {
	Compared int64          `json:"compared"` // bytes that were compared one by one; the run fails at the first that is wrong
	ToOurs   []faults.Sized `json:"to_ours"`
	Calls    float64        `json:"calls"` // system calls for a KiB
}

func gatherBytewise(ctx context.Context, l *lab) (e Bytewise, err error) {
	all, err := l.growings(ctx)
	if err != nil {
		return e, err
	}
	records, err := l.measure(ctx, "readers of growing lines", faults.GrowthPlan(4<<20))
	if err != nil {
		return e, err
	}
	for _, r := range records {
		if r.Cell.Framing == "ndjson-bytewise" && r.Verified != nil {
			e.Compared += r.Verified.Bytes
		}
	}
	for _, g := range all {
		if g.Framing == "ndjson-bytewise" {
			e.ToOurs, e.Calls = g.ToOurs, g.Calls
		}
	}
	return e, nil
}

func judgeBytewise(e Bytewise) Judgement {
	if e.Compared == 0 || len(e.ToOurs) == 0 {
		return refuted("", "no line came through as it was sent")
	}
	worst := e.ToOurs[0]
	for _, s := range e.ToOurs {
		if s.Figure.Median > worst.Figure.Median {
			worst = s
		}
	}
	figure := fmt.Sprintf("%s at %s, n = %d; %.0f calls for a KiB", estimate(worst.Figure), evidence.Size(int64(worst.Size)), worst.Figure.N, e.Calls)
	if worst.Figure.Above(3) {
		return depends(figure, "the lines are right, and each byte is a system call: it will do where a message is a few bytes long")
	}
	return holds(figure, "the lines are right, and it costs less than three times what reading ahead does")
}

// Crash is the evidence of 002-crash-isolation.
type Crash struct {
	Exit      string `json:"exit"`       // of the server
	Told      bool   `json:"told"`       // the client saw the end of the server's output
	ToldNS    int64  `json:"told_ns"`    // after the server's last answer
	WriteFail string `json:"write_fail"` // the client's next request
	Printer   bool   `json:"printer_killed"`
}

func gatherCrash(ctx context.Context, l *lab) (e Crash, err error) {
	c, err := startActor("crasher")(ctx)
	if err != nil {
		return e, err
	}
	defer c.close()
	c.send("ask\n")
	c.await(ctx, answerWithin, func(line string) bool { return line == "answer" })
	answered := time.Now()
	if e.Told = c.left(ctx, answerWithin); e.Told {
		e.ToldNS, e.Exit = time.Since(answered).Nanoseconds(), "exit status 2"
	}
	if _, err := io.WriteString(c.in, "ask\n"); err != nil {
		e.WriteFail = err.Error()
	}
	all, err := l.fault(ctx, "reader-gone")
	if err != nil {
		return e, err
	}
	printer, err := faultOf[faults.Print](all, "reader-gone/stdout/default")
	e.Printer = printer.Signal
	return e, err
}

func judgeCrash(e Crash) Judgement {
	figure := "told after " + results.FormatDuration(float64(e.ToldNS))
	switch {
	case !e.Told:
		return refuted("", "the client was not told that its server had died")
	case e.Printer:
		return depends(figure, "the client sees the end of the output and lives; but a program that writes to the dead pipe and does not handle SIGPIPE is killed by it")
	}
	return holds(figure, "the client sees the end of the output and lives")
}

// Interviews are the evidence of claims on how servers behave.
type Interviews struct {
	Servers []Server `json:"servers"`
}

func interviews(ctx context.Context, l *lab) (Interviews, error) {
	all, err := l.servers(ctx)
	return Interviews{all}, err
}

// tallyOf sorts the servers that shook hands by a question.
func (e Interviews) tallyOf(question func(Server) bool) (t tally) {
	for _, s := range e.Servers {
		if s.Newline {
			t.add(s.Name, question(s))
		}
	}
	return t
}

// whether judges a claim that says every server does something.
func (e Interviews) whether(question func(Server) bool, yes, no string) Judgement {
	t := e.tallyOf(question)
	j := Judgement{Verdict: t.verdict(), Figure: t.figure() + " servers", Why: yes}
	if len(t.no) > 0 {
		j.Why = no + ": " + list(t.no)
	}
	return j
}

func judgeMalformed(e Interviews) Judgement {
	return e.whether(func(s Server) bool { return s.Malformed }, "each answers the request after it", "answers nothing more after such a line")
}

// Logs are the evidence of 002-stderr-separate.
type Logs struct {
	Undrained faults.Logging `json:"undrained"`
	Drained   faults.Logging `json:"drained"`
}

func gatherLogs(ctx context.Context, l *lab) (e Logs, err error) {
	all, err := l.fault(ctx, "stderr-undrained")
	if err != nil {
		return e, err
	}
	if e.Undrained, err = faultOf[faults.Logging](all, "stderr-undrained/logs-4096"); err != nil {
		return e, err
	}
	e.Drained, err = faultOf[faults.Logging](all, "stderr-undrained/logs-65537-drained")
	return e, err
}

func judgeLogs(e Logs) Judgement {
	figure := fmt.Sprintf("%d of %d requests, log unread", e.Undrained.Answered, e.Undrained.Asked)
	unread, read := e.Undrained.Answered == e.Undrained.Asked, e.Drained.Answered == e.Drained.Asked
	switch {
	case unread && read:
		return holds(figure, "all requests were answered")
	case read:
		return depends(figure, "only while the client reads it: the log fills its pipe, and the server waits there in place of answering")
	}
	return refuted(figure, "requests went unanswered even with the log read")
}
