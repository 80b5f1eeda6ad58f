package tap

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pipebench/pipebench/results"
)

// A recorder takes lines from both directions to the recording, without either waiting for it.
type recorder struct {
	Options
	began   time.Time
	asleep  atomic.Bool
	wake    chan struct{}
	stop    chan struct{}
	stopped chan struct{}
	tracks  []*track
	merged  []byte // of run's goroutine, as err until it ends
	err     error
}

// A track is one direction's way to the recording.
type track struct {
	*recorder
	queue queue
	held  []byte // taken from the queue and not yet written; the recorder's
	// Lines of messages that passed then, or later, may be on their way; 0: none are.
	looking atomic.Int64
	dir     string
	prefix  []byte // of every message's line

	// of the relay's goroutine while it looks at what it has passed on, and of close, which does
	// not wait for a relay that waits for the client
	lock         sync.Mutex
	over         bool                     // the recording is closed
	lines        []byte                   // not yet in the queue
	protocol     string                   // that the methods are of, "" so far
	pendingCount int64                    // messages in lines
	first        int64                    // when the first of them passed
	lost         int64                    // messages that did not fit, since the last that did
	from         int64                    // when the first of them passed
	account      results.DirectionTraffic // so far, but for what the relay counts
}

// Sizes of what is held for the recording at most, in bytes a direction: the lines of 100,000
// messages, however slow the disk; or a message with its body.
const (
	queueBytes  = 16 << 20
	bodyQueue   = 64 << 20
	largestBody = 16 << 20
)

// batchBytes is the size from which lines go to the queue before a read has been looked at whole.
const batchBytes = 16 << 10

// flushInterval bounds how long lines wait for the recorder. The traffic wakes nobody unless there
// is much of it: a wake-up would cost each message microseconds.
const flushInterval = 20 * time.Millisecond

// idleTicks is the number of flush intervals without work after which the recorder waits to be
// woken.
const idleTicks = 50

func newRecorder(o Options) *recorder {
	return &recorder{
		Options: o, began: time.Now(),
		wake: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
}

// now returns the time since the recording began, in ns.
func (r *recorder) now() int64 { return int64(time.Since(r.began)) }

// track adds a direction. All are added before run.
func (r *recorder) track(dir string) *track {
	t := &track{recorder: r, dir: dir, prefix: linePrefix(r.Run, dir)}
	t.queue.limit = queueBytes
	if r.Bodies {
		t.queue.limit = bodyQueue
	}
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
		idle++
		if r.drain(false) {
			idle = 0
		}
		tick := timer.C
		if idle > idleTicks { // only traffic wakes it
			r.asleep.Store(true)
			idle = 0
			if !r.drain(false) {
				tick = nil
			}
		}
		select {
		case <-tick:
			timer.Reset(flushInterval)
		case <-r.wake:
		case <-r.stop:
			r.drain(true)
			return
		}
		r.asleep.Store(false)
	}
}

// drain writes the lines that are there, of both directions in the order of time: those of messages
// that passed before any of which the line may still be under way, or all. After a failure it only
// makes room.
func (r *recorder) drain(all bool) (any bool) {
	until := int64(math.MaxInt64)
	if !all {
		until = r.now()
	}
	for _, t := range r.tracks {
		since := t.looking.Load()
		if since > 0 && !all {
			until = min(until, since)
		}
	}
	for _, t := range r.tracks {
		t.held = t.queue.take(t.held)
	}
	for {
		var first *track
		earliest := until
		for _, t := range r.tracks {
			at := t.nextTime()
			if len(t.held) > 0 && at < earliest {
				first = t
				earliest = at
			}
		}
		if first == nil {
			break
		}
		n := bytes.IndexByte(first.held, '\n') + 1
		r.merged = append(r.merged, first.held[:n]...)
		first.held = first.held[n:]
		any = true
		if len(r.merged) > writeSize {
			r.write()
		}
	}
	r.write()
	return any
}

// writeSize is the least that is written at once where there is more, in bytes.
const writeSize = 256 << 10

// nextTime returns when the message passed whose line is the first of those held; 0 where the line
// is about something else.
func (t *track) nextTime() (at int64) {
	text, ok := bytes.CutPrefix(t.held, t.prefix)
	for i := 0; ok && text[i] >= '0' && text[i] <= '9'; i++ {
		at = at*10 + int64(text[i]-'0')
	}
	return at
}

func (r *recorder) write() {
	if r.err == nil && len(r.merged) > 0 {
		_, r.err = r.Record.Write(r.merged)
	}
	r.merged = r.merged[:0]
}

// close writes the rest and then the records that closing makes, a line each, and returns what went
// wrong, if anything did. What passes from now on is not recorded: so closing counts what is.
func (r *recorder) close(closing func() []any) error {
	for _, t := range r.tracks {
		t.lock.Lock()
		t.flush()
		t.over = true
		t.lock.Unlock()
	}
	close(r.stop)
	<-r.stopped
	for _, t := range r.tracks {
		t.lock.Lock()
		r.merged = append(r.merged, t.gap(r.now())...)
		t.lock.Unlock()
	}
	for _, record := range closing() {
		line, err := json.Marshal(record)
		r.err = cmp.Or(r.err, err)
		r.merged = append(r.merged, line...)
		r.merged = append(r.merged, '\n')
	}
	r.write()
	if r.err != nil {
		return fmt.Errorf("the recording is not whole: %w", r.err)
	}
	return nil
}

// record makes a message's line. Only flush puts it on its way, for certain. It never waits; its
// caller holds the lock.
func (t *track) record(m *message) {
	if t.over {
		return
	}
	t.account.Messages++
	if t.protocol == "" || t.protocol == "jsonrpc" {
		t.protocol = cmp.Or(protocolOf(m.method), t.protocol)
	}
	whole := t.Bodies && int64(len(m.body)) == m.size
	if t.Bodies && !whole {
		t.account.BodiesLeftOut++
	}
	m.redacted = whole && t.Redact && redact(m.body, string(m.method))
	if len(m.body) > batchBytes {
		t.flush() // what may not fit takes no others with it
	}
	if t.pendingCount == 0 {
		t.lines = t.gap(m.at)
		t.first = m.first
	}
	t.lines = appendMessage(t.lines, t.prefix, m, whole)
	t.pendingCount++
	if len(t.lines) >= batchBytes {
		t.flush()
	}
}

// flush puts the lines of the messages so far on their way to the recording: all of them, or none.
func (t *track) flush() {
	if t.pendingCount == 0 {
		return
	}
	fits, overHighWater := t.queue.put(t.lines)
	if overHighWater || t.asleep.Load() && t.asleep.CompareAndSwap(true, false) {
		select {
		case t.wake <- struct{}{}:
		default: // it is being woken
		}
	}
	if fits {
		t.lost = 0
	} else {
		if t.lost == 0 {
			t.account.Gaps++
			t.from = t.first
		}
		t.lost += t.pendingCount
		t.account.MessagesMissing += t.pendingCount
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
	text, _ := json.Marshal(results.Finding{ // plain data
		Kind: results.KindFinding, Run: t.Run, Time: time.Now().UTC(),
		ID:       results.AreaFailure + "/recording-gap",
		Verdict:  results.Fails,
		Found:    fmt.Sprintf("%d messages missing", t.lost),
		Evidence: results.MustEvidence(gapEvidence{t.dir, t.lost, t.from, until}),
		Advice: "the recording could not keep up, and the traffic does not wait for it: " +
			"record to a faster disk, or without bodies",
	})
	return append(append(lines, text...), '\n')
}

// A queue is a bounded queue of lines from one goroutine to another: neither waits for the other,
// and what does not fit is refused whole. It takes as much memory as it once had to hold, and as
// much again while that is written.
type queue struct {
	mu    sync.Mutex // for as long as a copy takes
	lines []byte
	limit int // bytes
}

// put takes all of p, or nothing. It reports also whether there is too much to leave until the
// recorder comes by itself.
func (q *queue) put(p []byte) (fits, overHighWater bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(p) > q.limit-len(q.lines) {
		return false, true
	}
	q.lines = append(q.lines, p...)
	return true, len(q.lines) > highWater
}

// take appends what is there to held.
func (q *queue) take(held []byte) []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(held) == 0 {
		taken := q.lines
		q.lines = held[:0]
		return taken
	}
	held = append(held, q.lines...)
	q.lines = q.lines[:0]
	return held
}

// highWater is the traffic of a hundredth of a second at its densest, in bytes.
const highWater = 1 << 20
