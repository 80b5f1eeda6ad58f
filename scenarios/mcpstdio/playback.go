package mcpstdio

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

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
	answers map[requestKey]*answerList
}

// A requestKey identifies a request by its method and the hash of its params; zero params stand for
// any.
type requestKey struct {
	method string
	params [sha256.Size]byte
}

func exactKey(method string, params []byte) requestKey {
	return requestKey{method, sha256.Sum256(params)}
}

type answerList struct {
	all  []recordedAnswer
	next int
}

// A recordedAnswer is a result or an error, or a size alone.
type recordedAnswer struct {
	result, failure []byte // JSON text; both nil where only the size is known
	size            int    // bytes of the message
}

// NewPlayback makes a playback of a recording, of which it keeps the bodies.
func NewPlayback(messages []payload.Message) (*Playback, error) {
	p := &Playback{answers: map[requestKey]*answerList{}}
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
	for _, key := range []requestKey{{method: request.Method}, exactKey(request.Method, request.Params)} {
		if p.answers[key] == nil {
			p.answers[key] = new(answerList)
		}
		p.answers[key].all = append(p.answers[key].all, a)
	}
}

// reply returns the answer to a request, if the recording has one like it.
func (p *Playback) reply(m jsonrpc.Message) (recordedAnswer, bool) {
	if p == nil {
		return recordedAnswer{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.answers[exactKey(m.Method, m.Params)]
	if list == nil {
		list = p.answers[requestKey{method: m.Method}]
	}
	if list == nil {
		return recordedAnswer{}, false
	}
	a := list.all[list.next%len(list.all)]
	list.next++
	return a, true
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
