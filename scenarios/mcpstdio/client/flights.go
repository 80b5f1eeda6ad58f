package client

import (
	"strconv"

	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// pendingCalls are the requests that wait for an answer. Ids count up and are never used again, so an id that was given out and is
// not in flight is a tombstone: nothing needs to be kept of it.
type pendingCalls struct {
	last    int64
	waiting map[jsonrpc.ID]*pendingCall
}

// A pendingCall is one of them.
type pendingCall struct {
	id     jsonrpc.ID
	answer chan answer // has room for one
}

type answer struct {
	result []byte // yours
	err    error
}

func (f *pendingCalls) open() { f.waiting = make(map[jsonrpc.ID]*pendingCall) }

func (f *pendingCalls) len() int { return len(f.waiting) }

// add gives out an id.
func (f *pendingCalls) add() *pendingCall {
	f.last++
	fl := &pendingCall{id: jsonrpc.Number(f.last), answer: make(chan answer, 1)}
	f.waiting[fl.id] = fl
	return fl
}

// remove takes a flight off. It reports whether it was in the air, and else whether it ever was.
func (f *pendingCalls) remove(id jsonrpc.ID) (fl *pendingCall, tombstone bool) {
	if fl = f.waiting[id]; fl != nil {
		delete(f.waiting, id)
		return fl, false
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return nil, err == nil && n > 0 && n <= f.last
}

// failAll fails everything in the air with one error, but for the request that an oversized frame was the answer to.
func (f *pendingCalls) failAll(h eventData) {
	for id, fl := range f.waiting {
		var err error = h.err
		if id == h.id && h.size != nil {
			err = h.size
		}
		fl.answer <- answer{err: err}
	}
	clear(f.waiting)
}
