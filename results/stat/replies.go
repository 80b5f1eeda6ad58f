package stat

import (
	"cmp"
	"maps"
	"slices"

	"github.com/pipebench/pipebench/results"
)

// A Call is a request in a recording, and how it was answered.
type Call struct {
	Request  results.Message
	Answered bool
	NS       int64 // nanoseconds from the request to its reply

	Before  results.Message // the message from the same side right before it; zero if none
	Largest results.Message // the largest message from the same side before it
}

// Calls lists the requests to servers. Each is joined with the next reply that has the same id and
// is in the same recording.
func Calls(messages []results.Message) []Call { return callsIn("request", messages) }

// ServerCalls lists the requests that servers sent to their clients, as Calls does.
func ServerCalls(messages []results.Message) []Call { return callsIn("reply", messages) }

// callsIn lists the requests in direction dir. Their answers pass in the other direction.
func callsIn(dir string, messages []results.Message) []Call {
	p := pairing{
		open:  make(map[callID]int),
		early: make(map[callID]results.Message),
		sent:  make(map[string]sent),
	}
	for _, m := range messages {
		switch {
		case m.Dir == dir:
			p.addSent(m)
		case len(m.ID) > 0 && m.Method == "":
			p.addReply(m)
		}
	}
	return p.calls
}

// Replies returns, for each method, the nanoseconds between each request and its reply.
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

// sent describes the messages in one direction that a recording has had so far.
type sent struct {
	last, largest results.Message
	stall         int64 // how long the write of the last message waited
}

// A pairing pairs requests and replies. A request is recorded only when its write has returned. The
// other side may have answered by then, so the reply may be recorded before the request. Such a
// reply is early.
type pairing struct {
	calls []Call
	open  map[callID]int             // indices in calls of requests without a reply
	early map[callID]results.Message // replies without a request so far
	sent  map[string]sent            // by run
}

// addSent adds a message in the direction of the requests. All messages of one write have the same
// time, and the first of them has the stall of the write.
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

// addRequest adds a request. began is the time at which its write began.
func (p *pairing) addRequest(call Call, began int64) {
	id := callID{call.Request.Run, string(call.Request.ID)}
	reply, answered := p.early[id]
	delete(p.early, id)
	// A write that waited less than LeastStall has no Stall, so it may have begun up to LeastStall
	// earlier. A reply from before that time answers an earlier request with the same id.
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
	// Request.T is the end of the write. Until then, the other side did not have the whole request.
	call.NS = m.T - call.Request.T
	delete(p.open, id)
}

// ByCount lists the methods in times, sorted by the number of their replies, the largest number
// first.
func ByCount(times map[string][]int64) []string {
	return slices.SortedFunc(maps.Keys(times), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(times[b]), len(times[a])), cmp.Compare(a, b))
	})
}
