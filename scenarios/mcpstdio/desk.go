package mcpstdio

import (
	"sync"

	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// A request is one that was read and is not answered yet.
type request struct {
	id       jsonrpc.ID // as the client wrote it
	number   int64      // as the SDK knows it
	method   string
	noParams bool     // has no params
	session  *session // whose it is; nil if it never got to the SDK
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

func (d *pendingTable) init() {
	d.byNumber = make(map[int64]*request)
	d.byID = make(map[jsonrpc.ID]*request)
	d.idle = make(chan struct{})
}

func (d *pendingTable) current() State {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state
}

// advance goes from one state to another, and reports whether the server was in the first.
func (d *pendingTable) advance(from, to State) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state != from {
		return false
	}
	d.state = to
	if to == Draining && d.waiting == 0 {
		close(d.idle)
	}
	return true
}

// add takes r in. It reports whether the server still reads, and whether the id was free.
func (d *pendingTable) add(r *request) (reading, free bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state != Running {
		return false, false
	}
	d.last++
	r.number = d.last
	d.waiting++
	if r.session == nil {
		return true, true
	}
	if d.byID[r.id] != nil {
		return true, false
	}
	d.byNumber[r.number] = r
	d.byID[r.id] = r
	return true, true
}

// find returns the request that the SDK knows by number, or nil.
func (d *pendingTable) find(number int64) *request {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byNumber[number]
}

// findID returns the request of the client's id, or nil.
func (d *pendingTable) findID(id jsonrpc.ID) *request {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byID[id]
}

// release lets the client use the id again, which it may do as soon as it has the answer: so before that is sent.
func (d *pendingTable) release(r *request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byNumber[r.number] == r {
		delete(d.byNumber, r.number)
		delete(d.byID, r.id)
	}
}

// finish counts r as answered, or as lost.
func (d *pendingTable) finish(answered bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state == Stopped {
		return
	}
	if !answered {
		return // it stays open, and so is counted as dropped
	}
	d.waiting--
	if d.state == Draining {
		d.flushed++
		if d.waiting == 0 {
			close(d.idle)
		}
	}
}

// list returns the requests that the SDK has.
func (d *pendingTable) list() []*request {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := make([]*request, 0, len(d.byNumber))
	for _, r := range d.byNumber {
		list = append(list, r)
	}
	return list
}

// close ends the counting: what is answered later does not count.
func (d *pendingTable) close() (flushed, dropped int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state = Stopped
	return d.flushed, d.waiting
}
