package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/syspipe"
)

// read handles messages until the input ends or fails. It returns nil at the end of the input.
func (s *Server) read() error {
	opts := []framers.Option{
		framers.WithPolicy(framers.Resync),
		framers.WithSkipped(s.logOversize), framers.WithProgress(s.chunks.Received),
	}
	if s.opts.Lenient {
		opts = append(opts, framers.WithLenient())
	}
	r := s.fault.reader(opts...)
	var large *framers.TooLargeError
	var header *framers.HeaderError
	var chunk *framers.ChunkError
	for s.State() == Running {
		line, err := r.ReadMessage()
		switch {
		case err == nil:
			s.record("request", line)
			m, err := jsonrpc.Parse(bytes.Clone(line))
			s.fault.handle(len(line), m, err)
		case errors.As(err, &large) && s.fault.Kind == "never-read":
			s.fault.stopReading()
		case errors.As(err, &large):
			s.sendOversizeError(large)
		case errors.As(err, &header), errors.As(err, &chunk):
			why := errors.Unwrap(err).Error() // the reason alone: the line may hold anything
			s.sendParseError("Parse error: " + why)
		case errors.Is(err, io.ErrUnexpectedEOF):
			s.sendParseError("Parse error: the input ends inside a message")
			return nil
		case err == io.EOF, s.State() != Running: // or drain has ended the read
			return nil
		default:
			return fmt.Errorf("read request: %w", err)
		}
	}
	return nil
}

// handle does what a message of size bytes asks for. malformed is the error of jsonrpc.Parse, or
// nil.
func (s *Server) handle(size int, m jsonrpc.Message, malformed error) {
	form, misformed := errors.AsType[*jsonrpc.FormError](malformed)
	switch {
	case misformed:
		s.sendError(form.ID, jsonrpc.CodeInvalidRequest, "Invalid request: "+form.Why)
	case malformed != nil:
		s.sendParseError("Parse error")
	case m.Kind() == jsonrpc.Request:
		s.handleRequest(size, m)
	case m.Method == "notifications/cancelled":
		s.cancel(m)
	} // other notifications change nothing, and answers do not come: the server asks nothing
}

// handleRequest queues a request, which is answered from the Playback or, if that has no answer,
// served.
func (s *Server) handleRequest(size int, m jsonrpc.Message) {
	recorded, found := s.opts.Playback.reply(m)
	if bytes.Equal(m.Params, []byte("null")) { // some clients write this for no params
		m.Params = nil
	}
	r := &request{id: m.ID, method: m.Method, params: m.Params, size: size}
	if !found {
		r.ctx, r.cancel = context.WithCancel(context.Background())
	}
	reading, free := s.pending.add(r)
	switch {
	case !reading: // a server that reads no more answers no new request
	case !free:
		s.refuse(r, invalidRequest("the id is that of a request in flight"))
	case found:
		s.enqueue(size, func() { _ = s.answer(r, recorded.message(r)) }) // answer logs its error
	default:
		s.enqueue(size, func() { s.admit(r) })
	}
}

const (
	// maxWaiting bounds the bytes of messages that were read and wait for their turn. The server
	// reads ahead to see a cancellation or the end of the input.
	maxWaiting = 1 << 20
	// itemOverhead is added to the bytes of each message that waits, so that their number is
	// bounded, too.
	itemOverhead = 512
	// requestWeight is the least weight of a request in flight. A larger request weighs as much as
	// its bytes, so that one semaphore bounds both the number and the bytes of requests.
	requestWeight = 256 << 10
)

// A waitingItem is a message that waits for its turn. At its turn, the function do is called.
type waitingItem struct {
	size int64
	do   func()
}

// enqueue waits for room in the queue, and puts in a message of size bytes. At the message's turn,
// serve is called. The message is dropped if the server answers no more, or if there is no room and
// the client has left.
func (s *Server) enqueue(size int, serve func()) {
	item := waitingItem{int64(min(size+itemOverhead, maxWaiting)), serve}
	for taken := s.room.TryAcquire(item.size); !taken; {
		if s.clientLeft {
			return
		}
		ctx, cancel := context.WithTimeout(s.drained, stallTime)
		taken = s.room.Acquire(ctx, item.size) == nil
		cancel()
		if !taken && s.drained.Err() != nil {
			return
		}
		s.clientLeft = !taken && syspipe.HungUp(s.in)
	}
	s.waiting <- item
}

// serveQueue calls the functions in the queue, one after the other, until the server answers no
// more.
func (s *Server) serveQueue() {
	for {
		select {
		case item := <-s.waiting:
			item.do()
			s.room.Release(item.size)
			s.taken.Add(1)
		case <-s.drained.Done():
			return
		}
	}
}

// admit waits until there is room for r among the requests in flight, and then serves r.
func (s *Server) admit(r *request) {
	weight := min(max(int64(r.size), requestWeight), s.capacity)
	if s.inFlight.Acquire(s.drained, weight) != nil {
		return
	}
	r.weight = weight
	if r.ctx.Err() != nil {
		s.answerError(r, errCancelled)
		return
	}
	s.serve(r)
}

// cancel ends a request that the client does not want answered any more.
func (s *Server) cancel(m jsonrpc.Message) {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	err := json.Unmarshal(m.Params, &p)
	if err != nil {
		return
	}
	r := s.pending.renounce(jsonrpc.ID(p.RequestID))
	if r != nil {
		r.cancel()
	}
}

// sendOversizeError answers a message that is larger than the limit. If the id is in the first KiB
// of the message, the answer has it.
func (s *Server) sendOversizeError(e *framers.TooLargeError) {
	if e.Declared {
		s.logOversize(e)
	} else {
		s.log.Warn("Request too large: the rest of it is skipped", "limit", e.Limit)
	}
	if id, ok := jsonrpc.FindID(e.Head); ok {
		s.sendError(id, jsonrpc.CodeInvalidRequest, "Request too large")
		return
	}
	s.sendError("", jsonrpc.CodeParse, fmt.Sprintf("Request exceeds %s limit", limitText(e.Limit)))
}

// logOversize logs a message that is larger than the limit and whose size is known.
func (s *Server) logOversize(e *framers.TooLargeError) {
	hundredths := e.Size * 100 >> 20 // of a MiB
	mib := strconv.FormatFloat(float64(hundredths)/100, 'f', -1, 64)
	what := fmt.Sprintf("Request exceeded size limit: %sMB", mib)
	s.log.Error(what, "bytes", e.Size, "limit", e.Limit)
}

// limitText returns n bytes as text, such as "3MB", "3KB" or "3 byte". An MB is 1024 KB.
func limitText(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return strconv.FormatInt(n>>20, 10) + "MB"
	case n >= 1<<10 && n%(1<<10) == 0:
		return strconv.FormatInt(n>>10, 10) + "KB"
	}
	return strconv.FormatInt(n, 10) + " byte"
}

func (s *Server) sendParseError(why string) {
	s.log.Warn("Unreadable message", "error", why)
	s.sendError("", jsonrpc.CodeParse, why)
}

// sendError answers a message that is not served. If id is empty, the answer has the id that
// Options.NullParseErrorID chooses.
func (s *Server) sendError(id jsonrpc.ID, code int64, message string) {
	if id == "" {
		id = jsonrpc.Empty
		if s.opts.NullParseErrorID {
			id = jsonrpc.Null
		}
	}
	r := &request{id: id, size: len(id) + len(message)}
	reading, _ := s.pending.add(r)
	if reading {
		s.refuse(r, &jsonrpc.Error{Code: code, Message: message})
	}
}

// refuse queues an error as the answer to a request, to be sent in its turn.
func (s *Server) refuse(r *request, err *jsonrpc.Error) {
	s.enqueue(r.size, func() { s.answerError(r, err) })
}
