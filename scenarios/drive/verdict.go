package drive

import (
	"fmt"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

// A Verdict is how a server met a request. Two of them carry a number: "exit 3", "signal SIGKILL".
// Its Advice says what it usually means and what to look at first.
type Verdict = target.Verdict

// Verdicts.
const (
	OK         = target.OK
	Slow       = target.Slow       // answered, in over ten times what its neighbours suggest
	ErrorReply = target.ErrorReply // answered with an error
	Unanswered = target.Unanswered // lives and answers others; this request got nothing
	Deaf       = target.Deaf       // lives and answers nothing
	Deadlock   = target.Deadlock   // both ends wait to write into a pipe that nobody reads
	Corrupt    = target.Corrupt    // the answer is not what was sent
	Truncated  = target.Truncated  // the answer ends too early
	Buffered   = target.Buffered   // answers come at the end of input alone
	Endless    = target.Endless    // no end of a message within [Options.MaxReply]
	Overloaded = target.Overloaded // of a load: requests that were due could not be sent
	Differs    = target.Differs    // of a replay: answers are not as recorded
	CannotTell = target.CannotTell // of a replay: what was recorded is redacted

	// Superlinear is of a whole sweep: time grows faster than size, and not by chance.
	Superlinear = target.Superlinear
)

// A StartError is returned when the command could not be started at all.
type StartError = target.StartError

// A HandshakeError is returned for a command that starts and cannot be spoken to. Its Advice says
// what to look at first.
type HandshakeError = target.HandshakeError

// A Sink takes each record as it is finished. An error from it ends the work.
type Sink func(results.Line) error

// warn adds a warning to a record.
func warn(t *results.Target, format string, args ...any) {
	t.Warnings = append(t.Warnings, fmt.Sprintf(format, args...))
}

// setFailure makes t the record of a request that was not served.
func setFailure(t *results.Target, out target.Outcome) {
	setVerdict(t, out.Verdict)
	t.Evidence.Failure = out.Evidence
	t.Evidence.Why = out.Why
}

func setVerdict(t *results.Target, v Verdict) {
	t.Verdict = string(v)
	t.Evidence.Advice = v.Advice()
}
