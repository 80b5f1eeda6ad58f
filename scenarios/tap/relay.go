package tap

import (
	"cmp"
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

// A relay passes on the bytes of one direction.
type relay struct {
	from, to stream
	track    *track
	decoder  *decoder

	bytes   atomic.Int64
	reads   atomic.Int64
	stalled atomic.Int64          // ns of writes that stalled; see results.LeastStall
	writing atomic.Int64          // when the current write began, as from track.now; 0: none
	inHand  atomic.Int64          // bytes of the current write
	failed  atomic.Pointer[error] // why a write failed; nil if none did, or if the reader had left
	done    chan struct{}         // closed when run has ended

	yielded int64 // when run last let other goroutines run, in ns
}

func newRelay(from, to stream, t *track, f framers.Framing) *relay {
	limit := heldBytes
	if t.Bodies {
		limit = largestBody
	}
	t.decoder = newDecoder(f, limit, t.record)
	return &relay{from: from, to: to, track: t, decoder: t.decoder, done: make(chan struct{})}
}

// run passes bytes on until one side is closed, and then closes the other.
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
		// After 10 ms, Go's runtime would preempt this goroutine, and then wake a thread every 20
		// µs. On one CPU, waking threads took a third of a round trip of 1 MiB. So yield before
		// the 10 ms are over.
		now := r.track.now()
		if now-r.yielded > yieldInterval {
			runtime.Gosched()
			r.yielded = now
		}
		if err != nil {
			break
		}
	}
	at := r.track.begin()
	r.decoder.close(at)
	r.track.end()
	// Only now: once the streams are closed, the session may be over.
	r.to.close()
	r.from.close()
}

// yieldInterval is how long the goroutine of a relay may run before it lets others run, in ns.
const yieldInterval = 5_000_000

// pass writes p to the other side, and then looks for messages in it.
func (r *relay) pass(p []byte) error {
	began := r.track.now()
	r.inHand.Store(int64(len(p)))
	r.writing.Store(began)
	err := r.to.writeAll(p)
	r.writing.Store(0)
	at := began
	took := r.track.now() - began
	r.bytes.Add(int64(len(p)))
	r.reads.Add(1)
	stalled := int64(0)
	if took > int64(results.LeastStall) {
		stalled = took
		at += took
		r.stalled.Add(stalled)
	}
	hasLeft := r.track.dir == fromServer && syspipe.ReaderLeft(err)
	if hasLeft {
		r.track.leave()
	}
	if err == nil || hasLeft {
		r.record(p, at, stalled)
	}
	return err
}

// record records the messages that end in p, which has just been passed on unless the client has
// left. The time at is before the write unless the write stalled: the answer may come before the
// write returns.
func (r *relay) record(p []byte, at, stalled int64) {
	r.track.begin()
	defer r.track.end()
	r.decoder.feed(p, at, stalled)
}

func (r *relay) account() results.DirectionTraffic {
	r.track.mu.Lock()
	a := r.track.account
	hasLeft := r.track.hasLeft
	pending := r.decoder.pending()
	fed := r.decoder.fed
	ended := r.decoder.ended
	if reader, ok := r.decoder.reader.(framers.HeaderReader); ok {
		a.BareHeaders = reader.BareHeaders()
	}
	at := r.decoder.at // of the end, if it has ended
	a.Strays = r.decoder.strays
	first := r.decoder.firstStray
	if !ended && pending.Text != "" { // text whose line has no end so far
		a.Strays++
		first = cmp.Or(first, pending.Text)
	}
	if r.track.Bodies && !r.track.Redact {
		a.FirstStray = first
	}
	r.track.mu.Unlock()
	a.Bytes = r.bytes.Load()
	allPassed := fed == a.Bytes && !hasLeft // else the cause may be the other side
	if allPassed && ended {
		a.EndedNS = at
	}
	if allPassed && pending.Length >= 0 {
		a.Announced = pending.Length
		a.Came = int64(pending.Came)
	}
	a.Reads = r.reads.Load()
	a.StalledNS = r.stalled.Load()
	since := r.writing.Load()
	if since > 0 { // a write is under way
		waited := r.track.now() - since
		if waited > int64(results.LeastStall) {
			a.StalledNS += waited
		}
	}
	return a
}

// A stream is one end of a pipe, or whatever else a standard stream is.
type stream interface {
	// read waits until there are bytes to read. It returns io.EOF at the end.
	read(p []byte) (int, error)
	writeAll(p []byte) error
	// readerStays waits up to a second for the reader to leave, and reports whether it stays. On
	// systems other than Unix, it always returns true.
	readerStays() bool
	close()
}

// A file is a stream that uses Go's own reads and writes.
type file struct{ *os.File }

func (f file) read(p []byte) (int, error) { return f.Read(p) }

func (f file) writeAll(p []byte) error {
	_, err := f.Write(p)
	return err
}

func (f file) readerStays() bool {
	time.Sleep(time.Second)
	return true
}

func (f file) close() { f.Close() }
