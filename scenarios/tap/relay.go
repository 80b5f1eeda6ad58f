package tap

import (
	"errors"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// readSize is the size of the buffer of a read, in bytes: twice the usual capacity of a pipe.
const readSize = 128 << 10

// A relay passes one direction on.
type relay struct {
	from, to stream
	track    *track
	decoder  *decoder

	bytes   atomic.Int64
	reads   atomic.Int64
	stalled atomic.Int64          // ns in which the other side did not take what there was
	writing atomic.Int64          // when the write that is under way began, in ns; 0: none is
	inHand  atomic.Int64          // bytes that it has to write
	failed  atomic.Pointer[error] // why the other side could not take all; nil if it left
	done    chan struct{}

	yielded int64 // when it last let others run
}

func newRelay(from, to stream, t *track, f framers.Framing) *relay {
	limit := heldBytes
	if t.Bodies {
		limit = largestBody
	}
	return &relay{
		from: from, to: to, track: t, done: make(chan struct{}),
		decoder: newDecoder(f, limit, t.record),
	}
}

// run passes bytes on until one side is closed, and closes the other then: who reads meets an end
// of file, who writes a broken pipe, as if there were nobody between.
func (r *relay) run() {
	defer close(r.done)
	buf := make([]byte, readSize)
	for {
		n, err := r.from.read(buf)
		if n > 0 {
			unwritten := r.pass(buf[:n])
			if unwritten != nil && !syspipe.ReaderLeft(unwritten) {
				r.failed.Store(&unwritten)
			}
			err = errors.Join(unwritten, err)
		}
		// Yield now and then, so that the runtime sees that this goroutine lets others run. One
		// that is seen to go on for 10 ms is to be preempted; as a direction is in system calls
		// nearly all of the time, that means to take its share of the scheduler, every 20 µs from
		// then on, and to wake a thread each time to do something with it. With all on one CPU that
		// was a third of the time of a round trip of 1 MiB.
		now := r.track.now()
		if now-r.yielded > yieldInterval {
			runtime.Gosched()
			r.yielded = now
		}
		if err != nil {
			break
		}
	}
	r.end() // before the streams close: then the session may be over
	r.to.close()
	r.from.close()
}

// yieldInterval is the longest time for which a direction does not yield, in ns: half of what the
// runtime tolerates.
const yieldInterval = 5_000_000

// pass writes p on, and looks at it afterwards.
func (r *relay) pass(p []byte) error {
	came := r.track.now()
	r.inHand.Store(int64(len(p)))
	r.writing.Store(came)
	err := r.to.writeAll(p)
	r.writing.Store(0)
	gone := r.track.now()
	r.bytes.Add(int64(len(p)))
	r.reads.Add(1)
	stalled := int64(0)
	if gone-came > int64(results.LeastStall) {
		stalled = gone - came
		r.stalled.Add(stalled)
	}
	if err == nil {
		r.record(p, stalled)
	}
	return err
}

// record records what of messages has just passed.
func (r *relay) record(p []byte, stalled int64) {
	at := r.track.begin()
	defer r.track.end()
	r.decoder.feed(p, at, stalled)
}

// end records the end of the stream.
func (r *relay) end() {
	at := r.track.begin()
	defer r.track.end()
	r.decoder.close(at)
}

// A stream is one end of a pipe, or whatever else a standard stream is.
type stream interface {
	// read waits until there is something. It returns io.EOF at the end.
	read(p []byte) (int, error)
	writeAll(p []byte) error
	// awaitReader waits up to a second for the reader to leave. It returns false as soon as the
	// reader has left, which only Unix can tell, and true after the second.
	awaitReader() bool
	close()
}

// A file is a stream that is read and written as Go does. Every system has these; where open makes
// others, it is for their speed.
type file struct{ *os.File }

func (f file) read(p []byte) (int, error) { return f.Read(p) }

func (f file) writeAll(p []byte) error {
	_, err := f.Write(p)
	return err
}

func (f file) awaitReader() bool {
	time.Sleep(time.Second)
	return true
}

func (f file) close() { f.Close() }
