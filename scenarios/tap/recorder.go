package tap

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
)

// A recorder writes the messages of both directions to the recording, each direction in the order
// of time. Neither direction waits for the disk.
//
// When a direction has passed on what one read returned, it calls the method begin, then the method
// record for each message that ended in those bytes, and finally the method end.
type recorder struct {
	Options
	began time.Time
	limit int // most bytes of lines that may wait

	mu      sync.Mutex // held from begin to end
	tracks  []*track
	lines   []byte // lines that wait to be written
	written int    // bytes of the write under way
	due     bool   // a timer will call flush
	over    bool   // nothing more is recorded

	// About a message that has come in part, or text that is no message; see partDue.
	makePart func() results.Target // makes the record that says so; nil: there is none
	partSaid bool                  // the last such record is about a message in part
	partAt   int64                 // the track.at that the last such record is about
	strays   int64                 // how many texts the last such record counts

	writing sync.Mutex // held while lines are written
	spare   []byte     // a buffer whose lines were written, for reuse
	err     error      // why a write failed; nil if none did
}

// A track records the messages of one direction. The recorder's mu guards the fields after prefix.
type track struct {
	*recorder
	dir    string
	prefix []byte // the beginning of every message's line

	decoder *decoder // of the same direction

	// About the read that was passed on last:
	at       int64 // when it had been passed on, in ns since the recording began
	start    int   // where its lines begin in recorder.lines
	messages int64 // how many messages ended in it

	hasLeft bool // the client has left: from now on only answers are recorded, as not taken

	protocol string // the protocol of the methods so far; "" if there were none
	lost     int64  // messages left out since the last recorded one
	from     int64  // when the first of the lost messages passed
	account  results.DirectionTraffic
}

const (
	heldLines   = 32 << 20  // most bytes of lines that may wait: about 200,000 messages
	heldBodies  = 128 << 20 // the same as heldLines, if bodies are recorded
	largestBody = 16 << 20  // a larger body is not kept
)

// keptLines is the largest buffer that is kept for reuse, in bytes. Even the fastest traffic fills
// less within the time flushInterval.
const keptLines = 8 << 20

// flushInterval is how long lines wait to be written. To write each line at once would cost some
// microseconds for every message.
const flushInterval = 20 * time.Millisecond

// silence is how long nothing comes until the recording says what has come besides messages.
const silence = 100 * time.Millisecond

func newRecorder(o Options) *recorder {
	r := &recorder{Options: o, began: time.Now(), limit: heldLines}
	if r.Bodies {
		r.limit = heldBodies
	}
	return r
}

// now returns the time since the recording began, in ns.
func (r *recorder) now() int64 { return int64(time.Since(r.began)) }

// track adds a direction, and returns its track.
func (r *recorder) track(dir string) *track {
	t := &track{recorder: r, dir: dir, prefix: linePrefix(r.Run, dir)}
	r.tracks = append(r.tracks, t)
	return t
}

// begin locks the recorder, so that the messages of a read can be recorded. The method end unlocks
// it. begin returns the time.
func (t *track) begin() (at int64) {
	t.mu.Lock()
	t.at = t.now()
	t.start = len(t.lines)
	t.messages = 0
	return t.at
}

// leave notes that the client has left.
func (t *track) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hasLeft = true
}

// record adds the line of a message.
func (t *track) record(m *message) {
	isAnswer := len(m.id) > 0 && len(m.method) == 0
	if t.over || t.hasLeft && !isAnswer {
		return
	}
	m.untaken = t.hasLeft
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
	t.lines = appendMessage(t.lines, t.prefix, m, whole)
}

// end unlocks the recorder. If there is no room for all lines that were added since begin was
// called, end drops them.
func (t *track) end() {
	defer t.mu.Unlock()
	t.flushSoon()
	if t.messages == 0 {
		return
	}
	if t.written+len(t.lines) > t.limit {
		t.lose()
		return
	}
	if t.lost > 0 {
		t.lines = slices.Insert(t.lines, t.start, t.gap(t.at)...)
		t.lost = 0
	}
}

// flushSoon starts the timer that calls flush, unless it runs. The caller holds r.mu.
func (r *recorder) flushSoon() {
	if !r.due {
		r.due = true
		time.AfterFunc(flushInterval, r.flush)
	}
}

// partDue reports whether a record is due that says what has come besides messages: if a part of a
// message or a text has come, and then nothing for the time silence, or if such a message has
// become whole. The caller holds r.mu.
func (r *recorder) partDue(hasLines bool) bool {
	if r.makePart == nil || r.over {
		return false
	}
	last := int64(0)
	inPart := false
	strays := int64(0)
	for _, t := range r.tracks {
		last = max(last, t.at)
		inPart = inPart || t.decoder.pending() != framers.Pending{}
		strays += t.decoder.strays
	}
	hasMore := (inPart || strays > r.strays) && last > r.partAt
	isQuiet := r.now()-last >= int64(silence)
	if hasMore && !isQuiet {
		r.flushSoon() // to look again
	}
	becameWhole := r.partSaid && hasLines
	if !(hasMore && isQuiet) && !becameWhole {
		return false
	}
	r.partSaid = inPart
	r.partAt = last
	r.strays = strays
	return true
}

// lose drops the lines that were added since begin was called, and counts their messages as
// missing.
func (t *track) lose() {
	if t.lost == 0 {
		t.account.Gaps++
		t.from = t.at
	}
	t.lost += t.messages
	t.account.MessagesMissing += t.messages
	t.lines = t.lines[:t.start]
}

// flush writes the lines that wait. If an earlier write failed, it drops them instead.
func (r *recorder) flush() {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.mu.Lock()
	lines := r.lines
	r.lines = r.spare[:0]
	r.written = len(lines)
	r.due = false
	partDue := r.partDue(len(lines) > 0)
	r.mu.Unlock()
	r.write(lines)
	if partDue {
		r.writeTarget(r.makePart())
	}
	r.spare = nil
	if cap(lines) <= keptLines {
		r.spare = lines
	}
	r.mu.Lock()
	r.written = 0
	r.mu.Unlock()
}

// write writes lines. The caller holds r.writing.
func (r *recorder) write(lines []byte) {
	if r.err == nil && len(lines) > 0 {
		_, r.err = r.Record.Write(lines)
	}
}

// writeTarget writes a record about the traffic. The caller holds r.writing.
func (r *recorder) writeTarget(t results.Target) {
	line, err := json.Marshal(t)
	r.err = cmp.Or(r.err, err)
	r.write(append(line, '\n'))
}

// close writes the lines that wait. Then all counts are final, and close calls makeLast and writes
// the record that makeLast returns. close returns the first error of the recording.
func (r *recorder) close(makeLast func() results.Target) error {
	r.mu.Lock()
	r.over = true
	for _, t := range r.tracks {
		if t.lost > 0 {
			r.lines = append(r.lines, t.gap(r.now())...)
		}
	}
	r.mu.Unlock()
	r.flush()
	r.writing.Lock()
	defer r.writing.Unlock()
	r.writeTarget(makeLast())
	if r.err != nil {
		return fmt.Errorf("the recording is not whole: %w", r.err)
	}
	return nil
}

// gapEvidence says how many messages are missing from a recording, and when they passed.
type gapEvidence struct {
	Dir      string `json:"dir"`
	Messages int64  `json:"messages"`
	FromNS   int64  `json:"from_ns"`
	UntilNS  int64  `json:"until_ns"`
}

// gap returns a line that says how many messages are missing up to the time now.
func (t *track) gap(now int64) []byte {
	f := results.Finding{
		Kind: results.KindFinding, Run: t.Run, Time: time.Now().UTC(),
		ID: results.AreaFailure + "/recording-gap", Verdict: results.Fails,
		Found: fmt.Sprintf("%d messages missing", t.lost),
		Advice: "the recording could not keep up, and the traffic does not wait for it: " +
			"record to a faster disk, or without bodies",
		Evidence: results.MustEvidence(gapEvidence{t.dir, t.lost, t.from, now}),
	}
	text, _ := json.Marshal(f) // plain data
	return append(text, '\n')
}
