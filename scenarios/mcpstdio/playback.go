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

// A Playback answers requests as a recording of a client and a server has them answered: a request with the same method and params as a
// recorded one gets that one's answer, another the answers to its method, in their order and then again from the first.
//
// Of a recording without bodies the sizes are answered: each answer has as many bytes as the recorded one. What opens a session has to say
// something then, and is left to the server.
//
// It may be used by many goroutines.
type Playback struct {
	mu      sync.Mutex
	answers map[requestKey]*answerList
}

// A requestKey is what a request is known by. The params are their hash; zero stands for any.
type requestKey struct {
	method string
	params [sha256.Size]byte
}

// answerList are the answers to a question.
type answerList struct {
	all  []recordedAnswer
	next int
}

// A recordedAnswer is an answer: a result or an error, or a size alone.
type recordedAnswer struct {
	result, failure []byte // JSON text; both nil where only the size is known
	size            int    // bytes of the message
}

// NewPlayback makes a playback of a recording, of which it keeps the bodies.
func NewPlayback(messages []payload.Message) (*Playback, error) {
	p := &Playback{answers: map[requestKey]*answerList{}}
	asked := map[jsonrpc.ID]recordedMessage{} // the latest request of each id
	for _, m := range messages {
		h := parseRecorded(m)
		if h.kind == jsonrpc.Request {
			asked[h.id] = h
		}
		q, known := asked[h.id]
		if !h.kind.Answers() || !known {
			continue
		}
		delete(asked, h.id)
		p.add(q, h)
	}
	if len(p.answers) == 0 {
		return nil, errors.New("play a recording: it holds no request with its answer")
	}
	return p, nil
}

// A recordedMessage is a recorded message, as far as it matters here.
type recordedMessage struct {
	kind   jsonrpc.Kind
	id     jsonrpc.ID
	method string
	params []byte
	answer recordedAnswer
}

// parseRecorded makes out what a recorded message is. What is no message of JSON-RPC passes for a notification, which nobody answers, and so do the
// requests of the server and their answers, which have ids of their own.
func parseRecorded(m payload.Message) recordedMessage {
	h := recordedMessage{kind: jsonrpc.Notification, id: jsonrpc.ID(m.ID), method: m.Method, answer: recordedAnswer{size: m.Size}}
	switch msg, err := jsonrpc.Parse(m.Body); {
	case m.Body != nil && err == nil:
		h = recordedMessage{kind: msg.Kind(), id: msg.ID, method: msg.Method, params: msg.Params, answer: recordedAnswer{msg.Result, msg.Failure, m.Size}}
	case m.Body == nil && len(m.ID) > 0 && m.Method != "":
		h.kind = jsonrpc.Request
	case m.Body == nil && len(m.ID) > 0:
		h.kind = jsonrpc.Result
	}
	if h.kind == jsonrpc.Request && m.Dir == fromServer || h.kind.Answers() && m.Dir == fromClient {
		h.kind = jsonrpc.Notification
	}
	return h
}

// Directions, as recordings name them.
const (
	fromClient = "request"
	fromServer = "reply"
)

// handshakeMethods are the methods whose answers a client takes apart.
var handshakeMethods = []string{"initialize", "server/discover", "ping", "tools/list", "resources/list", "prompts/list"}

func (p *Playback) add(q, answer recordedMessage) {
	if answer.answer.empty() && slices.Contains(handshakeMethods, q.method) {
		return
	}
	for _, key := range []requestKey{{method: q.method}, exactKey(q.method, q.params)} {
		s := p.answers[key]
		if s == nil {
			s = new(answerList)
			p.answers[key] = s
		}
		s.all = append(s.all, answer.answer)
	}
}

func (a recordedAnswer) empty() bool { return a.result == nil && a.failure == nil }

// exactKey is the question of a request with its params.
func exactKey(method string, params []byte) requestKey {
	return requestKey{method, sha256.Sum256(params)}
}

// reply is the answer to a request; none if the recording has nothing to the like.
func (p *Playback) reply(m jsonrpc.Message) (recordedAnswer, bool) {
	if p == nil {
		return recordedAnswer{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.answers[exactKey(m.Method, m.Params)]
	if s == nil {
		s = p.answers[requestKey{method: m.Method}]
	}
	if s == nil {
		return recordedAnswer{}, false
	}
	a := s.all[s.next%len(s.all)]
	s.next++
	return a, true
}

// message is the answer as the request of that id gets it.
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

// A queuedAnswer is an answer of a recording that waits to be sent.
type queuedAnswer struct {
	to     *request
	answer recordedAnswer
}

// answerFromPlayback answers a request from the recording, and reports whether that has an answer. The input does not wait for the output: there is room in
// the queue for as many answers as there may be requests.
func (s *Server) answerFromPlayback(m jsonrpc.Message) bool {
	a, ok := s.opts.Playback.reply(m)
	if !ok {
		return false
	}
	r := &request{id: m.ID, method: m.Method}
	if reading, _ := s.admit(r); reading {
		s.queued <- queuedAnswer{r, a}
	}
	return true
}

// writeLoop sends what play found, in its order, until nothing more is to be answered.
func (s *Server) writeLoop() {
	defer s.sessions.Done()
	for {
		select {
		case p := <-s.queued:
			s.answer(p.to, p.answer.message(p.to))
		case <-s.drained:
			return
		}
	}
}
