package mcpstdio

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// A dirtyWriter writes what is no answer before each answer. It gets one frame a call.
type dirtyWriter struct {
	w     io.Writer
	count int
}

var dirtyLines = []string{
	"Weather server running on stdio\n",
	"\n",
	"[debug] request served {not json}\n",
	`{"level":"info","msg":"looks like a message, is none"}` + "\n",
	"   \t\n",
}

func (d *dirtyWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(d.w, dirtyLines[d.count%len(dirtyLines)]); err != nil {
		return 0, err
	}
	d.count++
	return d.w.Write(p)
}

// A trickleWriter writes in small pieces.
type trickleWriter struct {
	w     io.Writer
	piece int
}

func (t *trickleWriter) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var k int
		k, err = t.w.Write(p[n:min(n+t.piece, len(p))])
		n += k
	}
	return n, err
}

// A truncatingWriter ends in the middle of the first frame larger than a size.
type truncatingWriter struct {
	w     io.Writer
	at    int
	abort func(error)
	gone  bool
}

func (t *truncatingWriter) Write(p []byte) (int, error) {
	if t.gone {
		return len(p), nil
	}
	if len(p) <= t.at+1 { // the terminator is no part of the message
		return t.w.Write(p)
	}
	t.gone = true
	if _, err := t.w.Write(p[:t.at]); err != nil {
		return 0, err
	}
	t.abort(nil)
	return len(p), nil
}

// flood writes n bytes of lines to w, as a server that logs too much does: it waits until they are taken.
func flood(w io.Writer, n int64) {
	line := []byte("DEBUG handling a request and saying so at some length, again\n")
	block := bytes.Repeat(line, 1+int(min(n, 32<<10))/len(line))
	for n > 0 {
		k, err := w.Write(block[:min(n, int64(len(block)))])
		if err != nil {
			return
		}
		n -= int64(k)
	}
}

// corrupt alters one letter or digit near the middle of msg, which stays JSON.
func corrupt(msg []byte) {
	for i := len(msg) / 2; i < len(msg); i++ {
		switch c := msg[i]; {
		case msg[i-1] == '\\':
		case c >= 'a' && c < 'z', c >= 'A' && c < 'Z', c >= '1' && c < '9':
			msg[i]++
			return
		case c == 'z', c == 'Z', c == '9':
			msg[i]--
			return
		}
	}
}

// reorderWindow is how long an answer waits for others to overtake it: long beside the microseconds between requests that are
// sent together, short beside a client's patience.
const reorderWindow = 20 * time.Millisecond

// A reverser lets those that come within a window go in the reverse order, one at a time.
type reverser struct {
	mu    sync.Mutex
	batch []chan struct{}
}

// wait returns when it is the caller's turn; the next one's is when done is called.
func (v *reverser) wait() (done func()) {
	turn := make(chan struct{})
	v.mu.Lock()
	var before chan struct{} // goes after the caller
	if n := len(v.batch); n > 0 {
		before = v.batch[n-1]
	} else {
		time.AfterFunc(reorderWindow, v.start)
	}
	v.batch = append(v.batch, turn)
	v.mu.Unlock()
	<-turn
	return func() {
		if before != nil {
			close(before)
		}
	}
}

// start gives the turn to the last of the batch.
func (v *reverser) start() {
	v.mu.Lock()
	batch := v.batch
	v.batch = nil
	v.mu.Unlock()
	close(batch[len(batch)-1])
}
