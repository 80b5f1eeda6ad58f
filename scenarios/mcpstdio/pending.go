package mcpstdio

import (
	"maps"
	"slices"
	"sync"

	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// A request is one that was read and is not answered yet.
type request struct {
	id       jsonrpc.ID // as the client wrote it
	number   int64      // as the SDK knows it
	method   string
	noParams bool
	session  *session // that handles it; nil if the SDK does not get it
	weight   int64    // in the server's inFlight, while the SDK has it
	bytes    int64    // in its answers

	cancelled, delivered bool // of the table's lock
}

// A pendingTable keeps what was read and is not answered yet, and the server's state.
type pendingTable struct {
	mu       sync.Mutex
	state    State
	last     int64
	byNumber map[int64]*request
	byID     map[jsonrpc.ID]*request
	waiting  int           // requests that wait for an answer
	idle     chan struct{} // closed when none waits and the server drains
	flushed  int           // answered since it drains
}

// advance goes from one state to another, and reports whether the server was in the first.
func (t *pendingTable) advance(from, to State) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != from {
		return false
	}
	t.state = to
	if to == Draining && t.waiting == 0 {
		close(t.idle)
	}
	return true
}

// add takes r in. It reports whether the server still reads, and whether the id was free.
func (t *pendingTable) add(r *request) (reading, free bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != Running {
		return false, false
	}
	t.last++
	r.number = t.last
	t.waiting++
	if r.session == nil {
		return true, true
	}
	if t.byID[r.id] != nil {
		return true, false
	}
	t.byNumber[r.number] = r
	t.byID[r.id] = r
	return true, true
}

// find returns the request that the SDK knows by number, or nil.
func (t *pendingTable) find(number int64) *request {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byNumber[number]
}

// findID returns the request of the client's id, or nil.
func (t *pendingTable) findID(id jsonrpc.ID) *request {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id]
}

// release lets the client use the id again, which it may do as soon as it has the answer: so call
// it before that is sent.
func (t *pendingTable) release(r *request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byNumber[r.number] == r {
		delete(t.byNumber, r.number)
		delete(t.byID, r.id)
	}
}

// finish counts a request as answered. One whose answer could not be sent stays open, and so is
// counted as dropped.
func (t *pendingTable) finish(answered bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state == Stopped || !answered {
		return
	}
	t.waiting--
	if t.state == Draining {
		t.flushed++
		if t.waiting == 0 {
			close(t.idle)
		}
	}
}

// mark notes that the SDK has the request, or that nobody wants the answer any more, and reports
// what is known of both.
func (t *pendingTable) mark(r *request, delivered, cancelled bool) (bool, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.delivered = r.delivered || delivered
	r.cancelled = r.cancelled || cancelled
	return r.delivered, r.cancelled
}

// list returns the requests that the SDK has or is to get.
func (t *pendingTable) list() []*request {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Values(t.byNumber))
}

// close ends the counting: what is answered later does not count.
func (t *pendingTable) close() (flushed, dropped int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state = Stopped
	return t.flushed, t.waiting
}
