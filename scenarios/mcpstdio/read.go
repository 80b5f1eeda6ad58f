package mcpstdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	sdk "github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// read handles messages until the input ends, and returns why it did: nil at its end.
func (s *Server) read() error {
	r := s.fault.framing(s.opts.Framing).NewReader(s.fault.input(s.in),
		framers.WithMaxMessage(s.fault.limit(s.opts.MaxMessage)), framers.WithPolicy(framers.Resync))
	for s.State() == Running {
		line, err := r.ReadMessage()
		if err == nil {
			s.fault.handle(line)
			continue
		}
		if over, err := s.handleReadError(err); over {
			return err
		}
	}
	return nil
}

// handleReadError answers what the framing could not deliver. It reports whether reading is over,
// and why.
func (s *Server) handleReadError(err error) (over bool, why error) {
	var large *framers.TooLargeError
	var header *framers.HeaderError
	var chunk *framers.ChunkError
	switch {
	case errors.As(err, &large):
		s.fault.handleOversize(large)
		return false, nil
	case errors.As(err, &header):
		s.sendParseError("Parse error: " + header.Err.Error()) // without the line, which may hold anything
		return false, nil
	case errors.As(err, &chunk):
		s.sendParseError("Parse error: " + chunk.Err.Error())
		return false, nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		s.sendParseError("Parse error: the input ends inside a message")
		return true, nil
	case err == io.EOF, s.State() != Running: // the deadline that ended the read is this server's own
		return true, nil
	}
	return true, fmt.Errorf("read request: %w", err)
}

// handle serves one message, which is valid until handle returns.
func (s *Server) handle(line []byte) {
	m, err := jsonrpc.Parse(line)
	var syntax *jsonrpc.SyntaxError
	var form *jsonrpc.FormError
	switch {
	case errors.As(err, &syntax):
		s.sendParseError("Parse error")
	case errors.As(err, &form):
		s.sendError(form.ID, jsonrpc.CodeInvalidRequest, "Invalid request: "+form.Why)
	case m.Kind().Answers():
		s.log.Debug("Answer dropped: the server asks nothing")
	case m.Kind() == jsonrpc.Notification:
		s.handleNotification(m)
	case s.answerFromPlayback(m):
	default:
		s.forward(m)
	}
}

// forward gives a request to the SDK.
func (s *Server) forward(m jsonrpc.Message) {
	params := m.Params
	if bytes.Equal(params, []byte("null")) {
		params = nil
	}
	r := &request{id: m.ID, method: m.Method, noParams: params == nil, session: s.session(m.Method)}
	switch reading, free := s.admit(r); {
	case !reading: // nor does the server answer any more
	case !free:
		s.answer(r, jsonrpc.AppendError(nil, m.ID, jsonrpc.Error{
			Code: jsonrpc.CodeInvalidRequest, Message: "Invalid request: the id is that of a request in flight"}))
	default:
		id, _ := sdk.MakeID(float64(r.number)) // a float64 is always an id
		r.session.deliver(&sdk.Request{ID: id, Method: m.Method, Params: bytes.Clone(params)})
	}
}

// admit waits for room for one more request, which its answer makes again. It reports whether the
// server still reads, and whether the request's id was free.
func (s *Server) admit(r *request) (reading, free bool) {
	select {
	case s.slots <- struct{}{}:
	case <-s.drained:
		return false, false
	}
	if reading, free = s.pending.add(r); !reading {
		<-s.slots
	}
	return reading, free
}

// session returns the session that handles a request; initialize and all that follows belong to the
// main one.
func (s *Server) session(method string) *session {
	if method == "initialize" || s.preInit == nil {
		s.initSeen = true
	}
	if s.initSeen {
		return s.main
	}
	return s.preInit
}

// handleNotification passes a notification on. The id that a cancellation names is translated for
// the SDK.
func (s *Server) handleNotification(m jsonrpc.Message) {
	if m.Method != "notifications/cancelled" {
		s.session(m.Method).deliver(&sdk.Request{Method: m.Method, Params: bytes.Clone(m.Params)})
		return
	}
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return
	}
	if r := s.pending.findID(jsonrpc.ID(p.RequestID)); r != nil {
		r.session.cancel(r.number)
	}
}

// sendOversizeError answers a message beyond the limit, so that its sender does not wait forever:
// to its id, if that stands in the first KiB.
func (s *Server) sendOversizeError(e *framers.TooLargeError) {
	mib := strconv.FormatFloat(float64(e.Size*100>>20)/100, 'f', -1, 64) // to two digits
	s.log.Error(fmt.Sprintf("Request exceeded size limit: %sMB", mib), "bytes", e.Size, "limit", e.Limit)
	if id, ok := jsonrpc.FindID(e.Head); ok {
		s.sendError(id, jsonrpc.CodeInvalidRequest, "Request too large")
		return
	}
	s.sendError("", jsonrpc.CodeParse, fmt.Sprintf("Request exceeds %s limit", limitText(e.Limit)))
}

// limitText returns n in the largest unit that divides it. Units are powers of 1024 throughout.
func limitText(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return strconv.FormatInt(n>>20, 10) + "MB"
	case n >= 1<<10 && n%(1<<10) == 0:
		return strconv.FormatInt(n>>10, 10) + "KB"
	}
	return strconv.FormatInt(n, 10) + " byte"
}

// sendParseError answers what cannot be parsed.
func (s *Server) sendParseError(why string) {
	s.log.Warn("Unreadable message", "error", why)
	s.sendError("", jsonrpc.CodeParse, why)
}

// sendError answers what does not get to the SDK. The answer to an empty id has that of parse
// errors.
func (s *Server) sendError(id jsonrpc.ID, code int64, message string) {
	if id == "" {
		id = s.opts.ParseErrorID
	}
	r := &request{id: id}
	if reading, _ := s.admit(r); !reading {
		return
	}
	s.answer(r, jsonrpc.AppendError(nil, id, jsonrpc.Error{Code: code, Message: message}))
}
