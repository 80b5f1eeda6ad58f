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

// A Playback answers requests from a recording of a client and a server. A request gets the
// recorded answer to a request with the same method and params, or else the answer to any request
// with the same method. If there are several such answers, they come in turn. If the body of an
// answer was not recorded, padding takes its place.
//
// A Playback may be used by many goroutines.
type Playback struct {
	mu sync.Mutex
	// answers has each answer twice: under the method of its request, and under the request's
	// exactKey. The first in a list is the next to be given.
	answers map[string][]recordedAnswer
}

// exactKey returns a key made of the method and the params of a request.
func exactKey(m jsonrpc.Message) string {
	hash := sha256.Sum256(m.Params)
	return m.Method + "\n" + string(hash[:])
}

// A recordedAnswer is a result or an error. If the body was not recorded, only the size is known.
type recordedAnswer struct {
	result, failure []byte // JSON text; both nil if only the size is known
	size            int    // bytes of the message
}

// NewPlayback makes a Playback from a recording. The Playback keeps the bodies of the messages.
func NewPlayback(messages []payload.Message) (*Playback, error) {
	p := &Playback{answers: map[string][]recordedAnswer{}}
	requests := map[jsonrpc.ID]jsonrpc.Message{} // the latest request with each id
	for _, recorded := range messages {
		m, _ := jsonrpc.Parse(recorded.Body) // on an error, m is no request and no answer
		kind := m.Kind()
		if recorded.Body == nil && len(recorded.ID) > 0 { // the body was not recorded
			m = jsonrpc.Message{ID: jsonrpc.ID(recorded.ID), Method: recorded.Method}
			kind = jsonrpc.Result
			if m.Method != "" {
				kind = jsonrpc.Request
			}
		}
		request, known := requests[m.ID]
		// Requests from the server, and the answers to them, are left out. Their ids are
		// independent of ours. If Dir is empty, either side may have sent the message.
		switch {
		case kind == jsonrpc.Request && recorded.Dir != "reply":
			requests[m.ID] = m
		case kind.Answers() && recorded.Dir != "request" && known:
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

// add keeps the answer to a request. If the content of the answer is unknown, and clients depend on
// the content, add drops the answer.
func (p *Playback) add(request jsonrpc.Message, a recordedAnswer) {
	if a.result == nil && a.failure == nil && slices.Contains(OpeningMethods, request.Method) {
		return
	}
	for _, key := range []string{request.Method, exactKey(request)} {
		p.answers[key] = append(p.answers[key], a)
	}
}

// reply returns the recorded answer to a request. The second result is false if there is none for
// the method.
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
	p.answers[key] = append(list[1:], list[0]) // it comes again after the others
	return list[0], true
}

// message returns the answer to r. It fills the answer with padding if only its size is known.
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
