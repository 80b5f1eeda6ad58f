package tap

import (
	"errors"
	"sync/atomic"
	"time"
)

// readSize is how much one read takes, in bytes: twice what a pipe holds unless told otherwise.
const readSize = 128 << 10

// A relay passes one direction on.
type relay struct {
	from, to stream
	began    time.Time
	track    *track
	splitter splitter

	bytes   atomic.Int64
	reads   atomic.Int64
	stalled atomic.Int64 // ns in which the other side did not take what there was
	framing atomic.Int32 // once it is known
	done    chan struct{}
}

func newRelay(from, to stream, began time.Time, t *track, protocol framing) *relay {
	r := &relay{from: from, to: to, began: began, track: t, done: make(chan struct{})}
	r.splitter = splitter{framing: protocol, length: -1, next: -1, emit: t.record}
	if t.bodies {
		r.splitter.keep = largestBody
	}
	return r
}

// run passes bytes on until one side is closed, and closes the other then: who reads meets an end of file, who writes a broken pipe, as if
// there were nobody between.
func (r *relay) run() {
	defer close(r.done)
	buf := make([]byte, readSize)
	for {
		n, err := r.from.read(buf)
		if n > 0 {
			err = errors.Join(r.pass(buf[:n]), err)
		}
		if err != nil {
			break
		}
	}
	r.to.close()
	r.from.close()
	r.splitter.close(passage{at: r.now()})
}

// pass writes p on, and looks at it afterwards.
func (r *relay) pass(p []byte) error {
	came := r.now()
	err := r.to.writeAll(p)
	gone := r.now()
	r.bytes.Add(int64(len(p)))
	r.reads.Add(1)
	stalled := int64(0)
	if gone-came > hesitation {
		stalled = gone - came
		r.stalled.Add(stalled)
	}
	if err == nil {
		r.splitter.see(p, passage{at: gone, stalled: stalled})
		r.framing.Store(int32(r.splitter.framing))
	}
	return err
}

// hesitation is what a write that does not wait may take, in ns: copying 128 KiB and waking the reader take less than half of it.
const hesitation = 100_000

func (r *relay) now() int64 { return int64(time.Since(r.began)) }

// A stream is one end of a pipe, or whatever else a standard stream is.
type stream interface {
	// read waits until there is something. It returns io.EOF at the end.
	read(p []byte) (int, error)
	writeAll(p []byte) error
	close()
}
