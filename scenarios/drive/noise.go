package drive

import (
	"errors"
	"strings"
	"sync"

	"github.com/pipebench/pipebench/framers"
)

// noise is what the server said beside answers.
type noise struct {
	mu            sync.Mutex
	lines         int64 // messages that are no JSON-RPC
	notifications int64
	requests      int64 // of the server's own
	refused       int64 // of them, not answered since too many came at once
	late          int64 // answers that nobody waited for
	first         string
	cut           bool // the last line began as JSON and did not end as such
}

func (n *noise) note(count *int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	*count++
}

// line counts what should not be on a standard output, and keeps the first for the record.
func (n *noise) line(msg []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines++
	n.cut = len(msg) > 0 && msg[0] == '{'
	if n.lines == 1 {
		n.first = shorten(strings.ToValidUTF8(string(msg[:min(len(msg), 2*noted)]), "\uFFFD"), noted)
	}
}

// noted bounds what of a line is kept, in bytes.
const noted = 120

// frame counts a frame that could not be read and after which the next one can; it reports false for any other error.
func (n *noise) frame(err error) bool {
	var header *framers.HeaderError
	var chunk *framers.ChunkError
	switch {
	case errors.As(err, &header):
		n.line([]byte(header.Line))
	case errors.As(err, &chunk):
		n.line([]byte(chunk.Line))
	default:
		return false
	}
	return true
}

// dirty is how many lines were no message, and the first of them.
func (n *noise) dirty() (lines int64, first string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lines, n.first
}

// unasked is how many answers nobody waited for.
func (n *noise) unasked() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.late
}

// torn reports whether the last line was half a message.
func (n *noise) torn() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cut
}
