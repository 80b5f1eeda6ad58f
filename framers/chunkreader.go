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
	atRoute                 // behind a header
	inData                  // inside the data of a frame
	discarding              // inside the data of a frame that is dropped
	inLine                  // inside a bare line
)

// A chunkReader receives frames and puts messages together.
//
// A message whose frames come one after another is put together where it was read: the data of each
// frame is moved down over the header before it. And as the size of a frame is known from the first
// one, reads can end where the next header ends: the data behind it then is read over that header,
// to its place in the message, and nothing is moved at all.
//
//	base            fin
//	 | data 0 data 1 | newline header 2 |          <- the next read begins at fin
//
// A frame of another message in between moves what there is of this one out of the buffer.
type chunkReader struct {
	lineReader // holds the read buffer, and receives the bare lines

	size      int  // the bound of a frame that is assumed until one has been seen
	bare      bool // lines that are no frames are messages
	stage     stage
	frame     chunkHeader
	got       int             // bytes of data of the frame
	offset    int64           // where in the stream the frame begins
	to        *partialMessage // whose chunk the frame is; nil where it is all of a message
	run       *partialMessage // of those that are incomplete the one at buf[base:fin]; nil for none
	full      int             // bytes of a full frame of it
	fin       int             // end in the buffer of what the frame's data are added to
	counted   int64           // where in the stream the bytes of a frame that is dropped are to be counted from
	partials  partialMessages
	delivered *partialMessage // recycled at the next call
}

// directFrom is the frame size from which reads end with a header: below, moving the data costs
// less than more reads.
const directFrom = 16 << 10

func newChunkReader(r io.Reader, f framing, s settings) *chunkReader {
	return &chunkReader{
		lineReader: lineReader{in: newReadBuffer(r, &s), set: s}, size: f.size, bare: f.bare,
		partials: partialMessages{top: max(s.maxMessage, 1)},
	}
}

func (r *chunkReader) ReadMessage() ([]byte, error) {
	for {
		line, err := r.nextFrame()
		if err != nil || line != nil {
			return line, err
		}
		if msg, whole := r.deliver(); whole {
			return msg, nil
		}
	}
}

// nextFrame receives a frame to the end of its data, or else returns a bare line.
func (r *chunkReader) nextFrame() (line []byte, err error) {
	if r.delivered != nil {
		r.partials.recycle(r.delivered)
		r.delivered = nil
	}
	if r.broken != nil {
		return nil, r.broken
	}
	for {
		switch r.stage {
		case inData:
			return nil, r.data()
		case inLine:
			line, err = r.line()
		case discarding:
			err = r.discard()
		case atRoute:
			err = r.route()
		case atHeader:
			err = r.header()
		}
		if err != nil || line != nil {
			return line, err
		}
	}
}

// Reset drops the incomplete messages. What remains of a frame of one is dropped as it arrives.
func (r *chunkReader) Reset() (dropped int) {
	for _, p := range r.partials.list {
		if !p.dropped {
			dropped++
		}
	}
	inside := r.to != nil && (r.stage == inData || r.stage == discarding)
	if inside {
		r.to = nil
		r.refused = refusal{}
		r.counted = r.in.offset(r.in.pos)
		r.stage = discarding
	}
	if inside || r.run != nil {
		r.in.base = r.in.pos
		r.fin = r.in.pos
	}
	r.run = nil
	r.delivered = nil
	r.partials = partialMessages{top: r.partials.top}
	came := r.fin - r.in.base
	r.in.giveBack()
	r.fin = r.in.base + came
	return dropped
}

// chunk returns the frame whose data has come.
func (r *chunkReader) chunk() Chunk {
	data := r.in.buf[r.fin-r.got : r.fin : r.fin]
	c := Chunk{ID: r.frame.id.bytes(), Index: r.frame.index, Total: r.frame.total, Data: data, Received: 1, Size: r.got}
	if p := r.to; p != nil {
		c.Received, c.Size, c.Began = p.received+1, p.size()+r.fin-r.in.base, p.began
	}
	return c
}

// fill reads. What it reads comes behind pos; fin stays where it is in the message.
func (r *chunkReader) fill(limit int) error {
	in := &r.in
	length := r.fin - in.base
	if length > keepPartialBytes { // the buffer is to grow as large
		if r.partials.large = nil; r.run != nil {
			r.run.data = nil
		}
	}
	err := in.fill(limit)
	r.fin = in.base + length
	return err
}

// header receives the header of a frame.
func (r *chunkReader) header() error {
	in := &r.in
	if r.skipping {
		if err := r.skip(); err != nil {
			return r.end(err)
		}
	}
	if r.run == nil {
		in.base, r.fin = in.pos, in.pos
	}
	for {
		switch r.frame.parse(in.buf[in.pos:in.end], r.bare) {
		case aChunk:
			r.offset = in.offset(in.pos)
			in.pos += r.frame.length
			r.got = 0
			r.stage = atRoute
			return nil
		case noChunk:
			return r.notAFrame()
		}
		// What there is of the header closes the gap that the headers before it have left behind
		// the data. Otherwise the gap would grow with every frame that comes alone, until a message
		// below the limit did not fit the buffer.
		in.end = r.fin + copy(in.buf[r.fin:], in.buf[in.pos:in.end])
		in.pos = r.fin
		rest := 0 // of the header expected, where the read is to end with it
		if r.direct() {
			rest = max(headerBytes(int(r.run.id.n), r.run.next, r.run.total)-(in.end-in.pos), 0)
		}
		if err := r.fill(rest); err != nil {
			return r.end(err)
		}
	}
}

// shortID is how many hexadecimal digits a stream of the adaptive framing may end with to be a bare
// line that lacks its newline. One more is the dash of a UUID: a frame that was cut. So are fewer
// while a message is incomplete.
const shortID = 8

// end judges an error at or inside a header. At the end of the stream, messages that are incomplete
// are reported first.
func (r *chunkReader) end(err error) error {
	in := &r.in
	if err != io.EOF {
		return err
	}
	if r.bare && len(r.partials.list) == 0 && in.pos < in.end && in.end-in.pos <= shortID {
		return r.notAFrame()
	}
	if in.pos < in.end {
		return io.ErrUnexpectedEOF
	}
	if missing := r.incomplete(func(time.Time) bool { return true }, ErrMissing); missing != nil {
		return missing
	}
	return err
}

// incomplete drops the first message that is old, and returns the error about it.
func (r *chunkReader) incomplete(old func(touched time.Time) bool, why error) error {
	for i := 0; i < len(r.partials.list); i++ {
		p := r.partials.list[i]
		if !old(p.touched) {
			continue
		}
		if p == r.run {
			r.run, r.in.base, r.fin = nil, r.in.pos, r.in.pos
		}
		r.partials.forget(p)
		i--
		p.refused.tell(&r.set)
		if !p.dropped {
			return &ChunkError{Offset: p.offset, ID: p.id.String(), Index: p.next, Total: p.total, Received: p.received, Err: why}
		}
	}
	return nil
}

// notAFrame takes a line that is no frame: a message, a blank line, or an error.
func (r *chunkReader) notAFrame() error {
	in := &r.in
	r.spill()
	in.base = in.pos
	r.fin = in.pos
	if r.bare {
		r.stage = inLine
		return nil
	}
	end, err := r.shortLine()
	if err != nil {
		return err
	}
	text := in.held()
	if end >= 0 {
		text = text[:end]
	}
	in.pos = in.base
	r.skipping = true
	if len(trim(text)) == 0 && end >= 0 {
		return nil
	}
	return &ChunkError{Offset: in.offset(in.base), Line: excerpt(text), Err: ErrMalformed}
}

// shortLine returns where the line at hand ends, or -1 if it has more bytes than an error quotes, or
// if the stream ends in it. What it returns does not depend on how much has come.
func (r *chunkReader) shortLine() (end int, err error) {
	in := &r.in
	for {
		seen := in.held()
		seen = seen[:min(len(seen), excerptBytes+1)]
		end = bytes.IndexByte(seen, '\n')
		if end >= 0 || len(seen) > excerptBytes {
			return end, nil
		}
		err := in.fill(0)
		if err == io.EOF {
			return -1, nil
		}
		if err != nil {
			return -1, err
		}
	}
}

// line receives a bare line. It returns nil for a blank one that is skipped.
func (r *chunkReader) line() ([]byte, error) {
	line, err := r.lineReader.line()
	if err != nil {
		if r.skipping || r.in.base == r.in.pos {
			r.stage = atHeader
		}
		return nil, err
	}
	r.stage = atHeader
	r.partials.countUninterrupted()
	if r.set.verbatim {
		return line, nil
	}
	if line = trim(line); len(line) == 0 {
		return nil, nil
	}
	return line, nil
}
