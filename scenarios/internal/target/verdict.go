package target

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A Verdict says how a server dealt with a request. If the server ended, the verdict is like "exit
// 3" or "signal SIGKILL".
type Verdict string

// Verdicts on one request.
const (
	OK          Verdict = results.VerdictOK
	Slow        Verdict = results.VerdictSlow       // took over ten times what was predicted
	ErrorReply  Verdict = results.VerdictErrorReply // answered with an error
	Unanswered  Verdict = results.VerdictUnanswered // answers other requests, but not this one
	Late        Verdict = "answered late"           // answered after its time was up
	Deaf        Verdict = results.VerdictDeaf
	Ignored     Verdict = results.VerdictIgnored
	Deadlock    Verdict = "deadlock"       // waits for us to read, and does not read
	Corrupt     Verdict = "corrupt"        // the answer is not what was sent
	Truncated   Verdict = "truncated"      // the answer ends too early
	WrongLength Verdict = "wrong length"   // a message has more or less than it announces
	Mixed       Verdict = "mixed messages" // one has the beginning of another in it
	Buffered    Verdict = "answers only at the end of input"
	InFrames    Verdict = results.VerdictInFrames
	Endless     Verdict = "endless answer" // longer than the largest message that is read
)

// Verdicts on more than one request.
const (
	Superlinear Verdict = results.VerdictSuperlinear // in a sweep, time grows faster than size
	Overloaded  Verdict = "rate not reached"         // requests of a load could not be sent in time
	Differs     Verdict = "differs"                  // answers of a replay are not as recorded
	CannotTell  Verdict = "cannot-tell"              // what a replay would compare is redacted
)

// Ended reports whether the server's process ended during the request.
func (v Verdict) Ended() bool { return results.Ended(string(v)) }

// Signal returns the name of the signal that ended the server, or "" if no signal did.
func (v Verdict) Signal() string {
	name, ok := strings.CutPrefix(string(v), results.SignalPrefix)
	if !ok {
		return ""
	}
	return name
}

// Text is the verdict as people read it.
func (v Verdict) Text() string { return view.VerdictText(string(v)) }

// advice says what a verdict usually means and what to look at first.
var advice = map[Verdict]string{
	Slow: "something changes at this size: a buffer that is copied or searched again for every " +
		"read, memory that is new to the process, or a timer that is waited for",
	ErrorReply: AdviceRefusal + "; if it refuses by size, clients need that limit to be documented",
	Unanswered: "the request was swallowed, or its answer takes longer than --patience: answer " +
		"every request that has an id, with an error at least; pipebench inspect shows where " +
		"the server waits",
	Late: "the answer came when it was no longer waited for: look for what holds it up, such " +
		"as an answer that is not flushed, or a poll of the input while the request lies in the " +
		"server's own buffer; a server that is only slow needs more time (--patience of drive, " +
		"--timeout of check)",
	Deaf: "the server lives and answers nothing: look at what it does instead " +
		"(pipebench inspect); one that is only slow needs more --patience",
	Ignored: "answer every request that has an id, in doubt with the error -32601; drive " +
		"--messages replays a session that tap --bodies recorded: if that fails, too, it hangs",
	Deadlock: "the server writes to a stream that nobody reads, and stops reading its own: drain " +
		"both while writing",
	Corrupt: "bytes were changed or came in another order: if answers overlap, look for two " +
		"writers of one output without a lock, else for what edits texts",
	Truncated: "the answer was cut: flush before exit; " + adviceNonBlocking,
	WrongLength: "Content-Length counts the bytes of the message as it is written: count them " +
		"after encoding it, not its characters and not the bytes of another encoding",
	Mixed: "two writers of the server mix their messages, or one was not written to its end: " +
		"send each answer as one whole message (MCP and LSP have no chunks), one writer at a " +
		"time, with a lock around the whole message",
	Buffered: "its output is block-buffered, as standard output is on a pipe unless the program " +
		"says otherwise: flush after each answer (in Python flush=True or python -u); or a child " +
		"of it reads its standard input: start that with another",
	InFrames: "MCP sends each message as one line, however long: its clients take frames for " +
		"broken JSON, and wait for the answer in vain; for a client of its own: --framing adaptive",
	Endless: "what the server writes has no end of a message: it may be in another framing, or " +
		"an answer that never ends",
	Overloaded: "the server, or this machine beside it, does not keep up: ask for a lower rate, " +
		"and compare the driver's share of CPU time",
	Differs: "the server answers otherwise than the recorded one: the first difference is in " +
		"the record",
	CannotTell: "what was redacted cannot be compared: to compare all of it, record with tap " +
		"--bodies",
	Superlinear: "each read makes the server look at, or copy, all that came before: remember " +
		"how far the buffer was searched, and grow it by doubling",
}

// Advice for a server that ended or refused.
const (
	AdviceEnded   = "the server ended"
	AdviceRefusal = "the server refuses and says so"

	// AdviceEndedBySize is for a server to which smaller messages are no trouble, or may be none.
	AdviceEndedBySize = AdviceEnded + "; if it ends by size, look for a limit on the length of " +
		"a line, or on memory"
)

// Advice says what a verdict usually means and what to look at first. It returns "" if all is well.
func (v Verdict) Advice() string {
	if v.Ended() {
		return AdviceEnded
	}
	return advice[v]
}

// adviceNonBlocking is for a server that may have lost a part of its answer.
const adviceNonBlocking = "if its standard output is non-blocking (O_NONBLOCK), " + losesRest

// losesRest says what a non-blocking output does, and what to do about it.
const losesRest = "a large write takes a part and refuses the rest with EAGAIN: wait for room " +
	"and write the rest, or make it blocking (in Python os.set_blocking(1, True))"

// AdviceOnCharacters is for a server that answers only without characters of several bytes.
const AdviceOnCharacters = "decode whole messages, not each read (in Node setEncoding, in " +
	"Python sys.stdin.buffer); Content-Length counts bytes, not characters"

const adviceUTF8 = "read and write UTF-8, whatever encoding the system prefers"

// adviceOnText is for an answer with the text of another request.
const adviceOnText = "it is the answer to another request: keep each text with the id of its " +
	"request"

// AdviceOneRead is for a server that refuses two messages in one read, and answers each alone.
const AdviceOneRead = "takes what one read returns for one message: split its input at newlines"

// AdviceReads is for a server that may be such a one.
const AdviceReads = "does it take each read for one message? a notification and the next request " +
	"may come in one read, and in Node a 'data' event is not a message: use readline"

// Advice says what the outcome usually means and what to look at first. The text may tell the user
// to run the given command. This command should repeat the request and then wait.
func (o *Outcome) Advice(command string) string {
	e := o.Evidence
	switch {
	case e != nil && e.Computed:
		return adviceToInspect("it computed all that time", command) + "; its stack says what it " +
			"computes (in Python py-spy dump --pid PID)"
	case o.Verdict == Unanswered && o.arrivals.n > 0:
		return o.Why + "; " + o.arrivals.advice()
	case o.Remedy != "",
		slices.Contains([]Verdict{Unanswered, ErrorReply, Corrupt}, o.Verdict):
		return o.Why + "; " + cmp.Or(o.Remedy, o.Verdict.Advice())
	case o.Verdict.Ended() && o.accepted >= 4<<10: // hardly any server has a smaller limit
		return AdviceEndedBySize
	case o.Verdict == Truncated && o.pending.Length > 0:
		return WrongLength.Advice() + "; " + adviceNonBlocking
	case o.Verdict == Truncated && o.nonBlocking && e.Offset == nil:
		return adviceOnCut(max(e.Partial, int64(o.arrivals.cut)))
	case o.Verdict == Truncated && e != nil && (e.Offset != nil || e.Probe != probeGone):
		return o.Why + "; it, or its tool, may cut texts, or not flush the rest"
	case o.Verdict != Deaf || e == nil:
		return o.Verdict.Advice()
	case e.Question != "":
		return adviceToInspect("it may wait for the answer to "+e.Question+" in the thread that "+
			"should take it", command)
	}
	return adviceToInspect(readingText(e), command)
}

// adviceOnCut is for a server with a non-blocking output, of whose answer so many bytes came. A
// pipe that takes a part of a large write takes whole pages.
func adviceOnCut(came int64) string {
	const page = 4096
	cuts := "it, or its tool, may cut texts"
	loses := "its standard output is non-blocking (O_NONBLOCK): " + losesRest
	if came%page == 0 {
		return loses + "; if it waits, as Node and Go do, " + cuts
	}
	return cuts + "; if not, " + loses
}

// adviceToInspect says how to look at a server that did something, such as stop reading.
func adviceToInspect(did, command string) string {
	return did + ": to see what it does instead, run " + command +
		" and, while that waits, pipebench inspect with the process number that it shows; " +
		"if the server is only slow, it needs no more than --patience"
}

// readingText says how much of a request the server read before it failed to answer.
func readingText(e *results.FailureEvidence) string {
	read := e.Accepted
	stopped := e.Unsent
	if e.UnreadStdin != nil {
		read -= *e.UnreadStdin
		stopped = stopped || *e.UnreadStdin > 0
	}
	switch {
	case !stopped:
		return "it read the whole request and gave no answer"
	case e.UnreadStdin == nil:
		return "its input took " + stat.FormatBytes(read) + " of what was sent and no more; it " +
			"does not read"
	case read <= 0:
		return "it read nothing of what was sent"
	}
	return "it read " + stat.FormatBytes(read) + " of what was sent, then stopped reading"
}

// A HandshakeError is returned for a command that starts, but cannot be spoken to.
type HandshakeError struct {
	Command []string
	Verdict Verdict  // how the server failed; Corrupt if it writes something that is no answer
	Why     string   // what was tried, and why it failed
	Stderr  []string // its last lines on standard error
	Wrote   bool     // whether it wrote to its output or its standard error

	// fellSilent says that the server answered only the first request.
	fellSilent bool
}

func (e *HandshakeError) Error() string {
	ended := view.EndText(string(e.Verdict), e.Wrote)
	s := fmt.Sprintf("%s: %s: %s", proc.ShellLine(e.Command), ended, e.Why)
	if len(e.Stderr) > 0 {
		s += "; its last words: " + strings.Join(e.Stderr, " | ")
	}
	return s
}

// Failed reports whether the server answers, but not in such a way that its clients can use it.
func (e *HandshakeError) Failed() bool {
	return slices.Contains([]Verdict{WrongLength, InFrames, Unanswered}, e.Verdict)
}

// Advice says what to look at first. The texts of [Verdict.Advice] mostly do not fit a handshake.
func (e *HandshakeError) Advice() string {
	switch e.Verdict {
	case Corrupt:
		return "it writes what is of no protocol that was tried: that belongs on standard error; " +
			"else name its protocol (--protocol of drive) and its framing (--framing)"
	case ErrorReply:
		return "it can be spoken to: look at what it answered, and whether protocol, framing and " +
			"tool are those that it has"
	case Unanswered:
		return "0 is a valid id, with which many clients begin: only a message without the " +
			"member \"id\" needs no answer (so not \"if (id)\", but id !== undefined; in " +
			"Python \"id\" in message)"
	case Deaf:
		if e.fellSilent {
			return AdviceReads
		}
		return "it runs and does not answer: it may not flush its answers, or need an argument " +
			"to serve on its standard streams, another protocol or framing (--protocol of " +
			"drive, --framing), or more time (--start-timeout of drive, --timeout of check)"
	}
	if e.Verdict.Ended() {
		return "it ended before it could be loaded: does it serve on its standard streams with " +
			"these arguments, and does it lack a setting or a file?"
	}
	return e.Verdict.Advice()
}
