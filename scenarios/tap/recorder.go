package tap

import (
	"cmp"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/pipebench/pipebench/results"
)

// A recorder takes lines from both directions to the recording, without either waiting for it.
//
// A direction begins a batch when a read was passed on, adds a line for each message that ended in
// it, and ends the batch. Batches are written in the order in which they began, so the recording is
// in the order of time.
type recorder struct {
	Options
	began  time.Time
	limit  int // bytes that wait
	tracks []*track
	unused sync.Pool // of *batch

	mu      sync.Mutex
	waiting []*batch // begun and not yet written
	held    int      // bytes that they take
	due     bool     // flush will be called

	writing sync.Mutex // held while lines are written
	merged  []byte     // lines that are written together
	err     error
}

// A batch holds the lines of the messages that ended in one read.
type batch struct {
	at     int64 // when the read had been passed on, in ns since the recording began
	lines  []byte
	queued bool // among those that wait: there was room when it began
	ended  bool // of the recorder's lock
}

// A track is one direction's way to the recording. What follows busy belongs to who holds that.
type track struct {
	*recorder
	dir    string
	prefix []byte // of every message's line

	busy     sync.Mutex // held from begin to end
	over     bool       // nothing more is recorded
	batch    *batch     // what record adds to
	messages int64      // in the batch
	protocol string     // that the methods are of, "" so far
	lost     int64      // messages that did not fit, since the last that did
	from     int64      // when the first of them passed
	account  results.DirectionTraffic
}

// Bytes of lines that wait for the recording at most: the lines of 200,000 messages, however slow
// the disk; or some messages with their bodies.
const (
	heldLines   = 32 << 20
	heldBodies  = 128 << 20
	largestBody = 16 << 20
)

// batchBytes is what a batch takes beside its lines: so many empty ones do not wait without end.
const batchBytes = 128

// flushInterval is how long lines wait. To write them at once would cost each message microseconds.
const flushInterval = 20 * time.Millisecond

// One write has at least writeSize bytes, if so many wait.
const writeSize = 256 << 10

func newRecorder(o Options) *recorder {
	r := &recorder{Options: o, began: time.Now(), limit: heldLines}
	if r.Bodies {
		r.limit = heldBodies
	}
	r.unused.New = func() any { return new(batch) }
	return r
}

// now returns the time since the recording began, in ns.
func (r *recorder) now() int64 { return int64(time.Since(r.began)) }

// track adds a direction.
func (r *recorder) track(dir string) *track {
	t := &track{recorder: r, dir: dir, prefix: linePrefix(r.Run, dir)}
	r.tracks = append(r.tracks, t)
	return t
}

// begin begins the batch of a read that has just been passed on.
func (t *track) begin() {
	t.busy.Lock()
	b := t.unused.Get().(*batch)
	*b = batch{lines: b.lines[:0]}
	t.batch = b
	t.messages = 0
	t.mu.Lock()
	defer t.mu.Unlock()
	b.at = t.now()
	b.queued = !t.over && t.held < t.limit
	if b.queued {
		t.waiting = append(t.waiting, b)
		t.held += batchBytes
	}
}

// record adds the line of a message to the batch.
func (t *track) record(m *message) {
	if t.over {
		return
	}
	t.messages++
	t.account.Messages++
	if t.protocol == "" || t.protocol == "jsonrpc" {
		t.protocol = cmp.Or(protocolOf(m.method), t.protocol)
	}
	whole := t.Bodies && int64(len(m.body)) == m.size
	if t.Bodies && !whole {
		t.account.BodiesLeftOut++
	}
	m.redacted = whole && t.Redact && redact(m.body, string(m.method))
	t.batch.lines = appendMessage(t.batch.lines, t.prefix, m, whole)
}

// end hands the batch over, all of it or nothing.
func (t *track) end() {
	defer t.busy.Unlock()
	b := t.batch
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.messages == 0:
	case !b.queued, t.held+len(b.lines) > t.limit:
		t.lose()
	case t.lost > 0:
		b.lines = append(t.gap(b.at), b.lines...)
		t.lost = 0
	}
	if !b.queued {
		t.unused.Put(b)
		return
	}
	b.ended = true
	t.held += len(b.lines)
	if !t.due {
		t.due = true
		time.AfterFunc(flushInterval, t.flush)
	}
}

// lose leaves out a batch that does not fit.
func (t *track) lose() {
	if t.lost == 0 {
		t.account.Gaps++
		t.from = t.batch.at
	}
	t.lost += t.messages
	t.account.MessagesMissing += t.messages
	t.batch.lines = t.batch.lines[:0]
}

// flush writes the batches that have ended, up to the first that has not. After a failure it only
// makes room.
func (r *recorder) flush() {
	r.writing.Lock()
	defer r.writing.Unlock()
	for _, b := range r.take() {
		r.merged = append(r.merged, b.lines...)
		r.unused.Put(b)
		if len(r.merged) > writeSize {
			r.write()
		}
	}
	r.write()
}

// take returns the batches that can be written, which wait no longer.
func (r *recorder) take() []*batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due = false
	n := 0
	for n < len(r.waiting) && r.waiting[n].ended {
		r.held -= len(r.waiting[n].lines) + batchBytes
		n++
	}
	taken := r.waiting[:n]
	r.waiting = append([]*batch(nil), r.waiting[n:]...)
	return taken
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
		t.busy.Lock()
		t.over = true
		t.busy.Unlock()
	}
	r.flush()
	r.writing.Lock()
	defer r.writing.Unlock()
	for _, t := range r.tracks {
		t.busy.Lock()
		if t.lost > 0 {
			r.merged = append(r.merged, t.gap(r.now())...)
		}
		t.busy.Unlock()
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

// gapEvidence says which messages a recording is missing.
type gapEvidence struct {
	Dir      string `json:"dir"`
	Messages int64  `json:"messages"`
	FromNS   int64  `json:"from_ns"`
	UntilNS  int64  `json:"until_ns"`
}

// gap returns a line that tells of the messages that are missing before it.
func (t *track) gap(until int64) []byte {
	text, _ := json.Marshal(results.Finding{ // plain data
		Kind: results.KindFinding, Run: t.Run, Time: time.Now().UTC(),
		ID:       results.AreaFailure + "/recording-gap",
		Verdict:  results.Fails,
		Found:    fmt.Sprintf("%d messages missing", t.lost),
		Evidence: results.MustEvidence(gapEvidence{t.dir, t.lost, t.from, until}),
		Advice: "the recording could not keep up, and the traffic does not wait for it: " +
			"record to a faster disk, or without bodies",
	})
	return append(text, '\n')
}
