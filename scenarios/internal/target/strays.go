package target

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

// Strays are what a server wrote in addition to the answers that we waited for.
type Strays struct {
	Unasked atomic.Int64 // answers that nobody waited for

	mu               sync.Mutex
	lines            arrivals // lines that are no JSON-RPC
	isLastLikeObject bool     // the last of these lines began with {
	untaken          arrivals // lines and messages since the last takeArrivals
}

// arrivals say how many lines or messages came, and how the first of them began.
type arrivals struct {
	n       int64
	first   string
	foreign bool // the first is no JSON-RPC
}

// strayText is how many characters of a message are kept.
const strayText = 120

// add counts a line or a message. The parameter foreign says that it is not JSON-RPC.
func (a *arrivals) add(msg []byte, foreign bool) {
	a.n++
	if a.n == 1 {
		text := strings.ToValidUTF8(string(msg[:min(len(msg), 2*strayText)]), "\uFFFD")
		a.first = view.Truncate(text, strayText)
		a.foreign = foreign
	}
}

// String returns the number of arrivals and the beginning of the first.
func (a arrivals) String() string {
	n := int(a.n)
	if a.foreign {
		return results.FormatCount(n, "line") + " without a whole JSON-RPC message: " + a.first
	}
	return results.FormatCount(n, "other message") + ": " + a.first
}

// addLine counts a line that is no JSON-RPC and does not belong on standard output.
func (s *Strays) addLine(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.untaken.add(line, true /* foreign */)
	s.lines.add(line, true /* foreign */)
	s.isLastLikeObject = len(line) > 0 && line[0] == '{'
}

// addMessage counts a JSON-RPC message that is not the awaited answer.
func (s *Strays) addMessage(msg []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.untaken.add(msg, false /* foreign */)
}

// takeArrivals returns what came since the last call of takeArrivals.
func (s *Strays) takeArrivals() arrivals {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.untaken
	s.untaken = arrivals{}
	return taken
}

// Lines returns how many lines were not JSON-RPC, and the beginning of the first.
func (s *Strays) Lines() (n int64, first string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines.n, s.lines.first
}

// mayEndInHalf reports whether the last line that was not JSON-RPC may be the first half of a
// message.
func (s *Strays) mayEndInHalf() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isLastLikeObject
}

// forgetLines drops the lines that were counted, because they turned out to be messages.
func (s *Strays) forgetLines() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = arrivals{}
	s.isLastLikeObject = false
}
