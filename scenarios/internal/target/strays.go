package target

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

// Strays are what a server wrote besides the answers that were waited for.
type Strays struct {
	Unasked atomic.Int64 // answers that nobody waited for

	mu    sync.Mutex
	lines arrivals // messages that are no JSON-RPC
	cut   bool     // the last of these lines began like JSON, so it may be half a message
	since arrivals // all that came since a request was sent, except the answer to it
}

// arrivals say how many messages came, and how the first one began.
type arrivals struct {
	n       int64
	first   string
	foreign bool // the first is no JSON-RPC
}

// strayText is the number of characters of a message that are kept.
const strayText = 120

// add counts a message; foreign says that it is no JSON-RPC.
func (a *arrivals) add(msg []byte, foreign bool) {
	a.n++
	if a.n == 1 {
		text := strings.ToValidUTF8(string(msg[:min(len(msg), 2*strayText)]), "\uFFFD")
		a.first = view.Truncate(text, strayText)
		a.foreign = foreign
	}
}

func (a arrivals) String() string {
	n := int(a.n)
	if a.foreign {
		return results.FormatCount(n, "line") + " without a whole JSON-RPC message: " + a.first
	}
	return results.FormatCount(n, "other message") + ": " + a.first
}

// add counts a line that is no JSON-RPC and does not belong on standard output.
func (s *Strays) add(msg []byte) {
	s.note(msg, true /* foreign */)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines.add(msg, true /* foreign */)
	s.cut = len(msg) > 0 && msg[0] == '{'
}

// note counts a message that does not answer the request that was sent last.
func (s *Strays) note(msg []byte, foreign bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since.add(msg, foreign)
}

// takeArrivals returns what came since the last call of takeArrivals.
func (s *Strays) takeArrivals() arrivals {
	s.mu.Lock()
	defer s.mu.Unlock()
	since := s.since
	s.since = arrivals{}
	return since
}

// Lines returns how many lines were no message, and the first of them.
func (s *Strays) Lines() (n int64, first string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines.n, s.lines.first
}

// endsInHalf reports whether the last line was half a message.
func (s *Strays) endsInHalf() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cut
}

// forget drops the lines so far: they were messages after all.
func (s *Strays) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = arrivals{}
	s.cut = false
}
