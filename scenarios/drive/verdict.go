package drive

import (
	"fmt"
	"strings"
)

// A Verdict is how a server met a request. Two of them carry a number: "exit 3", "signal killed".
type Verdict string

const (
	OK         Verdict = "ok"
	Slow       Verdict = "slow"        // answered, in over ten times what its neighbours in size suggest
	ErrorReply Verdict = "error reply" // answered with an error
	Unanswered Verdict = "unanswered"  // lives and answers others; this request got nothing
	Deaf       Verdict = "deaf"        // lives and answers nothing
	Deadlock   Verdict = "deadlock"    // both ends wait to write into a pipe that the other does not read
	Corrupt    Verdict = "corrupt"     // the answer is not what was sent
	Truncated  Verdict = "truncated"   // the answer ends too early

	Superlinear Verdict = "grows faster than linear" // of a whole sweep: time grows faster than size, and not by chance
)

const (
	exitPrefix   = "exit "
	signalPrefix = "signal "
)

// Works reports whether the request was served.
func (v Verdict) Works() bool { return v == OK || v == Slow }

// Ended reports whether the server's process ended over it.
func (v Verdict) Ended() bool {
	return strings.HasPrefix(string(v), exitPrefix) || strings.HasPrefix(string(v), signalPrefix)
}

func exited(code int) Verdict { return Verdict(fmt.Sprint(exitPrefix, code)) }

func signaled(name string) Verdict { return Verdict(signalPrefix + name) }

// Advice says what a verdict usually means and what to look at first; "" for one that needs none.
func (v Verdict) Advice() string {
	switch {
	case v == OK:
		return ""
	case v == exited(0):
		return "the server left without a word and with exit status 0: look for a limit on the length of a line whose error ends the read loop, and answer with a JSON-RPC error instead"
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
	Truncated:   "the answer was cut: flush before exit, and write again what a non-blocking stream did not take",
}
