package drive

import (
	"fmt"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
)

// A Sink takes each record as it is finished. An error from it ends the work.
type Sink func(results.Line) error

// record begins a record about this server.
func (d *Driver) record() results.Target {
	t := results.Target{
		Kind: results.KindTarget, Run: d.o.Run, Time: time.Now().UTC(),
		Command: d.o.Command, Protocol: d.speaks(), Verdict: string(OK),
		Evidence: results.TargetEvidence{
			ServerEvidence: &results.ServerEvidence{
				Spoken: d.Protocol(), Framing: d.Framing(), Pipe: string(d.o.Pipe),
				Request: d.Request(), WriteChunk: d.o.WriteChunk, WritePause: int64(d.o.WritePause),
			},
			Capacity: d.o.Capacity,
		},
	}
	if d.failedStarts > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("%d starts of the server after a failure came to nothing, and the next did not", d.failedStarts))
		d.failedStarts = 0
	}
	return t
}

// setFailure makes t the record of a request that was not served.
func setFailure(t *results.Target, out outcome) {
	setVerdict(t, out.verdict)
	t.Evidence.FailureEvidence, t.Evidence.Why = out.evidence, out.why
}

func setVerdict(t *results.Target, v Verdict) {
	t.Verdict, t.Evidence.Advice = string(v), v.Advice()
}

// Doubling lists the sizes from one to another, each twice the one before, the last included
// whatever it is.
func Doubling(from, to int) []int {
	var sizes []int
	for n := max(1, from); n < to; n *= 2 {
		sizes = append(sizes, n)
	}
	return append(sizes, to)
}

// A Verdict is how a server met a request. Two of them carry a number: "exit 3", "signal SIGKILL".
type Verdict string

// Verdicts.
const (
	OK         Verdict = results.VerdictOK
	Slow       Verdict = results.VerdictSlow       // answered, in over ten times what its neighbours in size suggest
	ErrorReply Verdict = results.VerdictErrorReply // answered with an error
	Unanswered Verdict = "unanswered"              // lives and answers others; this request got nothing
	Deaf       Verdict = "deaf"                    // lives and answers nothing
	Deadlock   Verdict = "deadlock"                // both ends wait to write into a pipe that the other does not read
	Corrupt    Verdict = "corrupt"                 // the answer is not what was sent
	Truncated  Verdict = "truncated"               // the answer ends too early
	Buffered   Verdict = "answers only at the end of input"
	Endless    Verdict = "endless answer"        // no end of a message within [Options.MaxReply]
	Overloaded Verdict = "rate not reached"      // of a load: requests that were due could not be sent
	Differs    Verdict = "differs"               // of a replay: answers are not as recorded
	NotTried   Verdict = results.VerdictNotTried // of a fault that says nothing about the server

	// Superlinear is of a whole sweep: time grows faster than size, and not by chance.
	Superlinear Verdict = results.VerdictSuperlinear
)

const (
	exitPrefix   = "exit "
	signalPrefix = "signal "
)

// Ended reports whether the server's process ended over the request.
func (v Verdict) Ended() bool {
	return strings.HasPrefix(string(v), exitPrefix) || strings.HasPrefix(string(v), signalPrefix)
}

// Advice says what a verdict usually means and what to look at first; "" for one that needs none.
func (v Verdict) Advice() string {
	switch {
	case v == exitPrefix+"0":
		return "the server ended with exit status 0 and without an answer: look for a limit on the length of a line whose error ends the read loop, and answer with a JSON-RPC error instead"
	case strings.HasPrefix(string(v), exitPrefix):
		return "the server ended itself: its last words on standard error, if any, are in the record"
	case strings.HasPrefix(string(v), signalPrefix):
		return "the server was killed or crashed: look at its memory at this size, and at limits on it"
	}
	return advice[v]
}

var advice = map[Verdict]string{
	Slow:        "something changes at this size: a buffer that is copied or searched again for every read, or a timer that is waited for",
	ErrorReply:  "the server refuses and says so, which is how a limit should look; clients need the limit to be documented",
	Unanswered:  "the request was swallowed: answer every request that has an id, with an error at least",
	Deaf:        "the server reads and never answers: look for a reader that gave up on the stream and told nobody, or waits for more than it was sent",
	Deadlock:    "the server writes to a stream that nobody reads, and stops reading its own: drain both while writing",
	Corrupt:     "bytes were changed on the way: look for text decoded a chunk at a time, and for two writers on one stream",
	Superlinear: "each read makes the server look at, or copy, all that came before: remember how far the buffer was searched, and grow it by doubling",
	Buffered:    "its output is block-buffered, as standard output is on a pipe unless the program says otherwise: flush after each answer (python -u, stdbuf -oL, jq --unbuffered)",
	Endless:     "what the server writes has no end of a message: is it another framing, or an answer that never ends?",
	Overloaded:  "the server, or this machine beside it, does not keep up: ask for a lower rate, and compare the driver's share of CPU time",
	Differs:     "the server answers otherwise than the recorded one: the first difference is in the record",
	Truncated:   "the answer was cut: flush before exit, and write again what a non-blocking stream did not take",
}
