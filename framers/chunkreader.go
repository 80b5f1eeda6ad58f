package framers

import (
	"bytes"
	"io"
	"time"
)

// A Chunk is one frame of a message, as WithProgress reports it.
type Chunk struct {
	ID    []byte // nil for a bare line of the adaptive framing
	Index int
	Total int
	Data  []byte

	Received int       // chunks of the message so far, with this one
	Size     int       // bytes of the message in these chunks
	Began    time.Time // when the first chunk came; zero for a message of one chunk
}

// A stage is where a chunkReader is in the stream.
type stage int

const (
	atHeader   stage = iota // at the beginning of a line, or inside a header
	atData                  // behind a header that has not been judged yet
	inData                  // inside the data of a frame, which begin at base
	discarding              // inside the data of a frame that is dropped
	inLine                  // inside a bare line
)

// A chunkReader receives frames and puts messages together. The data of a frame are received into
// the read buffer, as a lineReader receives a line. A message of one frame is delivered from that
// buffer. The frames of a longer message are copied to its partialMessage, unless all of them are
// in the read buffer (see joined).
//
// Everything that the chunkReader knows of a frame under way is in its fields, so that an error of
// the stream loses nothing.
type chunkReader struct {
	lineReader // holds the read buffer, and receives the bare lines

	bare   bool // lines that are no frames are messages
	packed bool // messages are compressed; an error about one names its frame
	stage  stage

	frame       chunkHeader     // of the frame under way
	offset      int64           // where in the stream that frame begins
	to          *partialMessage // the message of that frame; nil if it is a message's only frame
	discardFrom int64           // where in the stream the discarded data begin

	partials  partialMessages
	delivered *partialMessage // recycled at the next call
}

func newChunkReader(r io.Reader, f framing, s settings) *chunkReader {
	return &chunkReader{
		lineReader: lineReader{in: newReadBuffer(r, &s), set: s},
		bare:       f.bare,
		packed:     f.pack,
		partials:   partialMessages{top: max(s.maxMessage, 1)},
	}
}

func (r *chunkReader) ReadMessage() ([]byte, error) {
	if r.delivered != nil {
		r.partials.recycle(r.delivered)
		r.delivered = nil
	}
	if r.broken != nil {
		return nil, r.broken
	}
	if r.stage == atHeader && r.in.base == r.in.end && !r.skipping { // as body.ReadMessage does
		if err := r.in.fill(0); err != nil {
			return nil, r.end(err)
		}
	}
	if msg := r.sole(); msg != nil {
		return msg, nil
	}
	for {
		msg, err := r.step()
		if msg != nil || err != nil {
			return msg, err
		}
	}
}

// sole returns the next message if it is one frame with a UUID, as nearly all small messages are,
// if that frame is in the read buffer whole, and if no other message is incomplete. If anything is
// unusual it returns nil and changes nothing.
func (r *chunkReader) sole() []byte {
	in := &r.in
	held := in.held()
	usual := r.stage == atHeader && !r.skipping && len(r.partials.list) == 0 &&
		r.set.progress == nil && !r.packed
	if !usual || len(held) < soleHeader || string(held[uuidBytes:soleHeader]) != soleFields {
		return nil
	}
	if bytes.IndexByte(held[:uuidBytes], ':') >= 0 || r.bare && !uuidPrefix(held[:uuidBytes]) {
		return nil
	}
	end := bytes.IndexByte(held, '\n')
	if end < soleHeader || end-soleHeader > r.set.maxMessage {
		return nil
	}
	in.next(in.base + end + 1)
	r.partials.countWithoutLarge()
	return held[soleHeader:end:end]
}

// step receives the next part of a frame, and returns the message that it completes, or nil.
func (r *chunkReader) step() ([]byte, error) {
	switch r.stage {
	case atHeader:
		return nil, r.header()
	case atData:
		return nil, r.judge()
	case discarding:
		return nil, r.discard()
	case inLine:
		return r.line()
	}
	if err := r.data(); err != nil {
		return nil, err
	}
	return r.deliver(), nil
}

// header receives the header of a frame.
func (r *chunkReader) header() error {
	in := &r.in
	if r.skipping {
		if err := r.skip(); err != nil {
			return r.end(err)
		}
	}
	for {
		switch r.frame.parse(in.held(), r.bare) {
		case aChunk:
			r.offset = in.offset(in.base)
			in.base += r.frame.length
			in.pos = in.base
			r.stage = atData
			return nil
		case noChunk:
			return r.notAFrame()
		}
		if err := in.fill(0); err != nil {
			return r.end(err)
		}
	}
}

// judge decides what becomes of the frame whose header has come.
func (r *chunkReader) judge() error {
	f := &r.frame
	if f.index >= f.total {
		return r.reject(ErrIndex, 0)
	}
	if f.total == 1 && len(r.partials.list) == 0 {
		return r.receive(nil)
	}
	now := r.set.now()
	if err := r.expire(now); err != nil {
		return err
	}
	p := r.partials.find(&f.id)
	switch {
	case p == nil && f.total == 1:
		return r.receive(nil)
	case p == nil && len(r.partials.list) >= r.set.flightMessages:
		return r.reject(ErrInFlight, 0)
	case p == nil:
		return r.receive(r.partials.add(&f.id, f.total, r.offset, now))
	case p.total != f.total:
		return r.reject(ErrTotal, p.received)
	case p.dropped:
		r.to = p
		r.startDiscarding()
		return nil
	case p.has(f.index):
		return r.reject(ErrDuplicate, p.received)
	}
	p.touched = now
	return r.receive(p)
}

// receive begins to receive the data of the frame: as a part of the message to or, if to is nil, as
// a whole message.
func (r *chunkReader) receive(to *partialMessage) error {
	r.to = to
	r.stage = inData
	return nil
}

// data receives the rest of a frame's data. They are then in the read buffer, between base and pos.
func (r *chunkReader) data() error {
	in := &r.in
	for {
		n := bytes.IndexByte(in.buf[in.pos:in.end], '\n')
		ended := n >= 0
		if !ended {
			n = in.end - in.pos
		}
		in.pos += n
		if err := r.checkLimits(); err != nil || ended {
			return err
		}
		if r.to == nil && in.pos-in.base > keepPartialBytes {
			r.partials.large = nil // the read buffer grows as large: one large buffer is enough
		}
		if err := in.fill(0); err != nil {
			return inside(err)
		}
	}
}

// deliver puts the chunk whose data have come into its message, and returns the message if it is
// whole.
func (r *chunkReader) deliver() []byte {
	in := &r.in
	data := in.buf[in.base:in.pos:in.pos]
	if r.set.progress != nil {
		r.set.progress(r.chunk(data))
	}
	if msg := r.joined(data); msg != nil {
		return msg
	}
	r.stage = atHeader
	in.next(in.pos + 1) // the newline
	p := r.to
	r.to = nil
	if p == nil {
		r.partials.countWithoutLarge()
		return data
	}
	r.partials.store(p, r.frame.index, data)
	if p.received < p.total {
		return nil
	}
	r.partials.forget(p)
	r.delivered = p
	return p.data
}

// mostJoined is the most frames of a message that are joined in the read buffer.
const mostJoined = 8

// joined puts a message together in the read buffer, if all its frames are there; data are those of
// its first frame. The data of the other frames are moved behind them, which costs less than
// copying the whole message. If anything is unusual joined returns nil and changes nothing.
func (r *chunkReader) joined(data []byte) []byte {
	in := &r.in
	p := r.to
	usual := p != nil && r.frame.index == 0 && p.total <= mostJoined && p.received == 0 &&
		len(r.partials.list) == 1 && r.set.progress == nil && !r.packed
	if !usual || in.end-in.pos < (p.total-2)*len(data) {
		return nil
	}
	var pieces [mostJoined][]byte
	size := len(data)
	at := in.pos + 1
	for i := 1; i < p.total; i++ {
		var h chunkHeader
		rest := in.buf[min(at, in.end):in.end]
		if h.parse(rest, r.bare) != aChunk || h.id != r.frame.id || h.index != i ||
			h.total != p.total {
			return nil
		}
		rest = rest[h.length:]
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			return nil
		}
		pieces[i] = rest[:end]
		size += end
		at += h.length + end + 1
	}
	if size > min(r.set.maxMessage, r.set.flightBytes) {
		return nil
	}
	for _, piece := range pieces[1:p.total] {
		data = in.buf[in.base : in.base+len(data)+len(piece)]
		copy(data[len(data)-len(piece):], piece)
	}
	r.stage = atHeader
	in.next(at)
	r.to = nil
	r.partials.forget(p)
	r.partials.recycle(p)
	return data[:size:size]
}

// chunk describes the frame whose data have come, for WithProgress.
func (r *chunkReader) chunk(data []byte) Chunk {
	c := Chunk{
		ID: r.frame.id.bytes(), Index: r.frame.index, Total: r.frame.total,
		Data: data, Received: 1, Size: len(data),
	}
	if p := r.to; p != nil {
		c.Received = p.received + 1
		c.Size = p.size() + len(data)
		c.Began = p.began
	}
	return c
}

// line receives a bare line. It returns nil for a blank line that is skipped.
func (r *chunkReader) line() ([]byte, error) {
	line, err := r.lineReader.line()
	if err != nil {
		if r.skipping || r.in.base == r.in.pos {
			r.stage = atHeader
		}
		return nil, err
	}
	r.stage = atHeader
	r.partials.countWithoutLarge()
	if r.set.verbatim {
		return line, nil
	}
	line = trim(line)
	if len(line) == 0 {
		return nil, nil
	}
	return line, nil
}

// Reset drops the incomplete messages. If a frame of one is under way, the rest of the frame is
// dropped as it arrives.
func (r *chunkReader) Reset() (dropped int) {
	for _, p := range r.partials.list {
		if !p.dropped {
			dropped++
		}
	}
	if r.to != nil && (r.stage == inData || r.stage == discarding) {
		r.to = nil
		r.refused = refusal{}
		r.startDiscarding()
	}
	r.delivered = nil
	r.partials = partialMessages{top: r.partials.top}
	r.in.giveBack()
	return dropped
}
