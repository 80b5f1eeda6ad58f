package proc

import (
	"cmp"
	"strings"
	"sync"
)

// A Tail is a writer that keeps the last Limit bytes that are written to it.
type Tail struct {
	Limit int // bytes; 0 means 4096

	mu    sync.Mutex
	last  []byte
	total int64
}

func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	limit := cmp.Or(t.Limit, 4096)
	t.total += int64(len(b))
	t.last = append(t.last, b[max(0, len(b)-limit):]...)
	if over := len(t.last) - limit; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
	}
	return len(b), nil
}

// Total returns how many bytes were written so far.
func (t *Tail) Total() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total
}

// String returns what was kept, without white space at its beginning and end.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.last))
}
