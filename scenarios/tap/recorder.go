package tap

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pipebench/pipebench/results"
)

// A recorder takes lines from both directions to the recording, without either waiting for it.
type recorder struct {
	w       io.Writer
	asleep  atomic.Bool
	wake    chan struct{}
	stop    chan struct{}
	stopped chan struct{}
	tracks  []*track

	mu  sync.Mutex
	err error
}

// A track is one direction's way to the recording.
type track struct {
	*recorder
	ring     *ring
	run, dir string
	prefix   []byte // of every message's line
	bodies   bool
	redact   bool

	// of the relay's goroutine while it looks at what it has passed on, and of close, which does
	// not wait for a relay that waits for the client
	lock         sync.Mutex
	lines        []byte // not yet in the ring
	pendingCount int64  // messages in lines
	first        int64  // when the first of them passed
	messages     int64
	lost         int64 // messages that did not fit, since the last that did
	lostAll      int64
	gaps         int64
	from         int64 // when the first of them passed
	bodyless     int64 // messages whose body was left out since it was too large
}

// Sizes of what is held for the recording at most, in bytes a direction: the lines of 100,000
// messages, however slow the disk; or a message with its body.
const (
	ringBytes   = 16 << 20
	bodyRing    = 64 << 20
	largestBody = 16 << 20
)

// batchBytes is the size from which lines go to the ring before a read has been looked at whole.
const batchBytes = 16 << 10

// flushInterval bounds how long lines wait for the recorder. The traffic wakes nobody unless there
// is much of it: a wake-up would cost each message microseconds.
const flushInterval = 20 * time.Millisecond

// idleTicks is the number of flush intervals without work after which the recorder waits to be
// woken.
const idleTicks = 50

func newRecorder(w io.Writer) *recorder {
	return &recorder{w: w, wake: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{})}
}

// track adds a direction. All are added before run.
func (r *recorder) track(run, dir string, bodies, hide bool) *track {
	size := ringBytes
	if bodies {
		size = bodyRing
	}
	t := &track{recorder: r, ring: newRing(size), run: run, dir: dir, prefix: linePrefix(run, dir), bodies: bodies, redact: hide}
	r.tracks = append(r.tracks, t)
	return t
}

// run writes what comes until close.
func (r *recorder) run() {
	defer close(r.stopped)
	idle := 0
	timer := time.NewTimer(flushInterval)
	defer timer.Stop()
	for {
		if r.drain() {
			idle = 0
		} else {
			idle++
		}
		if idle > idleTicks && r.sleep() {
			idle = 0
		}
		select {
		case <-timer.C:
			timer.Reset(flushInterval)
		case <-r.wake:
		case <-r.stop:
			r.drain()
			return
		}
	}
}

// sleep waits for traffic; it reports false if there is some already.
func (r *recorder) sleep() bool {
	r.asleep.Store(true)
	if r.drain() {
		r.asleep.Store(false)
		return false
	}
	select {
	case <-r.wake:
	case <-r.stop:
	}
	return true
}

// drain writes what is there. After a failure it only makes room.
func (r *recorder) drain() (any bool) {
	for _, t := range r.tracks {
		a, b := t.ring.peek()
		for _, piece := range [][]byte{a, b} {
			if len(piece) > 0 {
				any = true
				r.write(piece)
			}
		}
		t.ring.done(len(a) + len(b))
	}
	return any
}

func (r *recorder) write(p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		_, r.err = r.w.Write(p)
	}
}

// close writes the rest and returns what went wrong, if anything did. Nobody records any more.
func (r *recorder) close(now int64) error {
	close(r.stop)
	<-r.stopped
	for _, t := range r.tracks {
		t.close(now)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return fmt.Errorf("the recording is not whole: %w", r.err)
	}
	return nil
}

// record makes a message's line. Only flush puts it on its way, for certain. It never waits; its
// caller holds the lock.
func (t *track) record(m *message) {
	t.messages++
	whole := t.bodies && int64(len(m.body)) >= m.size
	if t.bodies && !whole {
		t.bodyless++
	}
	if whole {
		m.body = m.body[:m.size] // a carriage return before the newline is the terminator's
	}
	if whole && t.redact {
		redact(m.body)
	}
	if len(m.body) > batchBytes {
		t.flush() // what may not fit takes no others with it
	}
	if t.pendingCount == 0 {
		t.lines, t.first = t.gap(m.at), m.first
	}
	t.lines = appendMessage(t.lines, t.prefix, m, whole)
	if t.pendingCount++; len(t.lines) >= batchBytes {
		t.flush()
	}
}

// flush puts the lines of the messages so far on their way to the recording: all of them, or none.
func (t *track) flush() {
	if t.pendingCount == 0 {
		return
	}
	switch fits := t.ring.put(t.lines); {
	case fits:
		if t.asleep.Load() && t.asleep.CompareAndSwap(true, false) || t.ring.overHighWater() {
			select {
			case t.wake <- struct{}{}:
			default: // it is being woken
			}
		}
		if t.lost > 0 {
			t.lost = 0
			t.gaps++
		}
	default:
		if t.lost == 0 {
			t.from = t.first
		}
		t.lost += t.pendingCount
		t.lostAll += t.pendingCount
	}
	t.pendingCount = 0
}

// gapEvidence says which messages a recording is missing.
type gapEvidence struct {
	Dir      string `json:"dir"`
	Messages int64  `json:"messages"`
	FromNS   int64  `json:"from_ns"`
	UntilNS  int64  `json:"until_ns"`
}

// gap begins the lines with one that tells of the messages that are missing before them, if some
// are.
func (t *track) gap(until int64) []byte {
	lines := t.lines[:0]
	if t.lost == 0 {
		return lines
	}
	text, err := json.Marshal(results.Fault{
		Kind: results.KindFault, Run: t.run, Time: time.Now().UTC(), ID: "recording-gap", Verdict: fmt.Sprintf("%d messages missing", t.lost),
		Evidence: results.MustEvidence(gapEvidence{t.dir, t.lost, t.from, until}),
		Advice:   "the recording could not keep up, and the traffic does not wait for it: record to a faster disk, or without bodies",
	})
	if err != nil {
		return lines // cannot be: plain data
	}
	return append(append(lines, text...), '\n')
}

// close tells of messages that are missing at the end.
func (t *track) close(now int64) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if line := t.gap(now); len(line) > 0 {
		t.gaps++
		t.write(line)
	}
}

// A ring is a bounded queue of bytes from one goroutine to another: neither waits for the other,
// and what does not fit is refused whole. Once it is empty it begins anew, so that it takes as much
// memory as it once had to hold, and not as much as it could.
type ring struct {
	mu         sync.Mutex // for as long as a copy takes
	buf        []byte
	head, tail int // bytes put and taken since it was empty
}

func newRing(bytes int) *ring { return &ring{buf: make([]byte, bytes)} }

// put takes all of p, or nothing. It belongs to the writing goroutine.
func (r *ring) put(p []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(p) > len(r.buf)-(r.head-r.tail) {
		return false
	}
	at := r.head % len(r.buf)
	copy(r.buf, p[copy(r.buf[at:], p):])
	r.head += len(p)
	return true
}

// peek returns what is there, in one or two pieces, until done says that it was taken. It belongs
// to the reading goroutine.
func (r *ring) peek() (a, b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	from, n := r.tail%len(r.buf), r.head-r.tail
	first := min(n, len(r.buf)-from)
	return r.buf[from : from+first], r.buf[:n-first]
}

func (r *ring) done(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tail += n; r.tail == r.head {
		r.head, r.tail = 0, 0
	}
}

// overHighWater reports whether there is too much to leave until the recorder comes by itself.
func (r *ring) overHighWater() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.head-r.tail > highWater
}

// highWater is the traffic of a hundredth of a second at its densest, in bytes.
const highWater = 1 << 20
