package mcpstdio

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"time"
	"unicode/utf8"
)

// A chunkDecoder decodes its input in pieces that end at every multiple of a size, however the
// bytes arrive: a character that lies across such an end is lost, as it is for a program that turns
// each chunk it reads into text by itself.
type chunkDecoder struct {
	r     io.Reader
	piece int
	at    int    // in the piece
	tail  []byte // the beginning of a character that the piece may still complete
	ready []byte
	err   error
}

func (d *chunkDecoder) Read(p []byte) (int, error) {
	for len(d.ready) == 0 && d.err == nil {
		raw := make([]byte, min(d.piece-d.at, 64<<10)) // to the end of the piece at most
		size, err := d.r.Read(raw)
		d.err = err
		d.at += size
		text := append(d.tail, raw[:size]...)
		whole := len(text)
		if d.at < d.piece && err == nil {
			whole = lastBoundary(text)
		} else {
			d.at = 0
		}
		d.tail = append([]byte(nil), text[whole:]...)
		d.ready = bytes.ToValidUTF8(text[:whole], []byte("\uFFFD"))
	}
	n := copy(p, d.ready)
	d.ready = d.ready[n:]
	if n == 0 {
		return 0, d.err
	}
	return n, nil
}

// lastBoundary returns where the character that text ends inside begins, or the length of a text
// that ends with a whole one.
func lastBoundary(text []byte) int {
	for i := 1; i <= min(utf8.UTFMax-1, len(text)); i++ {
		if at := len(text) - i; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				return at
			}
			break
		}
	}
	return len(text)
}

// A quadraticReader reads lines as a program does that joins all it has with each chunk that comes
// and searches the whole for a newline: the time for a byte grows with the message.
type quadraticReader struct {
	r     io.Reader
	chunk []byte
	held  []byte
	err   error
}

func (q *quadraticReader) ReadMessage() ([]byte, error) {
	for {
		if i := bytes.IndexByte(q.held, '\n'); i >= 0 {
			line := q.held[:i]
			q.held = q.held[i+1:]
			if line = bytes.TrimSpace(line); len(line) > 0 {
				return line, nil
			}
			continue
		}
		if q.err != nil {
			return nil, q.err
		}
		var n int
		n, q.err = q.r.Read(q.chunk)
		q.held = slices.Concat(q.held, q.chunk[:n])
	}
}

// A writerFunc is the Write of a stream that gets one frame a call.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

var dirtyLines = []string{
	"Weather server running on stdio\n",
	"\n",
	"[debug] request served {not json}\n",
	`{"level":"info","msg":"looks like a message, is none"}` + "\n",
	"   \t\n",
}

// dirty writes a line that is no message before each answer.
func dirty(w io.Writer) io.Writer {
	count := 0
	return writerFunc(func(p []byte) (int, error) {
		if _, err := io.WriteString(w, dirtyLines[count%len(dirtyLines)]); err != nil {
			return 0, err
		}
		count++
		return w.Write(p)
	})
}

// trickle writes in small pieces.
func trickle(w io.Writer, piece int) io.Writer {
	return writerFunc(func(p []byte) (n int, err error) {
		for n < len(p) && err == nil {
			var k int
			k, err = w.Write(p[n:min(n+piece, len(p))])
			n += k
		}
		return n, err
	})
}

// flood writes n bytes of lines to w, as a server that logs too much does: it waits until they are
// taken.
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

// corrupt alters one letter or digit near the middle of msg, or in the text it brings where that
// comes later; msg stays JSON.
func corrupt(msg []byte) {
	text := bytes.Index(msg, []byte(`"text":"`)) + len(`"text":"`)
	for i := max(len(msg)/2, text); i < len(msg); i++ {
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

// reorderWindow is the time that an answer waits for others to overtake it: long compared with the
// microseconds between requests that are sent together, short compared with a client's timeout.
const reorderWindow = 20 * time.Millisecond

// A reverser sends the answers of a window in the reverse order, one at a time.
type reverser struct {
	mu    sync.Mutex
	batch []chan struct{}
}

// wait returns when the caller may send its answer; done lets the next one send.
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
