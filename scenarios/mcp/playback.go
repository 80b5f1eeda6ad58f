package mcp

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// A Playback answers requests from a recording of a client and a server. A request with the same
// method as a recorded request, and params of the same bytes, gets the recorded answer; if several
// were recorded, they take turns. Any other request gets the next of the recorded answers to its
// method, and the first again after the last.
//
// If the recording has no bodies, each answer has as many bytes as the recorded one. The answers
// that open a session need content that a client understands, so in that case the server makes
// them.
//
// It may be used by many goroutines.
type Playback struct {
	mu sync.Mutex
	// answers has each answer under two keys: its method, and its exactKey. The first answer of a
	// list is the next to be given.
	answers map[string][]recordedAnswer
}

// exactKey returns the key of a request with its params, which are hashed since they may be large.
func exactKey(m jsonrpc.Message) string {
	hash := sha256.Sum256(m.Params)
	return m.Method + "\n" + string(hash[:])
}

// A recordedAnswer is a result or an error, or a size alone.
type recordedAnswer struct {
	result, failure []byte // JSON text; both nil if only the size is known
	size            int    // bytes of the message
}

// NewPlayback makes a playback of a recording, and keeps the bodies of the recording.
func NewPlayback(messages []payload.Message) (*Playback, error) {
	p := &Playback{answers: map[string][]recordedAnswer{}}
	requests := map[jsonrpc.ID]jsonrpc.Message{} // the latest of each id
	for _, recorded := range messages {
		m, _ := jsonrpc.Parse(recorded.Body) // what cannot be parsed neither asks nor answers
		isRequest := m.Kind() == jsonrpc.Request
		isAnswer := m.Kind().Answers()
		if recorded.Body == nil && len(recorded.ID) > 0 { // the body was not recorded
			m = jsonrpc.Message{ID: jsonrpc.ID(recorded.ID), Method: recorded.Method}
			isRequest = m.Method != ""
			isAnswer = !isRequest
		}
		// Dir may be empty: then both are false, and either side may have sent the message.
		fromClient := recorded.Dir == "request"
		fromServer := recorded.Dir == "reply"
		request, known := requests[m.ID]
		// The requests of the server and their answers have ids of their own, and are left out.
		switch {
		case isRequest && !fromServer:
			requests[m.ID] = m
		case isAnswer && !fromClient && known:
			delete(requests, m.ID)
			answer := recordedAnswer{result: m.Result, failure: m.Failure, size: recorded.Size}
			p.add(request, answer)
		}
	}
	if len(p.answers) == 0 {
		return nil, errors.New("play a recording: it holds no request with its answer")
	}
	return p, nil
}

// add keeps the answer to a request. It drops an answer to one of the OpeningMethods if the content
// is unknown, because clients read such answers.
func (p *Playback) add(request jsonrpc.Message, a recordedAnswer) {
	if a.result == nil && a.failure == nil && slices.Contains(OpeningMethods, request.Method) {
		return
	}
	for _, key := range []string{request.Method, exactKey(request)} {
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
	key := exactKey(m)
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

// message returns the answer to r as it goes out. If only the size of the answer is known, message
// pads it to that size.
func (a recordedAnswer) message(r *request) []byte {
	switch {
	case a.failure != nil:
		return jsonrpc.AppendFailure(nil, r.id, a.failure)
	case a.result != nil:
		return jsonrpc.AppendResult(nil, r.id, a.result)
	}
	before := `{"pad":"`
	after := `"}`
	if r.method == "tools/call" {
		before = `{"content":[{"type":"text","text":"`
		after = `"}]}`
	}
	room := a.size - len(jsonrpc.AppendResult(nil, r.id, nil))
	fill := byte('x')
	if room < len(before)+len(after) {
		before = "{"
		after = "}"
		fill = ' '
	}
	padding := bytes.Repeat([]byte{fill}, max(room-len(before)-len(after), 0))
	result := slices.Concat([]byte(before), padding, []byte(after))
	return jsonrpc.AppendResult(make([]byte, 0, a.size), r.id, result)
}
