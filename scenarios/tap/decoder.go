package tap

import (
	"bytes"
	"errors"
	"io"
	"iter"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// A message is what is known of one when its last byte has passed.
type message struct {
	at      int64 // when its last byte had been passed on, in ns since the recording began
	size    int64
	stalled int64  // ns that passing it on took
	body    []byte // nil if it was too large to be held; valid while it is recorded

	id, method []byte // raw JSON; without its quotes. Empty if there is none
	failed     bool   // it answers by an error
	redacted   bool   // values in its body were overwritten
}

// heldBytes is how much of a message is kept in memory if its body is not recorded. The id and the
// method of a larger message are known only if they stand in its first KiB.
const heldBytes = 2 << 20

// A decoder finds the messages in a stream that it sees go by. A reader of the framing reads what
// it is fed: it runs as a coroutine, until it wants more than there is.
type decoder struct {
	framing framers.Framing  // nil until the first bytes tell
	limit   int              // bytes of a message
	emit    func(m *message) // is given each message

	resume func() (struct{}, bool) // lets the reader read on
	stop   func()
	piece  []byte // what the reader has not read yet
	ended  bool

	message message // that was found last
	at      int64   // when the piece had been passed on
	stall   int64   // ns that passing it on took
	stalled int64   // ns that passing on the message under way took so far
}

func newDecoder(f framers.Framing, limit int, emit func(m *message)) *decoder {
	d := &decoder{framing: f, limit: limit, emit: emit}
	d.resume, d.stop = iter.Pull(d.messages)
	d.resume() // until it wants its first bytes
	return d
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

// feed takes the next bytes of the stream, and when and in how long they were passed on. A reader
// that has given up ignores them.
func (d *decoder) feed(p []byte, at, stall int64) {
	d.at = at
	d.stall = stall
	d.stalled += stall
	d.piece = p
	d.resume()
	d.piece = nil
}

// close takes the end of the stream: a last line needs no newline.
func (d *decoder) close(at int64) {
	d.at = at
	d.stall = 0
	d.ended = true
	d.resume()
	d.stop()
}

// messages is the coroutine: it reads messages, and yields whenever it wants more bytes.
func (d *decoder) messages(yield func(struct{}) bool) {
	stream := io.Reader(&pieces{d, yield})
	if d.framing == nil {
		var head []byte
		d.framing, head = detect(stream)
		stream = io.MultiReader(bytes.NewReader(head), stream)
	}
	r := d.framing.NewReader(stream,
		framers.WithPolicy(framers.Resync), framers.WithVerbatim(), framers.WithLenient(),
		framers.WithMaxMessage(d.limit), framers.WithSkipped(d.skipped))
	for {
		msg, err := r.ReadMessage()
		if err == nil {
			d.whole(msg)
			continue
		}
		large, tooLarge := errors.AsType[*framers.TooLargeError](err)
		_, badHeader := errors.AsType[*framers.HeaderError](err)
		_, badChunk := errors.AsType[*framers.ChunkError](err)
		switch {
		case tooLarge && large.Declared:
			d.skipped(large)
		case tooLarge: // skipped is called when its size is known
		case badHeader, badChunk: // no message: the next one may be one
		default:
			return
		}
	}
}

var contentPrefix = []byte("content-")

// detect tells by the first bytes of a stream, which it returns, how messages are framed.
func detect(stream io.Reader) (f framers.Framing, head []byte) {
	for len(head) < len(contentPrefix) {
		var next [1]byte
		n, err := stream.Read(next[:])
		head = append(head, next[:n]...)
		if err != nil || !bytes.HasPrefix(contentPrefix, bytes.ToLower(head)) {
			return lines(), head
		}
	}
	return framers.ContentLength(), head
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

// whole hands a message on.
func (d *decoder) whole(msg []byte) {
	blank := len(msg) == 0 && d.framing.String() != framers.ContentLength().String()
	if blank {
		d.begin()
		return
	}
	d.message = message{size: int64(len(msg)), body: msg}
	e := jsonrpc.Scan(msg)
	if e.Whole {
		d.finish(e)
	} else {
		d.finish(jsonrpc.Envelope{})
	}
}

// skipped hands on what is known of a message that is too large to be held.
func (d *decoder) skipped(e *framers.TooLargeError) {
	d.message = message{size: e.Size}
	d.finish(jsonrpc.Scan(e.Head))
}

// finish completes a message by its envelope, hands it on and makes ready for the next.
func (d *decoder) finish(e jsonrpc.Envelope) {
	m := &d.message
	m.id = e.ID
	m.method = e.Method
	m.failed = e.Error && len(e.Method) == 0
	m.at = d.at
	m.stalled = d.stalled
	d.emit(m)
	d.begin()
}

// begin makes ready for the next message, whose first bytes may stand in the same piece.
func (d *decoder) begin() {
	d.stalled = 0
	if len(d.piece) > 0 {
		d.stalled = d.stall
	}
}
