package stat

import (
	"cmp"
	"maps"
	"slices"

	"github.com/pipebench/pipebench/results"
)

// Directions puts together the messages that went the same way, requests first.
func Directions(messages []results.Message) [][]results.Message {
	byDirection := make(map[string][]results.Message)
	for _, m := range messages {
		byDirection[m.Dir] = append(byDirection[m.Dir], m)
	}
	names := slices.Sorted(maps.Keys(byDirection))
	slices.Reverse(names) // "request" before "reply"
	var out [][]results.Message
	for _, name := range names {
		out = append(out, byDirection[name])
	}
	return out
}

// Replies pairs each request with the next reply of its id in the same recording. It returns the
// nanoseconds between request and reply for each method, and the requests without a reply in the
// order of their times.
func Replies(messages []results.Message) (times map[string][]int64, open []results.Message) {
	c := calls{
		open:  make(map[callID]results.Message),
		early: make(map[callID]results.Message),
		times: make(map[string][]int64),
	}
	for _, m := range messages {
		switch {
		case len(m.ID) == 0:
			continue
		case m.Dir == "request" && m.Method != "":
			c.addRequest(m)
		case m.Dir == "reply" && m.Method == "":
			c.addReply(m)
		}
	}
	byTime := func(a, b results.Message) int { return cmp.Compare(a.T, b.T) }
	return c.times, slices.SortedFunc(maps.Values(c.open), byTime)
}

type callID struct{ run, id string }

// calls holds the requests and replies of all recordings that are not paired yet, and the times of
// those that are. A request is recorded only when its write has returned. A server that reads it at
// once may have answered before that: such a reply is early.
type calls struct {
	open  map[callID]results.Message
	early map[callID]results.Message
	times map[string][]int64
}

func (c *calls) addRequest(m results.Message) {
	id := callID{m.Run, string(m.ID)}
	reply, answered := c.early[id]
	delete(c.early, id)
	// A write shorter than LeastStall has no Stall, so it may have begun that much before. An
	// earlier reply answers another request with this id.
	began := m.T - m.Stall
	if answered && reply.T >= began-results.LeastStall.Nanoseconds() {
		c.times[m.Method] = append(c.times[m.Method], max(0, reply.T-began))
		return
	}
	c.open[id] = m
}

func (c *calls) addReply(m results.Message) {
	id := callID{m.Run, string(m.ID)}
	request, known := c.open[id]
	if !known {
		c.early[id] = m
		return
	}
	// From the end of the write, since the server could not take the whole request before.
	c.times[request.Method] = append(c.times[request.Method], m.T-request.T)
	delete(c.open, id)
}

// ByCount lists the methods of reply times, those with the most replies first.
func ByCount(times map[string][]int64) []string {
	return slices.SortedFunc(maps.Keys(times), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(times[b]), len(times[a])), cmp.Compare(a, b))
	})
}
