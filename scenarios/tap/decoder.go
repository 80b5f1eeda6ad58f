package tap

import (
	"bytes"
	"errors"
	"io"
	"iter"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// A message is what is known of one when its last byte has passed.
type message struct {
	at      int64 // when its last byte had been passed on, in ns since the recording began
	first   int64 // when its first byte was, or what was read with it
	size    int64
	stalled int64  // ns that passing it on took
	body    []byte // nil if it was too large to be held; valid while it is recorded

	id, method []byte // raw JSON; without its quotes. Empty if there is none
	failed     bool   // it answers by an error
	redacted   bool   // values in its body were overwritten
}

// A readEvent is one read that was passed on: when, and how long the other side took to take it.
type readEvent struct{ at, stalled int64 }

// heldBytes bounds what is held of a message whose body is not recorded. Of a larger one the id and
// the method are known if they stand in its first KiB.
const heldBytes = 2 << 20

// A decoder finds the messages in a stream that it sees go by. A reader of the framing reads what
// it is fed: it runs as a coroutine, until it wants more than there is.
type decoder struct {
	framing framers.Framing  // nil until the first bytes tell
	limit   int              // bytes of a message
	emit    func(m *message) // is given each message

	resume  func() (struct{}, bool) // lets the reader read on; nil before the framing is known
	stop    func()
	started []byte // the beginning of a stream whose framing is not known yet
	piece   []byte // what the reader has not read yet
	ended   bool

	message message   // that was found last
	when    readEvent // of the piece
	first   int64     // when the message under way began; -1: none is under way
	stalled int64     // ns that passing on its pieces took so far
}

func newDecoder(f framers.Framing, limit int, emit func(m *message)) *decoder {
	return &decoder{framing: f, limit: limit, emit: emit, first: -1}
}

// name says how messages are framed, as a recording names it.
func (d *decoder) name() string {
	if d.framing == nil {
		return "unknown"
	}
	switch d.framing.String() {
	case lines().String():
		return "lines"
	case framers.ContentLength().String():
		return "headers"
	}
	return d.framing.String()
}

// lines is the framing of bare lines, among which there may be frames of chunked messages.
func lines() framers.Framing {
	f, err := framers.Adaptive(framers.DefaultChunk)
	if err != nil {
		return framers.NDJSON() // the default size is a size
	}
	return f
}

// feed takes the next bytes of the stream.
func (d *decoder) feed(p []byte, when readEvent) {
	d.when = when
	d.stalled += when.stalled
	if d.first < 0 {
		d.first = when.at
	}
	if d.resume != nil {
		d.read(p)
		return
	}
	if d.framing == nil {
		d.started = append(d.started, p...)
		p = d.started
		d.framing = detect(p)
		if d.framing == nil {
			return
		}
	}
	d.start()
	d.read(p)
	d.started = nil
}

var contentPrefix = []byte("content-")

// detect tells by the first bytes how messages are framed. It returns nil if more bytes are needed.
func detect(head []byte) framers.Framing {
	lower := bytes.ToLower(head[:min(len(head), len(contentPrefix))])
	switch {
	case !bytes.HasPrefix(contentPrefix, lower):
		return lines()
	case len(lower) < len(contentPrefix):
		return nil
	}
	return framers.ContentLength()
}

// start begins the reader.
func (d *decoder) start() {
	d.resume, d.stop = iter.Pull(d.messages)
	d.resume() // until it wants its first bytes
}

// read has the reader read a piece. A reader that has given up ignores it.
func (d *decoder) read(p []byte) {
	d.piece = p
	d.resume()
	d.piece = nil
}

// close takes the end of the stream: a last line needs no newline.
func (d *decoder) close(when readEvent) {
	d.when = when
	if d.resume == nil {
		if len(d.started) > 0 {
			d.framing = lines()
			d.start()
			d.read(d.started)
		} else {
			return
		}
	}
	d.ended = true
	d.resume()
	d.stop()
}

// messages is the coroutine: it reads messages, and yields whenever it wants more bytes.
func (d *decoder) messages(yield func(struct{}) bool) {
	r := d.framing.NewReader(&pieces{d, yield},
		framers.WithPolicy(framers.Resync), framers.WithVerbatim(), framers.WithLenient(),
		framers.WithMaxMessage(d.limit), framers.WithSkipped(d.skipped))
	var header *framers.HeaderError
	var chunk *framers.ChunkError
	var large *framers.TooLargeError
	for {
		msg, err := r.ReadMessage()
		switch {
		case err == nil:
			d.whole(msg)
		case errors.As(err, &large) && large.Declared:
			d.skipped(large)
		case errors.As(err, &large): // skipped is called when its size is known
		case errors.As(err, &header), errors.As(err, &chunk): // no message: the next one may be one
		default:
			return
		}
	}
}

// pieces is the stream that the reader reads.
type pieces struct {
	d     *decoder
	yield func(struct{}) bool
}

func (p *pieces) Read(b []byte) (int, error) {
	for len(p.d.piece) == 0 {
		if p.d.ended || !p.yield(struct{}{}) {
			return 0, io.EOF
		}
	}
	n := copy(b, p.d.piece)
	p.d.piece = p.d.piece[n:]
	return n, nil
}

// prefixBytes is how much of a message is looked at first: most have their id and method there.
const prefixBytes = 256

// whole records a message.
func (d *decoder) whole(msg []byte) {
	blank := len(msg) == 0 && d.framing.String() != framers.ContentLength().String()
	if blank {
		d.begin()
		return
	}
	m := &d.message
	*m = message{size: int64(len(msg)), body: msg}
	id, method, failed, found := jsonrpc.Peek(msg[:min(len(msg), prefixBytes)])
	if !found {
		e := jsonrpc.Scan(msg)
		if e.Whole {
			id = e.ID
			method = e.Method
			failed = e.Error
		}
	}
	m.id = id
	m.method = method
	m.failed = failed && len(method) == 0
	d.finish(m)
}

// skipped records a message that is too large to be held.
func (d *decoder) skipped(e *framers.TooLargeError) {
	var s jsonrpc.Scanner
	s.Write(e.Head)
	found := s.Envelope()
	m := message{size: e.Size, id: found.ID, method: found.Method}
	m.failed = found.Error && len(found.Method) == 0
	d.finish(&m)
}

// finish hands a message on and makes ready for the next.
func (d *decoder) finish(m *message) {
	m.at = d.when.at
	m.first = d.first
	m.stalled = d.stalled
	d.emit(m)
	d.begin()
}

// begin makes ready for the next message, whose first bytes may stand in the same piece.
func (d *decoder) begin() {
	d.first = d.when.at
	d.stalled = d.when.stalled
	if len(d.piece) == 0 {
		d.first = -1
		d.stalled = 0
	}
}
