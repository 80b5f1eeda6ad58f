package tap

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"iter"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// A message is what the decoder knows about a message whose last byte has been passed on.
type message struct {
	at   int64 // when its last byte was passed on, in ns since the recording began
	size int64
	// stalled is for how many ns the writes of the message were blocked. If several messages share
	// a write, the time counts for the first.
	stalled int64
	body    []byte // nil if it was too large to keep; valid only while emit is called

	id, method []byte // the JSON text of the id; the method without quotes. Empty if missing
	failed     bool   // it is an error response
	redacted   bool   // values in its body were overwritten
	untaken    bool   // the client had left before it came
}

// heldBytes is the largest message that is kept in memory if bodies are not recorded. Only the
// first KiB of a larger message is searched for the id and the method.
const heldBytes = 2 << 20

// A decoder finds the messages in a stream. Its reader is a coroutine: it pauses when it needs more
// bytes, and goes on when the method feed brings some.
type decoder struct {
	framing framers.Framing  // nil until the first bytes show which
	client  *decoder         // of the other direction, if this one is from the server
	limit   int              // most bytes of a message that is kept
	emit    func(m *message) // is given each message

	reader framers.Reader          // nil until the framing is known
	fed    int64                   // bytes that feed was given
	resume func() (struct{}, bool) // lets the reader read on
	stop   func()
	piece  []byte // the bytes from feed that the reader has not read yet
	ended  bool
	inLine int // bytes that have come since the last end of a line

	message message // the last one that was found
	at      int64   // when piece was passed on
	stalled int64   // ns of the writes that stalled since the last message ended

	strays     int64  // how often text came that is neither a header nor a message
	firstStray string // the first such line, or what is wrong with it
}

func newDecoder(f framers.Framing, limit int, emit func(m *message)) *decoder {
	d := &decoder{framing: f, limit: limit, emit: emit}
	d.resume, d.stop = iter.Pull(d.messages)
	d.resume() // runs the reader until it wants its first bytes
	return d
}

// framingName returns the name that a recording gives the framing.
func (d *decoder) framingName() string {
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

// lines returns a framing that takes each line as a message, and also reads frames of the chunked
// framing among the lines.
func lines() framers.Framing {
	f, err := framers.Adaptive(framers.DefaultChunk)
	if err != nil {
		return framers.NDJSON() // the default size is always valid
	}
	return f
}

// feed takes the bytes p, which were passed on at the time at. Before that, the write of these
// bytes was blocked for the time stall.
func (d *decoder) feed(p []byte, at, stall int64) {
	d.at = at
	d.fed += int64(len(p))
	d.stalled += stall
	d.inLine += len(p)
	if i := bytes.LastIndexByte(p, '\n'); i >= 0 {
		d.inLine = len(p) - i - 1
	}
	d.piece = p
	d.resume()
	d.piece = nil
}

// close tells the reader that the stream has ended. The last line may lack its newline.
func (d *decoder) close(at int64) {
	d.at = at
	d.ended = true
	d.resume()
	d.stop()
}

// pending says what has come of the next message. The length of a line is 0. The last line may have
// become a message when the stream ended.
func (d *decoder) pending() framers.Pending {
	if r, ok := d.reader.(framers.LengthReader); ok {
		return r.Pending()
	}
	return framers.Pending{Came: d.inLine}
}

// messages is the coroutine: it reads messages, and yields whenever it wants more bytes.
func (d *decoder) messages(yield func(struct{}) bool) {
	stream := io.Reader(&pieces{d, yield})
	if d.framing == nil {
		var head []byte
		d.framing, head = d.detect(stream)
		stream = io.MultiReader(bytes.NewReader(head), stream)
	}
	d.reader = d.framing.NewReader(stream,
		framers.WithPolicy(framers.Resync), framers.WithVerbatim(),
		framers.WithMaxMessage(d.limit), framers.WithSkipped(d.emitSkipped))
	for {
		msg, err := d.reader.ReadMessage()
		if err == nil {
			d.emitWhole(msg)
			continue
		}
		large, tooLarge := errors.AsType[*framers.TooLargeError](err)
		header, badHeader := errors.AsType[*framers.HeaderError](err)
		_, badChunk := errors.AsType[*framers.ChunkError](err)
		switch {
		case tooLarge && large.Declared:
			d.emitSkipped(large)
		case tooLarge: // the reader calls emitSkipped when it knows the size
		case badHeader: // this was no message, but the next may be one
			d.firstStray = cmp.Or(d.firstStray, header.Line, header.Err.Error())
			d.strays++
		case badChunk: // as above
		default: // the stream has ended
			if text := d.pending().Text; text != "" {
				d.firstStray = cmp.Or(d.firstStray, text)
				d.strays++
			}
			return
		}
	}
}

var contentPrefix = []byte("content-")

// longestBanner is how much text of a server, in bytes, may wait for what tells the framing.
const longestBanner = 4 << 10

// detect finds out the framing from the first bytes of a stream, and returns those bytes. If a
// server begins with text, the next lines or the client's framing tell.
func (d *decoder) detect(stream io.Reader) (f framers.Framing, head []byte) {
	line := 0 // where the current line begins
	for {
		var next [1]byte
		n, err := stream.Read(next[:])
		head = append(head, next[:n]...)
		begin := head[line:min(len(head), line+len(contentPrefix))]
		switch {
		case err != nil || bytes.HasPrefix(begin, []byte("{")):
			return lines(), head
		case bytes.EqualFold(begin, contentPrefix):
			return framers.ContentLength(), head
		case bytes.EqualFold(begin, contentPrefix[:len(begin)]):
		case d.client == nil || len(head) >= longestBanner:
			return lines(), head
		case d.client.framing != nil:
			return d.client.framing, head
		case next[0] == '\n':
			line = len(head)
		}
	}
}

// pieces is the input of the reader: the bytes that feed was given. If there are none, Read yields
// until feed brings more.
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

// emitWhole emits a message that was read completely. A blank line is no message.
func (d *decoder) emitWhole(msg []byte) {
	blank := len(msg) == 0 && d.framing.String() != framers.ContentLength().String()
	if blank {
		return
	}
	d.message = message{size: int64(len(msg)), body: msg}
	e := jsonrpc.Scan(msg)
	if e.End == 0 { // no complete JSON object: an id in it may be wrong
		e = jsonrpc.Envelope{}
	}
	d.finish(e)
}

// emitSkipped emits what is known about a message that is too large to keep.
func (d *decoder) emitSkipped(e *framers.TooLargeError) {
	d.message = message{size: e.Size}
	d.finish(jsonrpc.Scan(e.Head))
}

// finish adds the id and the method, emits the message and prepares for the next one.
func (d *decoder) finish(e jsonrpc.Envelope) {
	m := &d.message
	m.id = e.ID
	m.method = e.Method
	m.failed = e.Error && len(e.Method) == 0
	m.at = d.at
	m.stalled = d.stalled
	d.emit(m)
	d.stalled = 0
}
