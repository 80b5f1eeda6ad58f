package target

import (
	"bytes"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results/view"
)

// Strays are what a server said beside answers that were waited for.
type Strays struct {
	Unasked atomic.Int64 // answers that nobody waited for

	mu    sync.Mutex
	lines int64 // messages that are no JSON-RPC
	first string
	cut   bool // the last line began as JSON and did not end as such
	chunk int  // bytes of the first line that reads as a chunk, with its newline; 0 for none
}

// strayText bounds what of a line is kept, in characters.
const strayText = 120

// add counts what should not be on a standard output, and keeps the first for the record.
func (s *Strays) add(msg []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines++
	s.cut = len(msg) > 0 && msg[0] == '{'
	if s.chunk == 0 && isChunk(msg) {
		s.chunk = len(msg) + 1
	}
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

// forget drops what was taken for no message and was one.
func (s *Strays) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = 0
	s.first = ""
	s.cut = false
}

// A server in the adaptive framing answers in bare lines as long as they fit, as one of ndjson
// does. The first chunk that it sends tells them apart, which may come with any answer.

// longestHeader is within how many bytes the header of a chunk ends.
const longestHeader = 200

// isChunk reports whether a line reads as the first of several chunks of a message.
func isChunk(line []byte) bool {
	start := line[:min(len(line), longestHeader)]
	if !bytes.Contains(start, []byte(":0:")) {
		return false
	}
	found := false
	see := framers.WithProgress(func(c framers.Chunk) {
		found = c.ID != nil && c.Index == 0 && c.Total > 1
	})
	chunks, err := framers.Chunked(0)
	if err != nil {
		return false
	}
	text := append(bytes.Clone(start), '\n')
	_, err = chunks.NewReader(bytes.NewReader(text), see).ReadMessage()
	return found && err != nil // the message is not whole
}

// Chunks returns the framing of a server that was taken for one of ndjson and has sent a chunk,
// with chunks as long as its own; nil if it has not, or the framing is not ours to choose.
func (s *Server) Chunks() framers.Framing {
	s.Strays.mu.Lock()
	size := s.Strays.chunk
	s.Strays.mu.Unlock()
	if size == 0 || s.o.Framing != "" || s.Framing().String() != "ndjson" {
		return nil
	}
	f, err := framers.Adaptive(size)
	if err != nil {
		return nil
	}
	return f
}
