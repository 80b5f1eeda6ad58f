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
	mu   sync.Mutex
	said map[question]*sayings
}

// A question is what a request is known by. The params are their hash; zero stands for any.
type question struct {
	method string
	params [sha256.Size]byte
}

// sayings are the answers to a question.
type sayings struct {
	all  []saying
	next int
}

// A saying is an answer: a result or an error, or a size alone.
type saying struct {
	result, failure []byte // JSON text; both nil where only the size is known
	size            int    // bytes of the message
}

// NewPlayback makes a playback of a recording, of which it keeps the bodies.
func NewPlayback(messages []payload.Message) (*Playback, error) {
	p := &Playback{said: map[question]*sayings{}}
	asked := map[jsonrpc.ID]heard{} // the latest request of each id
	for _, m := range messages {
		h := hear(m)
		if h.kind == jsonrpc.Request {
			asked[h.id] = h
		}
		q, known := asked[h.id]
		if !h.kind.Answers() || !known {
			continue
		}
		delete(asked, h.id)
		p.learn(q, h)
	}
	if len(p.said) == 0 {
		return nil, errors.New("play a recording: it holds no request with its answer")
	}
	return p, nil
}

// A heard is a recorded message, as far as it matters here.
type heard struct {
	kind   jsonrpc.Kind
	id     jsonrpc.ID
	method string
	params []byte
	saying saying
}

// hear makes out what a recorded message is. What is no message of JSON-RPC passes for a notification, which nobody answers, and so do the
// requests of the server and their answers, which have ids of their own.
func hear(m payload.Message) heard {
	h := heard{kind: jsonrpc.Notification, id: jsonrpc.ID(m.ID), method: m.Method, saying: saying{size: m.Size}}
	switch msg, err := jsonrpc.Parse(m.Body); {
	case m.Body != nil && err == nil:
		h = heard{kind: msg.Kind(), id: msg.ID, method: msg.Method, params: msg.Params, saying: saying{msg.Result, msg.Failure, m.Size}}
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

// opening are the methods whose answers a client takes apart.
var opening = []string{"initialize", "server/discover", "ping", "tools/list", "resources/list", "prompts/list"}

func (p *Playback) learn(q, answer heard) {
	if answer.saying.empty() && slices.Contains(opening, q.method) {
		return
	}
	for _, key := range []question{{method: q.method}, exactly(q.method, q.params)} {
		s := p.said[key]
		if s == nil {
			s = new(sayings)
			p.said[key] = s
		}
		s.all = append(s.all, answer.saying)
	}
}

func (a saying) empty() bool { return a.result == nil && a.failure == nil }

// exactly is the question of a request with its params.
func exactly(method string, params []byte) question {
	return question{method, sha256.Sum256(params)}
}

// reply is the answer to a request; none if the recording has nothing to the like.
func (p *Playback) reply(m jsonrpc.Message) (saying, bool) {
	if p == nil {
		return saying{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.said[exactly(m.Method, m.Params)]
	if s == nil {
		s = p.said[question{method: m.Method}]
	}
	if s == nil {
		return saying{}, false
	}
	a := s.all[s.next%len(s.all)]
	s.next++
	return a, true
}

// message is the answer as the request of that id gets it.
func (a saying) message(r *request) []byte {
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

// A played is an answer of a recording that waits to be sent.
type played struct {
	to     *request
	saying saying
}

// play answers a request from the recording, and reports whether that has an answer. The input does not wait for the output: there is room in
// the queue for as many answers as there may be requests.
func (s *Server) play(m jsonrpc.Message) bool {
	a, ok := s.opts.Playback.reply(m)
	if !ok {
		return false
	}
	r := &request{id: m.ID, method: m.Method}
	if reading, _ := s.admit(r); reading {
		s.played <- played{r, a}
	}
	return true
}

// utter sends what play found, in its order, until nothing more is to be answered.
func (s *Server) utter() {
	defer s.sessions.Done()
	for {
		select {
		case p := <-s.played:
			s.answer(p.to, p.saying.message(p.to))
		case <-s.drained:
			return
		}
	}
}
