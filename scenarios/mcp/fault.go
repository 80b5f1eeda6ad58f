package mcp

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// A Fault is a way in which a server misbehaves. With the zero Fault, it behaves well. Package
// catalogue lists the kinds. Some take a size in bytes:
//
//	deaf@1MiB    reads nothing after the first message above 1 MiB
//	trickle=16B  writes 16 bytes at a time
//	reorder      answers in another order; takes no size
type Fault struct {
	Kind  string // a name in the catalogue
	Bytes int64  // the size after @ or =; for @, 0 means the first message after the handshake
}

// ParseFault reads a fault such as "deaf@1MiB".
func ParseFault(spec string) (Fault, error) {
	name, sign, size := catalogue.Cut(spec) // sign is '@' or '='; 0 if there is no size
	kind, err := catalogue.Find(catalogue.Faults(), name)
	if err != nil {
		return Fault{}, fmt.Errorf("unknown fault %q: %w", name, err)
	}
	f := Fault{Kind: name, Bytes: kind.Default}
	switch {
	case sign == 0:
		return f, nil
	case kind.Sign == 0:
		return Fault{}, fmt.Errorf("fault %s: takes no size, got %q", name, spec[len(name):])
	case sign != kind.Sign:
		want := fmt.Sprintf("%s%cSIZE", name, kind.Sign)
		return Fault{}, fmt.Errorf("fault %s: write its size as %s, got %q", name, want, spec)
	}
	f.Bytes, err = results.ParseSize(size)
	if err != nil {
		return Fault{}, fmt.Errorf("fault %s: %w", name, err)
	}
	if f.Bytes == 0 && kind.Sign == '=' {
		return Fault{}, fmt.Errorf("fault %s: a size of 0 does nothing: want more", name)
	}
	return f, nil
}

// A faultInjector makes a server misbehave where it reads, answers or writes. Without a fault, it
// changes nothing.
type faultInjector struct {
	Fault
	s              *Server
	deaf           bool        // the fault "deaf" has begun: no message is served any more
	afterHandshake atomic.Bool // the answer that is being sent comes after the handshake
	order          reverser
	parent         int // the process that started this one
}

func (f *faultInjector) reader(opts ...framers.Option) framers.Reader {
	in := f.s.in
	limit := f.s.opts.MaxMessage
	switch f.Kind {
	case "split-utf8":
		in = &chunkDecoder{r: in, piece: int(f.Bytes)}
	case "quadratic":
		return &quadraticReader{r: in, chunk: make([]byte, 4096)}
	case "never-read": // reading stops at the first message above the limit
		limit = cmp.Or(int(f.Bytes), 16<<10) // the messages of a handshake are smaller
	}
	return f.s.opts.Framing.NewReader(in, append(opts, framers.WithMaxMessage(limit))...)
}

// mux returns what sends the server's messages to w, as the fault demands.
func (f *faultInjector) mux(w io.Writer) *framers.Mux {
	opts := []framers.Option{framers.WithWait(f.s.opts.Wait)}
	switch f.Kind {
	case "dirty":
		w = dirty(w)
	case "trickle":
		opts = append(opts, framers.WithWriteSize(int(f.Bytes)))
	case "truncate-at-exit":
		w = f.truncate(w)
	}
	return framers.NewMux(w, f.s.opts.Framing, opts...)
}

// truncate returns a stream to w that cuts short the first frame larger than f.Bytes, and then ends
// the server. If f.Bytes is 0, it cuts the first frame after the handshake in half.
func (f *faultInjector) truncate(w io.Writer) io.Writer {
	gone := false
	at := int(f.Bytes)
	return writerFunc(func(p []byte) (int, error) {
		if gone {
			return len(p), nil
		}
		fits := len(p) <= at+1 // one byte is the terminator, which does not count
		isHandshake := !f.afterHandshake.Load()
		if fits || at == 0 && isHandshake {
			return w.Write(p)
		}
		if at == 0 {
			at = len(p) / 2
		}
		gone = true
		_, err := w.Write(p[:at])
		if err != nil {
			return 0, err
		}
		f.s.abort(nil)
		return len(p), nil
	})
}

// handle lets the server handle a message of size bytes, unless the fault says otherwise. malformed
// is the error of jsonrpc.Parse, or nil.
func (f *faultInjector) handle(size int, m jsonrpc.Message, malformed error) {
	s := f.s
	opens := malformed == nil && slices.Contains(OpeningMethods, m.Method)
	beyond := int64(size) > f.Bytes
	if f.Bytes == 0 {
		beyond = !opens
	}
	switch {
	case f.deaf, f.Kind == "deaf" && beyond:
		f.deaf = true
	case f.Kind == "exit0" && beyond:
		s.abort(nil)
	case f.Kind == "limit" && beyond:
		what := fmt.Sprintf("message of %d bytes exceeds the limit of %d", size, f.Bytes)
		s.abort(fmt.Errorf("read request: %s", what))
	case f.Kind == "error" && beyond && m.Kind() == jsonrpc.Request:
		s.sendError(m.ID, jsonrpc.CodeInvalidRequest, "Request too large")
	case f.Kind == "never-read" && f.Bytes == 0 && beyond:
		f.stopReading()
	case oddVersions[f.Kind] != "" && m.Method == "server/discover":
		s.sendError(m.ID, jsonrpc.CodeMethodNotFound, "Method not found")
	default:
		s.handle(size, m, malformed)
	}
}

// stopReading leaves the input unread until the server is stopped, or until this process has lost
// its parent.
func (f *faultInjector) stopReading() {
	// Without a parent, go on for three seconds more, so that a test can see that the server was
	// left behind.
	for orphaned := 0; orphaned < 3; {
		select {
		case <-f.s.drained.Done():
			return
		case <-time.After(time.Second):
		}
		if os.Getppid() != f.parent {
			orphaned++
		}
	}
	f.s.abort(nil)
	<-f.s.drained.Done()
}

// oddVersions holds, by kind of fault, the protocol version in the answer to "initialize". With
// such a fault, "server/discover" is refused, so that clients send "initialize".
var oddVersions = map[string]string{"odd-version": "1999-12-31", "old-version": "2024-11-05"}

// reply returns what to send in place of msg, the answer to r. Call done after sending.
func (f *faultInjector) reply(r *request, msg []byte) (_ []byte, done func()) {
	switch f.Kind {
	case "stderr-flood":
		flood(f.s.opts.Stderr, f.Bytes)
	case "corrupt":
		if r.method == "tools/call" && int64(len(msg)) > f.Bytes {
			corrupt(msg)
		}
	case "large-answer":
		if r.method == "tools/call" {
			msg = recordedAnswer{size: int(f.Bytes)}.message(r)
		}
	case "truncate-at-exit":
		f.afterHandshake.Store(!slices.Contains(OpeningMethods, r.method))
	case "reorder":
		return msg, f.order.wait()
	}
	return msg, func() {}
}

// A chunkDecoder decodes its input as UTF-8 in pieces of a fixed size, and loses characters that
// lie across two pieces, as some programs do.
type chunkDecoder struct {
	r     io.Reader
	piece int    // the size of a piece, in bytes
	at    int    // how many bytes of the current piece were read
	tail  []byte // the beginning of a character that the rest of the piece may complete
	ready []byte // decoded, and not read yet
	err   error
}

func (d *chunkDecoder) Read(p []byte) (int, error) {
	for len(d.ready) == 0 && d.err == nil {
		raw := make([]byte, min(d.piece-d.at, 64<<10)) // not beyond the end of the piece
		size, err := d.r.Read(raw)
		d.err = err
		d.at += size
		text := append(d.tail, raw[:size]...)
		end := len(text)
		if d.at < d.piece && err == nil {
			end = lastBoundary(text)
		} else {
			d.at = 0
		}
		d.tail = bytes.Clone(text[end:])
		d.ready = bytes.ToValidUTF8(text[:end], []byte("\uFFFD"))
	}
	n := copy(p, d.ready)
	d.ready = d.ready[n:]
	if n == 0 {
		return 0, d.err
	}
	return n, nil
}

// lastBoundary returns the length of text without an incomplete character at its end.
func lastBoundary(text []byte) int {
	for i := 1; i <= min(utf8.UTFMax-1, len(text)); i++ {
		at := len(text) - i
		if utf8.RuneStart(text[at]) && !utf8.FullRune(text[at:]) {
			return at
		}
	}
	return len(text)
}

// A quadraticReader reads lines as some programs do: after each read, it copies and searches all
// that came before.
type quadraticReader struct {
	r     io.Reader
	chunk []byte // the buffer of a read
	held  []byte // what was read and not returned yet
	err   error
}

func (q *quadraticReader) ReadMessage() ([]byte, error) {
	for {
		line, rest, found := bytes.Cut(q.held, []byte("\n"))
		if found {
			q.held = rest
			line = bytes.TrimSpace(line)
			if len(line) > 0 {
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

// A writerFunc is the Write method of a stream. Each call gets one frame.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

var dirtyLines = []string{
	"Weather server running on stdio\n",
	"\n",
	"[debug] request served {not json}\n",
	`{"level":"info","msg":"looks like a message, is none"}` + "\n",
	"   \t\n",
}

// dirty returns a stream that writes each frame to w, after a line that is no message.
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

// flood writes n bytes of lines to w, like a server that logs too much.
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

// corrupt alters one letter or digit of the text that a tool returned. msg stays valid JSON.
func corrupt(msg []byte) {
	text := bytes.Index(msg, []byte(`"text":"`)) + len(`"text":"`)
	for i := max(len(msg)/2, text); i < len(msg); i++ {
		switch c := msg[i]; {
		case msg[i-1] == '\\': // part of an escape: altering it could break the JSON
		case c >= 'a' && c < 'z', c >= 'A' && c < 'Z', c >= '1' && c < '9':
			msg[i]++
			return
		case c == 'z', c == 'Z', c == '9':
			msg[i]--
			return
		}
	}
}

// reorderWindow is how long an answer waits so that others can overtake it. Requests that are sent
// together are only microseconds apart.
const reorderWindow = 20 * time.Millisecond

// A reverser holds answers back for the time reorderWindow, and then lets them be sent in the
// reverse order.
type reverser struct {
	mu sync.Mutex
	// last is closed to let the newest answer be sent. It is nil if no answer waits.
	last chan struct{}
}

// wait waits until the caller may send its answer. The caller must call done after sending.
func (v *reverser) wait() (done func()) {
	turn := make(chan struct{})
	v.mu.Lock()
	before := v.last // its answer is sent after the caller's
	v.last = turn
	v.mu.Unlock()
	if before == nil {
		time.AfterFunc(reorderWindow, v.start)
	}
	<-turn
	return func() {
		if before != nil {
			close(before)
		}
	}
}

// start ends a window: it lets the newest answer be sent.
func (v *reverser) start() {
	v.mu.Lock()
	defer v.mu.Unlock()
	close(v.last)
	v.last = nil
}
