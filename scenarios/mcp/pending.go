package mcp

import (
	"context"
	"sync"

	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// A State is a stage in the life of a Server. A server goes through the stages in this order.
type State int

const (
	Running  State = iota // reading requests
	Draining              // reading no more; answering what was read
	Stopped               // over
)

func (s State) String() string {
	return [...]string{"running", "draining", "stopped"}[s]
}

// A request is a request of the client that was read and has not been answered yet.
type request struct {
	id     jsonrpc.ID // as the client wrote it
	method string
	params []byte // JSON text; nil for none
	// stateless says that the request itself names its revision, so that it needs no handshake.
	stateless bool
	size      int   // of the message, in bytes
	weight    int64 // its share of the server's inFlight, while it is served
	bytes     int64 // its answer's share of the server's answers

	ctx      context.Context // ended by cancel; nil if the answer is known already
	cancel   context.CancelFunc
	unwanted bool // the client has cancelled the request; the table's mu guards this
}

// A pendingTable keeps the requests that were read and are not answered yet, and the server's
// state.
type pendingTable struct {
	mu      sync.Mutex
	state   State
	byID    map[jsonrpc.ID]*request // the requests that can be cancelled
	waiting int                     // requests that wait for an answer
	idle    chan struct{}           // closed when the server drains and no request waits
	flushed int                     // requests answered while draining
}

func (t *pendingTable) drain() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != Running {
		return
	}
	t.state = Draining
	if t.waiting == 0 {
		close(t.idle)
	}
}

// add counts r as waiting for its answer. The result reading is false if the server reads no more
// requests. free is false if another request has the same id.
func (t *pendingTable) add(r *request) (reading, free bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != Running {
		return false, false
	}
	t.waiting++
	if r.ctx == nil {
		return true, true
	}
	if t.byID[r.id] != nil {
		return true, false
	}
	t.byID[r.id] = r
	return true, true
}

// renounce marks the request that has this id as unwanted, so that it gets no answer. It returns
// the request, or nil if there is none.
func (t *pendingTable) renounce(id jsonrpc.ID) *request {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.byID[id]
	if r != nil {
		r.unwanted = true
		delete(t.byID, id)
	}
	return r
}

// release frees the id of r, and reports whether the client still wants the answer. Call it before
// sending, because the client may use the id again at once.
func (t *pendingTable) release(r *request) (wanted bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID[r.id] == r {
		delete(t.byID, r.id)
	}
	return !r.unwanted
}

// finish counts a request as answered, or leaves it waiting if its answer could not be sent.
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

func (t *pendingTable) cancel() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.byID {
		r.cancel()
	}
}

func (t *pendingTable) unanswered() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting > 0
}

// close ends the counting. It returns how many requests were answered while the server drained, and
// how many were never answered.
func (t *pendingTable) close() (flushed, dropped int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state = Stopped
	return t.flushed, t.waiting
}
