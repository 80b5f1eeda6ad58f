package mcpstdio

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	"github.com/pipebench/pipebench/syspipe"
)

// answer sends msg, which finishes r.
func (s *Server) answer(r *request, msg []byte) error {
	wanted := s.pending.release(r)
	msg, done := s.fault.reply(r, msg)
	began, err := time.Now(), error(nil)
	if wanted {
		err = s.send(msg)
	}
	done()
	s.pending.finish(err == nil)
	s.chunks.Sent(msg, began)
	s.inFlight.Release(r.weight)
	s.answers.Release(r.bytes)
	if err != nil && s.failed.Err() == nil {
		s.log.Warn("Output failed", "error", err)
		s.fail(err)
	}
	return err
}

// send sends a message to the client.
func (s *Server) send(msg []byte) error {
	err := s.mux.Send(context.Background(), 0, msg)
	if err == nil {
		s.record("reply", msg)
	}
	return err
}

// A ChunkLog logs messages that go in several chunks, at debug level: their size, their frames and
// how long they took. What they carry is not logged.
type ChunkLog struct {
	Logger  *slog.Logger
	Framing framers.Framing // of what is sent
}

// Received is told of each chunk that comes, as by [framers.WithProgress].
func (l ChunkLog) Received(c framers.Chunk) {
	if c.Total > 1 && c.Received == c.Total {
		l.Logger.Debug("Chunked message received", "bytes", c.Size, "frames", c.Total, "took", time.Since(c.Began))
	}
}

// Sent is told of a message that has been written, and when that began.
func (l ChunkLog) Sent(msg []byte, began time.Time) {
	f, ok := l.Framing.(framers.Chunker)
	if !ok || !l.Logger.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	took, frames := time.Since(began), 0
	for range f.Frames(msg) {
		frames++
	}
	if frames > 1 {
		l.Logger.Debug("Chunked message sent", "bytes", len(msg), "frames", frames, "took", took)
	}
}

// maxRecorded is the largest message that is recorded with its body, in bytes.
const maxRecorded = 8 << 10

// record keeps a message that has passed, if all are to be kept.
func (s *Server) record(dir string, msg []byte) {
	if s.opts.Record == nil {
		return
	}
	m := results.Message{Kind: results.KindMessage, Run: s.opts.Run, Dir: dir, T: int64(time.Since(s.began)), Size: int64(len(msg))}
	parsed, err := jsonrpc.Parse(bytes.Clone(msg))
	if err == nil {
		m.Method, m.ID, m.Error = parsed.Method, json.RawMessage(parsed.ID), parsed.Failure != nil
	}
	if len(msg) <= maxRecorded {
		m.Body = string(msg)
	}
	_ = s.keep(m) // the last line fails too, and is told of
}

func (s *Server) keep(l results.Line) error {
	s.recording.Lock()
	defer s.recording.Unlock()
	return s.opts.Record.Write(l)
}

// closedByPeer reports whether err is what a write gets when the client has left.
func closedByPeer(err error) bool {
	gone := []error{io.ErrClosedPipe, os.ErrClosed, net.ErrClosed}
	return syspipe.ReaderLeft(err) || slices.ContainsFunc(gone, func(e error) bool { return errors.Is(err, e) })
}

// maxErrorText bounds what an error repeats of what the client sent, in bytes.
const maxErrorText = 256

// errCancelled is the answer to a request whose context has been cancelled.
var errCancelled = &sdk.Error{Code: jsonrpc.CodeInternal, Message: "Request cancelled"}

// wireError returns the error that the client gets where the SDK's answer is err. The SDK gives
// some errors code 0 (those out of the order of the lifecycle), and repeats params and names of Go
// types in others.
func (s *Server) wireError(r *request, err error) jsonrpc.Error {
	invalidParams := jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid params: those of " + clip(r.method) + " have another form"}
	if r.noParams {
		invalidParams.Message = "Invalid params: " + clip(r.method) + " needs params"
	}
	var wire *sdk.Error
	coded := errors.As(err, &wire) && wire.Code != 0
	switch {
	case errors.Is(err, context.Canceled):
		return jsonrpc.Error(*errCancelled)
	case coded && error(wire) == err: // as its author meant it; result has taken paths out of a tool's
		return jsonrpc.Error{Code: wire.Code, Message: clip(wire.Message), Data: wire.Data}
	case coded && wire.Code == jsonrpc.CodeMethodNotFound:
		return jsonrpc.Error{Code: wire.Code, Message: "Method not found: " + clip(strconv.Quote(r.method))}
	case coded && (wire.Code == jsonrpc.CodeInvalidParams || r.noParams && wire.Code == jsonrpc.CodeInvalidRequest):
		return invalidParams
	case coded:
		return jsonrpc.Error{Code: wire.Code, Message: clip(hidePaths(err.Error()))}
	case r.method == "initialize" && r.noParams:
		return invalidParams
	case r.method == "initialize", s.opts.StrictLifecycle:
		return jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "Invalid request: " + clip(err.Error())}
	}
	s.log.Error("Request failed", "method", clip(r.method))
	return jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "Internal error"}
}

// clip shortens what may be as long as the client likes, at a character's end.
func clip(s string) string {
	if len(s) <= maxErrorText {
		return s
	}
	end := maxErrorText
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "..."
}

// A Playback answers requests from a recording of a client and a server: a request with the same
// method and params as a recorded one gets that one's answer, another the answers to its method, in
// their order and then again from the first.
//
// Of a recording without bodies the sizes are answered: each answer has as many bytes as the
// recorded one. The answers that open a session need content that a client understands, so they are
// left to the server then.
//
// It may be used by many goroutines.
type Playback struct {
	mu      sync.Mutex
	answers map[string][]recordedAnswer // to a method, and to an exact request; the next is the first
}

// exact identifies a request by its method and a hash of its params, which may be large; the method
// alone stands for any params.
func exact(m jsonrpc.Message) string {
	hash := sha256.Sum256(m.Params)
	return m.Method + "\n" + string(hash[:])
}

// A recordedAnswer is a result or an error, or a size alone.
type recordedAnswer struct {
	result, failure []byte // JSON text; both nil where only the size is known
	size            int    // bytes of the message
}

// NewPlayback makes a playback of a recording, of which it keeps the bodies.
func NewPlayback(messages []payload.Message) (*Playback, error) {
	p := &Playback{answers: map[string][]recordedAnswer{}}
	requests := map[jsonrpc.ID]jsonrpc.Message{} // the latest of each id
	for _, recorded := range messages {
		m, _ := jsonrpc.Parse(recorded.Body) // one that is no JSON-RPC neither asks nor answers
		asks, answers := m.Kind() == jsonrpc.Request, m.Kind().Answers()
		if recorded.Body == nil && len(recorded.ID) > 0 {
			m = jsonrpc.Message{ID: jsonrpc.ID(recorded.ID), Method: recorded.Method}
			asks, answers = m.Method != "", m.Method == ""
		}
		request, known := requests[m.ID]
		switch { // the requests of the server and their answers have ids of their own, and are left out
		case asks && recorded.Dir != "reply":
			requests[m.ID] = m
		case answers && recorded.Dir != "request" && known:
			delete(requests, m.ID)
			p.add(request, recordedAnswer{m.Result, m.Failure, recorded.Size})
		}
	}
	if len(p.answers) == 0 {
		return nil, errors.New("play a recording: it holds no request with its answer")
	}
	return p, nil
}

// add keeps the answer to a request. A client takes those apart that it begins with.
func (p *Playback) add(request jsonrpc.Message, a recordedAnswer) {
	if a.result == nil && a.failure == nil && slices.Contains(OpeningMethods, request.Method) {
		return
	}
	for _, key := range []string{request.Method, exact(request)} {
		p.answers[key] = append(p.answers[key], a)
	}
}

// reply returns the answer to a request, if the recording has one like it.
func (p *Playback) reply(m jsonrpc.Message) (recordedAnswer, bool) {
	if p == nil {
		return recordedAnswer{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := exact(m)
	if p.answers[key] == nil {
		key = m.Method
	}
	list := p.answers[key]
	if list == nil {
		return recordedAnswer{}, false
	}
	p.answers[key] = append(list[1:], list[0]) // its turn comes again behind the others
	return list[0], true
}

// message returns the answer to r as it goes out.
func (a recordedAnswer) message(r *request) []byte {
	switch {
	case a.failure != nil:
		return jsonrpc.AppendFailure(nil, r.id, a.failure)
	case a.result != nil:
		return jsonrpc.AppendResult(nil, r.id, a.result)
	}
	before, after := `{"pad":"`, `"}`
	if r.method == "tools/call" {
		before, after = `{"content":[{"type":"text","text":"`, `"}]}`
	}
	room := a.size - len(jsonrpc.AppendResult(nil, r.id, nil))
	fill := byte('x')
	if room < len(before)+len(after) {
		before, after, fill = "{", "}", ' '
	}
	padding := bytes.Repeat([]byte{fill}, max(room-len(before)-len(after), 0))
	return jsonrpc.AppendResult(make([]byte, 0, a.size), r.id, slices.Concat([]byte(before), padding, []byte(after)))
}
