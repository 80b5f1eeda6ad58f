package framers

import (
	"bytes"
	"io"
	"time"
)

// A Chunk is one frame of a message, as WithProgress reports it.
type Chunk struct {
	ID    []byte // nil for a line without a header, in the framing adaptive
	Index int
	Total int
	Data  []byte

	Received int       // number of chunks of the message that came so far, this one included
	Size     int       // bytes of the message in these chunks
	Began    time.Time // when the first chunk came; zero for a message of one chunk
}

// A chunkReader receives frames, each as a line, and puts messages together.
type chunkReader struct {
	lineReader

	bare   bool // a line that is no frame is a message
	packed bool // messages are compressed; an error about a message names the last frame

	frame   chunkHeader     // of the frame at hand
	offset  int64           // where in the stream that frame begins
	inFrame bool            // the line that is being skipped is a frame
	skipped *partialMessage // the message of that frame; nil if no part of the message is held

	partials  partialSet
	delivered *partialMessage // what ReadMessage returned; the next call reuses the buffer
}

func newChunkReader(r io.Reader, f framing, s settings) *chunkReader {
	return &chunkReader{
		lineReader: *newLineReader(r, s),
		bare:       f.bare,
		packed:     f.pack,
		partials:   partialSet{top: max(s.maxMessage, 1)},
	}
}

func (r *chunkReader) ReadMessage() ([]byte, error) {
	if r.delivered != nil {
		r.partials.recycle(r.delivered)
		r.delivered = nil
	}
	for {
		if r.broken != nil {
			return nil, r.broken
		}
		if r.skipping {
			if err := r.skip(); err != nil {
				return nil, err
			}
		}
		if r.in.base == r.in.end { // as bodyReader.ReadMessage does
			if err := r.in.fill(readSize); err != nil {
				return nil, r.end(err)
			}
		}
		if msg := r.sole(); msg != nil {
			return msg, nil
		}
		msg, err := r.line()
		if msg != nil || err != nil {
			return msg, err
		}
	}
}

// sole returns the next message if, as usual, the message is one frame and lies in the read buffer
// as a whole. Otherwise sole returns nil and changes nothing.
func (r *chunkReader) sole() []byte {
	in := &r.in
	held := in.held()
	usual := len(r.partials.list) == 0 && r.set.progress == nil && !r.packed
	if !usual || len(held) < soleHeader || string(held[uuidBytes:soleHeader]) != soleFields {
		return nil
	}
	// Shorter ids than a UUID are not handled here. In the framing adaptive (r.bare), the id must
	// be a UUID.
	if bytes.IndexByte(held[:uuidBytes], ':') >= 0 || r.bare && !uuidPrefix(held[:uuidBytes]) {
		return nil
	}
	end := bytes.IndexByte(held, '\n')
	if end < soleHeader || end-soleHeader > r.set.maxMessage {
		return nil
	}
	in.next(in.base + end + 1)
	r.partials.countUnused(end)
	return held[soleHeader:end:end]
}

// line receives one line. If the line is a message or completes one, line returns that message,
// else nil.
func (r *chunkReader) line() ([]byte, error) {
	kind, err := r.header()
	if err != nil {
		return nil, r.end(err)
	}
	switch {
	case kind == aChunk:
		r.limit = r.frame.length + r.set.maxMessage
	case r.bare:
		r.limit = r.set.maxMessage
	default: // the line is an error: read only as much of it as the error quotes
		r.limit = excerptBytes
	}
	n, ended, err := r.await()
	if err != nil {
		return nil, r.end(err)
	}
	in := &r.in
	line := in.buf[in.base : in.base+n : in.base+n]
	switch {
	case kind == aChunk && !ended && n <= r.limit: // cut by the end of the stream
		r.offset = in.offset(in.base)
		p := r.partials.find(&r.frame.id)
		if p == nil || !p.dropped {
			return nil, io.ErrUnexpectedEOF
		}
		r.dropFrame(p) // the beginning of the frame counts as bytes of the message
		return nil, nil
	case kind == aChunk:
		r.offset = in.offset(in.base)
		return r.chunk(line[r.frame.length:])
	case r.bare:
		r.inFrame = false // for skip, if take refuses the line
		r.partials.countUnused(n)
		return r.take(n, ended)
	}
	r.drop()
	isBlank := ended && n <= excerptBytes && len(trim(line)) == 0
	if isBlank {
		return nil, nil
	}
	return nil, &ChunkError{Offset: in.offset(in.base), Line: excerpt(line), Err: ErrMalformed}
}

// header reads until it is known whether the line at hand is a frame. If so, it parses the header
// of the frame.
func (r *chunkReader) header() (verdict, error) {
	for {
		held := r.in.held()
		kind := r.frame.parse(held, r.bare)
		if kind != undecided {
			return kind, nil
		}
		err := r.in.fill(readSize)
		switch {
		case err == io.EOF && r.endsBare(len(held)):
			return noChunk, nil
		case err == io.EOF && len(held) > 0:
			return undecided, io.ErrUnexpectedEOF
		case err != nil:
			return undecided, err
		}
	}
}

// shortID is how many digits stand before the first dash of a UUID.
const shortID = 8

// endsBare reports whether the last n bytes of a stream are a message without a header, such as a
// number, and not a frame that was cut.
func (r *chunkReader) endsBare(n int) bool {
	return r.bare && len(r.partials.list) == 0 && n <= shortID
}

// chunk processes the complete frame at hand, and returns the message that the frame completes, or
// nil.
func (r *chunkReader) chunk(data []byte) ([]byte, error) {
	f := &r.frame
	var p *partialMessage // nil if the frame is the whole message
	var err error
	if f.index >= f.total {
		r.drop()
		return nil, r.chunkError(ErrIndex, 0) // the number of received chunks is not looked up
	}
	if f.total > 1 || len(r.partials.list) > 0 {
		now := r.set.now()
		if r.set.expiry > 0 {
			if err := r.dropIncomplete(now.Add(-r.set.expiry), ErrExpired); err != nil {
				return nil, err // the next call takes the frame at hand
			}
		}
		if p, err = r.messageOf(now); err != nil {
			r.drop()
			return nil, err
		}
	}
	if p != nil && p.dropped {
		r.dropFrame(p)
		return nil, nil
	}
	if err := r.checkLimits(p, data); err != nil {
		return nil, err
	}
	if r.set.progress != nil {
		r.set.progress(r.progress(p, data))
	}
	if msg := r.joined(p, data); msg != nil {
		return msg, nil
	}
	r.in.next(r.in.base + r.frame.length + len(data) + 1)
	if p == nil {
		r.partials.countUnused(len(data))
		return data, nil
	}
	r.partials.store(p, f.index, data)
	if p.received < p.total {
		return nil, nil
	}
	r.partials.forget(p)
	r.delivered = p
	return p.data, nil
}

// messageOf returns the message of the frame at hand, or nil if the frame is the whole message.
// After an error the caller must drop the frame.
func (r *chunkReader) messageOf(now time.Time) (*partialMessage, error) {
	f := &r.frame
	p := r.partials.find(&f.id)
	switch {
	case p == nil && f.total == 1:
		return nil, nil
	case p == nil && len(r.partials.list) >= r.set.flightMessages:
		return nil, r.chunkError(ErrInFlight, 0) // received
	case p == nil:
		return r.partials.add(&f.id, f.total, r.offset, now), nil
	case p.total != f.total:
		return nil, r.chunkError(ErrTotal, p.received)
	case p.dropped:
		return p, nil
	case p.has(f.index):
		return nil, r.chunkError(ErrDuplicate, p.received)
	}
	p.touched = now
	return p, nil
}

// mostJoined is the most frames that a message may have if the method joined is to put it together.
const mostJoined = 8

// joined puts the message p together inside the read buffer. If one of the frames of p is not
// there, joined returns nil and changes nothing. The parameter data is what the first frame
// carries.
func (r *chunkReader) joined(p *partialMessage, data []byte) []byte {
	in := &r.in
	usual := p != nil && r.frame.index == 0 && p.total <= mostJoined && p.received == 0 &&
		len(r.partials.list) == 1 && r.set.progress == nil && !r.packed
	start := in.base + r.frame.length
	at := start + len(data) + 1 // where the next frame begins
	// All frames but the last are as long as the first. If fewer bytes have come, do not search.
	if !usual || in.end-at < (p.total-2)*len(data) {
		return nil
	}
	var pieces [mostJoined][]byte
	size := len(data)
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
	end := start + len(data)
	for _, piece := range pieces[1:p.total] {
		end += copy(in.buf[end:], piece)
	}
	in.next(at)
	r.partials.forget(p)
	r.partials.recycle(p)
	return in.buf[start:end:end]
}

// progress describes the frame at hand for WithProgress.
func (r *chunkReader) progress(p *partialMessage, data []byte) Chunk {
	c := Chunk{
		ID: r.frame.id.bytes(), Index: r.frame.index, Total: r.frame.total,
		Data: data, Received: 1, Size: len(data),
	}
	if p != nil {
		c.Received = p.received + 1
		c.Size = p.size() + len(data)
		c.Began = p.began
	}
	return c
}

// Reset drops the incomplete messages, and returns how many there were. It also drops an incomplete
// frame, unless the frame is a whole message.
func (r *chunkReader) Reset() (dropped int) {
	for _, p := range r.partials.list {
		if !p.dropped {
			dropped++
		}
	}
	in := &r.in
	r.skipped = nil
	isCut := !r.skipping && bytes.IndexByte(in.buf[in.pos:in.end], '\n') < 0
	isFrame := isCut && r.frame.parse(in.held(), r.bare) == aChunk
	if isFrame && r.frame.index < r.frame.total && r.frame.total > 1 {
		if r.partials.find(&r.frame.id) == nil {
			dropped++ // a message whose first frame is cut
		}
		r.offset = in.offset(in.base)
		r.dropFrame(nil)
	}
	r.delivered = nil
	r.partials = partialSet{top: r.partials.top}
	r.in.giveBack()
	return dropped
}
