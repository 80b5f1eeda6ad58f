package mcpstdio

import (
	"sync"

	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// A request is one that was read and is not answered yet.
type request struct {
	id      jsonrpc.ID // as the client wrote it
	number  int64      // as the SDK knows it
	method  string
	bare    bool     // has no params
	session *session // whose it is; nil if it never got to the SDK
}

// A desk keeps what was read and is not answered yet, and the server's state.
type desk struct {
	mu       sync.Mutex
	state    State
	last     int64
	byNumber map[int64]*request
	byID     map[jsonrpc.ID]*request
	waiting  int           // requests that wait for an answer
	quiet    chan struct{} // closed when none waits and the server drains
	flushed  int           // answered since it drains
}

func (d *desk) open() {
	d.byNumber = make(map[int64]*request)
	d.byID = make(map[jsonrpc.ID]*request)
	d.quiet = make(chan struct{})
}

func (d *desk) where() State {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state
}

// advance goes from one state to another, and reports whether the server was in the first.
func (d *desk) advance(from, to State) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state != from {
		return false
	}
	d.state = to
	if to == Draining && d.waiting == 0 {
		close(d.quiet)
	}
	return true
}

// admit takes r in. It reports whether the server still reads, and whether the id was free.
func (d *desk) admit(r *request) (reading, free bool) {
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
func (d *desk) find(number int64) *request {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byNumber[number]
}

// named returns the request of the client's id, or nil.
func (d *desk) named(id jsonrpc.ID) *request {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byID[id]
}

// free lets the client use the id again, which it may do as soon as it has the answer: so before that is sent.
func (d *desk) free(r *request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byNumber[r.number] == r {
		delete(d.byNumber, r.number)
		delete(d.byID, r.id)
	}
}

// settle counts r as answered, or as lost.
func (d *desk) settle(answered bool) {
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
			close(d.quiet)
		}
	}
}

// unanswered returns the requests that the SDK has.
func (d *desk) unanswered() []*request {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := make([]*request, 0, len(d.byNumber))
	for _, r := range d.byNumber {
		list = append(list, r)
	}
	return list
}

// shut ends the counting: what is answered later does not count.
func (d *desk) shut() (flushed, dropped int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state = Stopped
	return d.flushed, d.waiting
}
