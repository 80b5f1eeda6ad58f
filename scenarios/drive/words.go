package drive

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// lastWords is how much of standard error is kept, in bytes.
const lastWords = 8 << 10

// words is what the server wrote to standard error: how much, and the end of it.
type words struct {
	mu    sync.Mutex
	total int64
	last  []byte
}

// take reads r to its end.
func (w *words) take(r io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		w.add(buf[:n])
		if err != nil {
			return
		}
	}
}

func (w *words) add(p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total += int64(len(p))
	if len(p) >= lastWords {
		w.last = append(w.last[:0], p[len(p)-lastWords:]...)
		return
	}
	if over := len(w.last) + len(p) - lastWords; over > 0 {
		w.last = append(w.last[:0], w.last[over:]...)
	}
	w.last = append(w.last, p...)
}

// bytes is how much was written so far.
func (w *words) bytes() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.total
}

// quoted bounds what of the last lines goes into a record.
const (
	quotedLines = 5
	quotedBytes = 300
)

// lines are the last lines, shortened.
func (w *words) lines() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for line := range bytes.Lines(w.last) {
		if s := strings.ToValidUTF8(string(bytes.TrimSpace(line)), "\uFFFD"); s != "" {
			out = append(out, shorten(s, quotedBytes))
		}
	}
	return out[max(0, len(out)-quotedLines):]
}

// shorten cuts a text that is too long to be read.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
