package stat

import (
	"cmp"
	"maps"
	"slices"

	"github.com/pipebench/pipebench/results"
)

// A Call is a request in a recording, with the time until its answer.
type Call struct {
	Request  results.Message
	Answered bool
	NS       int64 // nanoseconds from the request to its reply

	Before results.Message // the same side's message right before the request; zero if none
}

// Calls lists the requests to servers, each with the next reply of the same id in the same
// recording.
func Calls(messages []results.Message) []Call { return callsIn("request", messages) }

// ServerCalls does what Calls does for the requests that servers sent to their clients.
func ServerCalls(messages []results.Message) []Call { return callsIn("reply", messages) }

// callsIn lists the requests in one direction, "request" or "reply", each with its answer from the
// other direction.
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
		case len(m.ID) > 0 && m.Method == "" && !m.Untaken:
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

// sent describes what was sent so far in one direction of a recording.
type sent struct {
	last    results.Message
	stall   int64 // how long the write of the last message waited
	earlier int64 // when the write before that one was recorded
}

// A pairing pairs requests and replies. A reply may be recorded before its request, because a
// request is recorded only after it is written. Such a reply is called early.
type pairing struct {
	calls []Call
	open  map[callID]int             // indices in calls of requests without a reply
	early map[callID]results.Message // replies without a request so far
	sent  map[string]sent            // by run
}

// addSent adds a message from the side that sends the requests. Messages of one write have the same
// time. Only the first of these messages says how long the write waited.
func (p *pairing) addSent(m results.Message) {
	s := p.sent[m.Run]
	call := Call{Request: m, Before: s.last}
	if m.T != s.last.T {
		s.stall = 0
		s.earlier = s.last.T
	}
	s.stall = max(s.stall, m.Stall)
	s.last = m
	p.sent[m.Run] = s
	if len(m.ID) > 0 && m.Method != "" {
		p.addRequest(call, m.T-s.stall, s.earlier)
	}
}

// addRequest adds a request whose write began at the time start, as far as the recording tells, and
// certainly not before the time earliest.
func (p *pairing) addRequest(call Call, start, earliest int64) {
	id := callID{call.Request.Run, string(call.Request.ID)}
	reply, answered := p.early[id]
	delete(p.early, id)
	// On a busy machine, a request may be recorded long after its write. A reply from before the
	// time earliest answers an earlier request with the same id.
	if answered && reply.T >= earliest {
		call.Answered = true
		call.NS = max(0, reply.T-start)
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
	// If the write waited, Request.T is when it ended: before, the other side lacked a part.
	call.NS = m.T - call.Request.T
	delete(p.open, id)
}

// ByCount lists the methods that have times. Those with the most replies come first.
func ByCount(times map[string][]int64) []string {
	return slices.SortedFunc(maps.Keys(times), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(times[b]), len(times[a])), cmp.Compare(a, b))
	})
}
