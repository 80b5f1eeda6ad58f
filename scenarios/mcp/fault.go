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

// A Fault is a way in which a server misbehaves, as scenarios/catalogue lists them. Its spec is a
// kind, and a size in bytes if the kind takes one:
//
//	deaf@1MiB    messages up to 1 MiB are served; the first larger one triggers the fault
//	trickle=16B  a quantity of the fault itself
//	reorder      takes none
//
// Sizes are bytes of a message, without its terminator. A threshold of 0 is reached by the first
// message after the handshake, or by the answer to it, whatever their sizes. The zero Fault is no
// fault.
type Fault struct {
	Kind  string // a name of the catalogue
	Bytes int64  // threshold or quantity
}

// ParseFault reads a spec.
func ParseFault(spec string) (Fault, error) {
	name, sign, size := catalogue.Cut(spec) // sign is '@', '=', or 0 if there is no size
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

// String returns the spec of f, which ParseFault takes back; "" for none.
func (f Fault) String() string {
	kind, err := catalogue.Find(catalogue.Faults(), f.Kind)
	if err != nil {
		return f.Kind
	}
	return kind.Spec(f.Bytes)
}

// A faultInjector makes a server behave as its Fault says. It is asked wherever the server reads,
// answers and writes; without a fault it changes nothing.
type faultInjector struct {
	Fault
	s      *Server
	deaf   bool        // the fault "deaf" has begun: no message is served any more
	past   atomic.Bool // the answer that is being sent comes after the handshake
	order  reverser
	parent int // the process that started this one
}

// reader returns the reader of the server's input.
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

// output returns the stream that the server writes to.
func (f *faultInjector) output(w io.Writer) io.Writer {
	switch f.Kind {
	case "dirty":
		return dirty(w)
	case "trickle":
		return trickle(w, int(f.Bytes))
	case "truncate-at-exit":
		return f.truncate(w)
	}
	return w
}

// truncate returns a stream that writes to w until the first frame that is larger than Bytes. It
// writes only the beginning of that frame, and ends the server. If Bytes is 0, it cuts the first
// frame after the handshake in half.
func (f *faultInjector) truncate(w io.Writer) io.Writer {
	gone := false
	at := int(f.Bytes)
	return writerFunc(func(p []byte) (int, error) {
		if gone {
			return len(p), nil
		}
		fits := len(p) <= at+1 // the terminator is no part of the message
		isHandshake := !f.past.Load()
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

// handle gets each message that was read, and has the server handle it unless the fault says
// otherwise. The parameters are those of [Server.handle].
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

// stopReading leaves the input unread until the server is stopped. A server that does not read does
// not see its client go, so it looks whether it has been given to another parent, and ends after
// three looks: long enough for a check to see that it was left behind.
func (f *faultInjector) stopReading() {
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

// oddVersions are the versions of the protocol with which faults answer initialize. Servers with
// these faults refuse server/discover, which clients may send instead.
var oddVersions = map[string]string{"odd-version": "1999-12-31", "old-version": "2024-11-05"}

// reply returns what to send in place of msg, the answer to r. The caller calls done after sending.
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
		f.past.Store(!slices.Contains(OpeningMethods, r.method))
	case "reorder":
		return msg, f.order.wait()
	}
	return msg, func() {}
}

// A chunkDecoder decodes its input in pieces that end at every multiple of a size, however the
// bytes arrive. A character that lies across such an end is lost, as in a program that turns each
// chunk it reads into text by itself.
type chunkDecoder struct {
	r     io.Reader
	piece int    // bytes of a piece
	at    int    // bytes of the current piece that were read
	tail  []byte // the beginning of a character that the piece may still complete
	ready []byte // decoded, and not read yet
	err   error
}

func (d *chunkDecoder) Read(p []byte) (int, error) {
	for len(d.ready) == 0 && d.err == nil {
		raw := make([]byte, min(d.piece-d.at, 64<<10)) // to the end of the piece at most
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

// lastBoundary returns where the last character of text begins if that character is incomplete,
// else the length of text.
func lastBoundary(text []byte) int {
	for i := 1; i <= min(utf8.UTFMax-1, len(text)); i++ {
		at := len(text) - i
		if utf8.RuneStart(text[at]) && !utf8.FullRune(text[at:]) {
			return at
		}
	}
	return len(text)
}

// A quadraticReader reads lines as some programs do: it joins each chunk with all that came before,
// and searches the whole for a newline. The time per byte grows with the message.
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

// A writerFunc is the Write of a stream that gets one frame per call.
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

// trickle writes at most piece bytes per call.
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

// flood writes n bytes of lines to w, and waits until they are taken, as a server does that logs
// too much.
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

// corrupt alters one letter or digit: near the middle of msg, or at the beginning of its text if
// that comes later. msg stays JSON.
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

// reorderWindow is the time that an answer waits for others to overtake it: long compared with the
// microseconds between requests that are sent together, short compared with a client's timeout.
const reorderWindow = 20 * time.Millisecond

// A reverser collects the answers that come within a reorderWindow, and then lets them be sent in
// the reverse order, one at a time.
type reverser struct {
	mu sync.Mutex
	// last is closed to let the answer that came last be sent. It is nil if no answer waits.
	last chan struct{}
}

// wait returns when the caller may send its answer; done lets the answer that came before be sent.
func (v *reverser) wait() (done func()) {
	turn := make(chan struct{})
	v.mu.Lock()
	before := v.last // goes after the caller
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

// start ends a window and gives the turn to its last answer.
func (v *reverser) start() {
	v.mu.Lock()
	defer v.mu.Unlock()
	close(v.last)
	v.last = nil
}
