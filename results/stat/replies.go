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
	NS       int64 // between the request and its reply

	Before  results.Message // the message to the server right before it; zero if none
	Largest results.Message // the largest message to the server before it
}

// Calls lists the requests to the servers, each with the next reply of its id in the same
// recording.
func Calls(messages []results.Message) []Call {
	c := calls{
		open:  make(map[callID]int),
		early: make(map[callID]results.Message),
		sent:  make(map[string]sent),
	}
	for _, m := range messages {
		switch {
		case m.Dir == "request":
			c.addSent(m)
		case len(m.ID) > 0 && m.Method == "":
			c.addReply(m)
		}
	}
	return c.all
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

// calls pairs requests and replies. A request is recorded only when its write has returned. A
// server that reads it at once may have answered before that: such a reply is early.
type calls struct {
	all   []Call
	open  map[callID]int // places in all of requests without a reply
	early map[callID]results.Message
	sent  map[string]sent // by run
}

// addSent adds a message to the server. If several were passed on by one write, they have one time,
// and the first of them has the stall of that write.
func (c *calls) addSent(m results.Message) {
	s := c.sent[m.Run]
	call := Call{Request: m, Before: s.last, Largest: s.largest}
	if m.T != s.last.T {
		s.stall = 0
	}
	s.stall = max(s.stall, m.Stall)
	s.last = m
	if m.Size >= s.largest.Size {
		s.largest = m
	}
	c.sent[m.Run] = s
	if len(m.ID) > 0 && m.Method != "" {
		c.addRequest(call, m.T-s.stall)
	}
}

// addRequest adds a request whose write began at a time.
func (c *calls) addRequest(call Call, began int64) {
	id := callID{call.Request.Run, string(call.Request.ID)}
	reply, answered := c.early[id]
	delete(c.early, id)
	// A write shorter than LeastStall has no Stall, so it may have begun that much before. An
	// earlier reply answers another request with this id.
	if answered && reply.T >= began-results.LeastStall.Nanoseconds() {
		call.Answered = true
		call.NS = max(0, reply.T-began)
	} else {
		c.open[id] = len(c.all)
	}
	c.all = append(c.all, call)
}

func (c *calls) addReply(m results.Message) {
	id := callID{m.Run, string(m.ID)}
	i, known := c.open[id]
	if !known {
		c.early[id] = m
		return
	}
	call := &c.all[i]
	call.Answered = true
	// From the end of the write, since the server could not take the whole request before.
	call.NS = m.T - call.Request.T
	delete(c.open, id)
}

// ByCount lists the methods of reply times, those with the most replies first.
func ByCount(times map[string][]int64) []string {
	return slices.SortedFunc(maps.Keys(times), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(times[b]), len(times[a])), cmp.Compare(a, b))
	})
}
