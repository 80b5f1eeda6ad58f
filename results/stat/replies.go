package stat

import (
	"cmp"
	"maps"
	"slices"

	"github.com/pipebench/pipebench/results"
)

// A Call is a request of a recording.
type Call struct {
	Request  results.Message
	Answered bool
	NS       int64 // from the request to its reply

	Before  results.Message // the message to the server right before the request; zero if none
	Largest results.Message // the largest message to the server before the request
}

// Calls lists the requests to servers, each with the next reply of its id in the same recording.
func Calls(messages []results.Message) []Call {
	p := pairing{
		open:  make(map[callID]int),
		early: make(map[callID]results.Message),
		sent:  make(map[string]sent),
	}
	for _, m := range messages {
		switch {
		case m.Dir == "request":
			p.addSent(m)
		case len(m.ID) > 0 && m.Method == "":
			p.addReply(m)
		}
	}
	return p.calls
}

// Replies returns the nanoseconds between request and reply for each method.
func Replies(messages []results.Message) map[string][]int64 {
	times := make(map[string][]int64)
	for _, c := range Calls(messages) {
		if c.Answered {
			times[c.Request.Method] = append(times[c.Request.Method], c.NS)
		}
	}
	return times
}

type callID struct{ run, id string }

// sent is what a recording has of the messages to the server so far.
type sent struct {
	last, largest results.Message
	stall         int64 // of the write that passed the last one on
}

// A pairing pairs requests and replies. A request is recorded only when its write has returned, and
// the server may have answered before that: then the reply is early.
type pairing struct {
	calls []Call
	open  map[callID]int             // indices in calls of requests without a reply
	early map[callID]results.Message // replies without a request
	sent  map[string]sent            // by run
}

// addSent adds a message to the server. If one write passed on several messages, all have the same
// time, and the first of them has the stall of that write.
func (p *pairing) addSent(m results.Message) {
	s := p.sent[m.Run]
	call := Call{Request: m, Before: s.last, Largest: s.largest}
	if m.T != s.last.T {
		s.stall = 0
	}
	s.stall = max(s.stall, m.Stall)
	s.last = m
	if m.Size >= s.largest.Size {
		s.largest = m
	}
	p.sent[m.Run] = s
	if len(m.ID) > 0 && m.Method != "" {
		p.addRequest(call, m.T-s.stall)
	}
}

// addRequest adds a request whose write began at a time.
func (p *pairing) addRequest(call Call, began int64) {
	id := callID{call.Request.Run, string(call.Request.ID)}
	reply, answered := p.early[id]
	delete(p.early, id)
	// A write that took less than LeastStall has no Stall, so it may have begun that much earlier.
	// A reply from before that answers another request with this id.
	if answered && reply.T >= began-results.LeastStall.Nanoseconds() {
		call.Answered = true
		call.NS = max(0, reply.T-began)
	} else {
		p.open[id] = len(p.calls)
	}
	p.calls = append(p.calls, call)
}

func (p *pairing) addReply(m results.Message) {
	id := callID{m.Run, string(m.ID)}
	i, known := p.open[id]
	if !known {
		p.early[id] = m
		return
	}
	call := &p.calls[i]
	call.Answered = true
	// Request.T is the end of the write: before that, the server had not got the whole request.
	call.NS = m.T - call.Request.T
	delete(p.open, id)
}

// ByCount lists the methods in times, those with the most replies first.
func ByCount(times map[string][]int64) []string {
	return slices.SortedFunc(maps.Keys(times), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(times[b]), len(times[a])), cmp.Compare(a, b))
	})
}
