package target

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pipebench/pipebench/results/view"
)

// Strays are what a server wrote besides the answers that were waited for.
type Strays struct {
	Unasked atomic.Int64 // answers that nobody waited for

	mu    sync.Mutex
	lines int64 // messages that are no JSON-RPC
	first string
	cut   bool // the last line began as JSON and did not end as such
}

// strayText bounds how much of a line is kept, in characters.
const strayText = 120

// add counts a line that does not belong on standard output, and keeps the first for the record.
func (s *Strays) add(msg []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines++
	s.cut = len(msg) > 0 && msg[0] == '{'
	if s.lines == 1 {
		text := strings.ToValidUTF8(string(msg[:min(len(msg), 2*strayText)]), "\uFFFD")
		s.first = view.Truncate(text, strayText)
	}
}

// Lines returns how many lines were no message, and the first of them.
func (s *Strays) Lines() (n int64, first string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines, s.first
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
	s.lines = 0
	s.first = ""
	s.cut = false
}
