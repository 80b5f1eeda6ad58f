package mcpstdio

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// faultInjector is a Fault at work: it stands in the way of a server at five places. Without a fault it does nothing anywhere.
type faultInjector struct {
	Fault
	s      *Server
	deaf   bool
	order  reverser
	parent int // the process that started this one
}

func newFaultInjector(s *Server, f Fault) *faultInjector {
	return &faultInjector{Fault: f, s: s, parent: os.Getppid()}
}

// handshakeBytes is more than a handshake's messages have.
const handshakeBytes = 16 << 10

// limit is the largest message that the framing delivers.
func (m *faultInjector) limit(limit int) int {
	switch {
	case m.Kind != "never-read":
		return limit
	case m.Bytes == 0:
		return handshakeBytes
	}
	return int(m.Bytes)
}

// framing is how the server reads.
func (m *faultInjector) framing(f framers.Framing) framers.Framing {
	if m.Kind == "quadratic" {
		return quadratic{f}
	}
	return f
}

// input is what the server reads from.
func (m *faultInjector) input(r io.Reader) io.Reader {
	if m.Kind == "split-utf8" {
		return &chunkDecoder{r: r, piece: int(m.Bytes)}
	}
	return r
}

// output is what the server writes to.
func (m *faultInjector) output(w io.Writer) io.Writer {
	switch m.Kind {
	case "dirty":
		return &dirtyWriter{w: w}
	case "trickle":
		return &trickleWriter{w: w, piece: int(m.Bytes)}
	case "truncate-at-exit":
		return &truncatingWriter{w: w, at: int(m.Bytes), abort: m.s.abort}
	}
	return w
}

// handle gets each message that was read, and serves it unless the fault says otherwise.
func (m *faultInjector) handle(line []byte) {
	s := m.s
	beyond := int64(len(line)) > m.Bytes
	switch {
	case m.deaf, m.Kind == "deaf" && beyond:
		m.deaf = true
	case m.Kind == "exit0" && beyond:
		s.abort(nil)
	case m.Kind == "limit" && beyond:
		s.abort(fmt.Errorf("read request: message of %d bytes exceeds the limit of %d", len(line), m.Bytes))
	case m.Kind == "error" && beyond:
		m.refuse(line)
	case m.Kind == "never-read" && m.Bytes == 0 && !handshake(line):
		m.stopReading()
	default:
		s.handle(line)
	}
}

// oversized gets each message beyond the limit.
func (m *faultInjector) oversized(e *framers.TooLargeError) {
	if m.Kind == "never-read" {
		m.stopReading()
		return
	}
	m.s.sendOversizeError(e)
}

// refuse answers as a server that checks its limit.
func (m *faultInjector) refuse(line []byte) {
	parsed, err := jsonrpc.Parse(line)
	if err != nil || parsed.Kind() != jsonrpc.Request {
		m.s.handle(line)
		return
	}
	m.s.sendError(parsed.ID, jsonrpc.CodeInvalidRequest, "Request too large")
}

// handshake reports whether a message is one that a client begins with.
func handshake(line []byte) bool {
	m, err := jsonrpc.Parse(line)
	if err != nil {
		return false
	}
	switch m.Method {
	case "initialize", "notifications/initialized", "server/discover", "ping", "tools/list":
		return true
	}
	return false
}

// stopReading leaves the input unread until the server is stopped. A server that does not read does not see its client go, so it
// looks for another sign: it has been given to another parent.
func (m *faultInjector) stopReading() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-m.s.drained:
			return
		case <-tick.C:
			if os.Getppid() != m.parent {
				m.s.abort(nil)
			}
		}
	}
}

// reply gets each answer before it is sent; done is to be called after.
func (m *faultInjector) reply(r *request, msg []byte) (_ []byte, done func()) {
	switch m.Kind {
	case "stderr-flood":
		flood(m.s.opts.Stderr, m.Bytes)
	case "corrupt":
		if r.method == "tools/call" && int64(len(msg)) > m.Bytes {
			corrupt(msg)
		}
	case "reorder":
		return msg, m.order.wait()
	}
	return msg, func() {}
}

// abort ends the server without a further word; err is what Wait returns.
func (s *Server) abort(err error) {
	s.abortOnce.Do(func() {
		s.abortErr = err
		s.pending.advance(Running, Draining)
		close(s.aborted)
	})
}
