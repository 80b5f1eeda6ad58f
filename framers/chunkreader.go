package framers

import (
	"bytes"
	"io"
	"time"
)

// A Chunk is one frame of a message, as WithProgress tells of it.
type Chunk struct {
	ID    []byte // nil for a bare line of the adaptive framing
	Index int
	Total int
	Data  []byte

	Received int       // chunks of the message, with this one
	Size     int       // bytes of the message in them
	Began    time.Time // when the first of them came; zero for a message of one chunk
}

// A stage is where a chunkReader is in the stream.
type stage int

const (
	atHeader   stage = iota // at the beginning of a line, or inside a header
	atData                  // behind a header that has not been judged yet
	inData                  // inside the data of a frame
	discarding              // inside the data of a frame that is dropped
	inLine                  // inside a bare line
)

// A chunkReader receives frames and puts messages together.
//
// A message is put together in the read buffer as long as its frames come one after another: the
// data of each is moved down over the header before it, to dataEnd.
//
//	base            dataEnd     pos          end
//	 | data 0 data 1 |           | header 2 ...
//
// A frame of another message in between moves what has come of it out of the buffer, into its
// partialMessage. Everything that the chunkReader knows of a frame under way is in its fields, so
// that an error of the stream loses nothing.
type chunkReader struct {
	lineReader // holds the read buffer, and receives the bare lines

	bare  bool // lines that are no frames are messages
	stage stage

	frame       chunkHeader     // of the frame under way
	offset      int64           // where in the stream that frame begins
	frameBytes  int             // of its data that have come
	to          *partialMessage // the message it is of; nil if it is a message's only frame
	discardFrom int64           // where in the stream the data begin that are discarded

	inBuffer  *partialMessage // the incomplete message at buf[base:dataEnd]; nil for none
	dataEnd   int
	partials  partialMessages
	delivered *partialMessage // recycled at the next call
}

func newChunkReader(r io.Reader, f framing, s settings) *chunkReader {
	return &chunkReader{
		lineReader: lineReader{in: newReadBuffer(r, &s), set: s},
		bare:       f.bare,
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
	for {
		msg, whole, err := r.step()
		if err != nil {
			return nil, err
		}
		if whole {
			return msg, nil
		}
	}
}

// step receives the next part of a frame, and returns the message that it completes.
func (r *chunkReader) step() (msg []byte, whole bool, err error) {
	switch r.stage {
	case atHeader:
		return nil, false, r.header()
	case atData:
		return nil, false, r.judge()
	case discarding:
		return nil, false, r.discard()
	case inLine:
		line, err := r.line()
		return line, line != nil, err
	}
	if err := r.data(); err != nil {
		return nil, false, err
	}
	msg, whole = r.deliver()
	return msg, whole, nil
}

// header receives the header of a frame.
func (r *chunkReader) header() error {
	in := &r.in
	if r.skipping {
		if err := r.skip(); err != nil {
			return r.end(err)
		}
	}
	if r.inBuffer == nil {
		r.startAt(in.pos)
	}
	for {
		switch r.frame.parse(in.buf[in.pos:in.end], r.bare) {
		case aChunk:
			r.offset = in.offset(in.pos)
			in.pos += r.frame.length
			r.frameBytes = 0
			r.stage = atData
			return nil
		case noChunk:
			return r.notAFrame()
		}
		// The beginning of the header closes the gap that the headers before it left behind the
		// data. Else the gap would grow with every frame that comes alone, until a message below
		// the limit did not fit the buffer.
		in.end = r.dataEnd + copy(in.buf[r.dataEnd:], in.buf[in.pos:in.end])
		in.pos = r.dataEnd
		if err := r.fill(); err != nil {
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
		r.receive(nil)
		return nil
	}
	now := r.set.now()
	if err := r.expire(now); err != nil {
		return err
	}
	p := r.partials.find(&f.id)
	if r.inBuffer != nil && (p != r.inBuffer || f.index > p.next) {
		r.moveOut()
	}
	switch {
	case p == nil:
		return r.begin(now)
	case p.total != f.total:
		return r.reject(ErrTotal, p.received)
	case p.dropped:
		r.receive(p)
		r.stage = discarding
		r.discardFrom = r.in.offset(r.in.pos)
		return nil
	case p.has(f.index):
		return r.reject(ErrDuplicate, p.received)
	}
	p.touched = now
	if p == r.inBuffer {
		r.to = p
		r.stage = inData
		return nil
	}
	r.receive(p)
	return nil
}

// begin begins a message with the frame whose header has come.
func (r *chunkReader) begin(now time.Time) error {
	f := &r.frame
	if f.total == 1 {
		r.receive(nil)
		return nil
	}
	if len(r.partials.list) >= r.set.flightMessages {
		return r.reject(ErrInFlight, 0)
	}
	p := r.partials.add(&f.id, f.total, r.offset, now)
	r.receive(p)
	if f.index == 0 {
		r.inBuffer = p
	}
	return nil
}

// receive has the data at pos received for a message, or as one if it is nil.
func (r *chunkReader) receive(to *partialMessage) {
	r.startAt(r.in.pos)
	r.to = to
	r.stage = inData
}

// startAt has what is kept of the buffer begin at i, without data yet.
func (r *chunkReader) startAt(i int) {
	r.in.base = i
	r.dataEnd = i
}

// reject drops the frame whose header has come, and returns the error about it.
func (r *chunkReader) reject(why error, received int) error {
	r.moveOut()
	r.startAt(r.in.pos)
	r.to = nil
	r.stage = atHeader
	r.skipping = true
	return r.chunkError(why, received)
}

// data receives the rest of a frame's data, to its place behind dataEnd.
func (r *chunkReader) data() error {
	in := &r.in
	for {
		n := bytes.IndexByte(in.buf[in.pos:in.end], '\n')
		ended := n >= 0
		if !ended {
			n = in.end - in.pos
		}
		if in.pos != r.dataEnd {
			copy(in.buf[r.dataEnd:], in.buf[in.pos:in.pos+n])
		}
		r.dataEnd += n
		r.frameBytes += n
		in.pos += n
		if err := r.checkLimits(); err != nil {
			return err
		}
		if ended {
			in.pos++
			return nil
		}
		in.pos = r.dataEnd
		in.end = r.dataEnd
		if err := r.fill(); err != nil {
			return inside(err)
		}
	}
}

// fill reads. dataEnd stays where it is in the message.
func (r *chunkReader) fill() error {
	in := &r.in
	came := r.dataEnd - in.base
	if came > keepPartialBytes { // the read buffer is to grow as large as a spare one is
		r.partials.large = nil
		if r.inBuffer != nil {
			r.inBuffer.data = nil
		}
	}
	err := in.fill(0)
	r.dataEnd = in.base + came
	return err
}

// deliver puts the chunk whose data has come into its message, and returns the message if it is
// whole.
func (r *chunkReader) deliver() (msg []byte, whole bool) {
	in := &r.in
	if r.set.progress != nil {
		r.set.progress(r.chunk())
	}
	r.stage = atHeader
	data := in.buf[in.base:r.dataEnd:r.dataEnd]
	p := r.to
	r.to = nil
	if p == nil {
		in.next(in.pos)
		r.partials.countUninterrupted()
		return data, true
	}
	together := p == r.inBuffer
	if together {
		p.next++
		p.received++
	} else {
		r.partials.store(p, r.frame.index, data)
		in.next(in.pos)
	}
	if p.received < p.total {
		return nil, false
	}
	r.partials.forget(p)
	r.delivered = p
	if !together {
		return p.data, true
	}
	r.inBuffer = nil
	in.next(in.pos)
	r.partials.countUninterrupted()
	return data, true
}

// chunk returns the frame whose data has come.
func (r *chunkReader) chunk() Chunk {
	c := Chunk{
		ID:       r.frame.id.bytes(),
		Index:    r.frame.index,
		Total:    r.frame.total,
		Data:     r.in.buf[r.dataEnd-r.frameBytes : r.dataEnd : r.dataEnd],
		Received: 1,
		Size:     r.frameBytes,
	}
	if p := r.to; p != nil {
		c.Received = p.received + 1
		c.Size = p.size() + r.dataEnd - r.in.base
		c.Began = p.began
	}
	return c
}

// moveOut moves the message in the buffer out of it.
func (r *chunkReader) moveOut() {
	p := r.inBuffer
	if p == nil {
		return
	}
	r.inBuffer = nil
	p.extend(r.in.buf[r.in.base:r.dataEnd], r.partials.top)
	r.partials.bytes += p.bytes()
}

// Reset drops the incomplete messages. What remains of a frame of one is dropped as it arrives.
func (r *chunkReader) Reset() (dropped int) {
	for _, p := range r.partials.list {
		if !p.dropped {
			dropped++
		}
	}
	insideOne := r.to != nil && (r.stage == inData || r.stage == discarding)
	if insideOne {
		r.to = nil
		r.refused = refusal{}
		r.discardFrom = r.in.offset(r.in.pos)
		r.stage = discarding
	}
	if insideOne || r.inBuffer != nil {
		r.startAt(r.in.pos)
	}
	r.inBuffer = nil
	r.delivered = nil
	r.partials = partialMessages{top: r.partials.top}
	came := r.dataEnd - r.in.base
	r.in.giveBack()
	r.dataEnd = r.in.base + came
	return dropped
}
