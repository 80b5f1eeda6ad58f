package framers

import (
	"bytes"
	"io"
	"slices"
	"time"
)

// route decides where the data of the frame goes.
func (r *chunkReader) route() error {
	f := &r.frame
	if f.index >= f.total {
		return r.reject(ErrIndex, 0)
	}
	if f.total == 1 && len(r.partials.list) == 0 {
		r.begin(nil)
		return nil
	}
	now := r.set.now()
	if oldest := now.Add(-r.set.expiry); r.set.expiry > 0 { // drops a message of which no chunk has come for too long
		if err := r.incomplete(func(t time.Time) bool { return t.Before(oldest) }, ErrExpired); err != nil {
			return err
		}
	}
	p := r.partials.find(&f.id)
	if r.run != nil && (p != r.run || f.index > p.next) {
		r.spill()
	}
	switch {
	case p == nil && f.total == 1:
		r.begin(nil)
	case p == nil && len(r.partials.list) >= r.set.flightMessages:
		return r.reject(ErrInFlight, 0)
	case p == nil:
		p = r.partials.add(&f.id, f.total, r.offset, now)
		if r.begin(p); f.index == 0 {
			r.run, r.full = p, r.size
		}
	case p.total != f.total:
		return r.reject(ErrTotal, p.received)
	case p.dropped:
		r.begin(p)
		r.stage = discarding
		r.counted = r.in.offset(r.in.pos)
	case p.has(f.index):
		return r.reject(ErrDuplicate, p.received)
	case p == r.run:
		p.touched = now
		r.to, r.stage = p, inData
	default:
		p.touched = now
		r.begin(p)
	}
	return nil
}

// begin receives data: a message begins here in the buffer, or a chunk for to.
func (r *chunkReader) begin(to *partialMessage) {
	in := &r.in
	in.base, r.fin = in.pos, in.pos
	r.to = to
	r.stage = inData
}

// spill moves the message in the buffer out of it.
func (r *chunkReader) spill() {
	if p := r.run; p != nil {
		r.run = nil
		p.extend(r.in.buf[r.in.base:r.fin], r.partials.top)
		r.partials.bytes += p.bytes()
	}
}

// reject drops the frame whose header has come.
func (r *chunkReader) reject(why error, received int) error {
	r.spill()
	r.begin(nil)
	r.stage = atHeader
	r.skipping = true
	return r.chunkError(why, received)
}

// data receives the rest of a frame's data, to its place in the message.
func (r *chunkReader) data() error {
	in := &r.in
	for {
		n := bytes.IndexByte(in.buf[in.pos:in.end], '\n')
		ended := n >= 0
		if !ended {
			n = in.end - in.pos
		}
		if in.pos != r.fin {
			copy(in.buf[r.fin:], in.buf[in.pos:in.pos+n])
		}
		r.fin += n
		r.got += n
		in.pos += n
		if err := r.checkLimits(); err != nil {
			return err
		}
		if ended {
			in.pos++
			return nil
		}
		in.pos, in.end = r.fin, r.fin
		// The read ends with the next header, where it is known where that ends.
		rest := r.full - r.frame.length - 1 - r.got
		if rest > 0 && r.to == r.run && r.direct() {
			rest += 1 + headerBytes(int(r.frame.id.n), r.frame.index+1, r.frame.total)
		} else {
			rest = 0
		}
		if err := r.fill(rest); err != nil {
			return inside(err)
		}
		r.fin = in.pos
	}
}

// direct reports whether reads should end with a header: not where so little is to come that a read
// may well get it all.
func (r *chunkReader) direct() bool {
	p := r.run
	return p != nil && r.full >= directFrom && int64(p.total-p.next-1)*int64(r.full) >= int64(r.in.size)
}

// checkLimits returns an error, and drops the message, if it exceeds what may be held. Of two
// limits it exceeds, the one it is further beyond was passed first: both count the same bytes, and
// one read may bring them all.
func (r *chunkReader) checkLimits() error {
	in := &r.in
	came := r.fin - in.base
	size, held := came, 0
	if r.to != nil {
		size += r.to.size()
		held = r.partials.bytes + came
	}
	tooLarge, tooMany := size-r.set.maxMessage, held-r.set.flightBytes
	if tooLarge <= 0 && tooMany <= 0 {
		return nil
	}
	begins, start, received := in.buf[in.base:r.fin], r.offset, 0
	if p := r.to; p != nil {
		start, received = p.offset, p.received
		chunk := begins
		begins = head(p.data, len(p.data))
		if p.next == r.frame.index && len(p.ahead) == 0 {
			begins = append(begins, head(chunk, len(chunk))...)
		}
	}
	if tooLarge >= tooMany {
		err := tooLong(begins, r.set.maxMessage, start)
		r.abandon(refusal{err, int64(size)})
		return r.set.refuse(err, &r.broken)
	}
	err := r.chunkError(ErrInFlight, received)
	r.abandon(refusal{})
	return err
}

// chunkError returns the error about the frame under way.
func (r *chunkReader) chunkError(why error, received int) *ChunkError {
	f := &r.frame
	return &ChunkError{Offset: r.offset, ID: f.id.String(), Index: f.index, Total: f.total, Received: received, Err: why}
}

// abandon drops the message of the frame under way, and remembers it so that its other chunks can
// be dropped too.
func (r *chunkReader) abandon(why refusal) {
	r.run = nil // which the frame was of, if there was one
	if r.refused = why; r.to != nil {
		r.partials.empty(r.to)
		r.to.refused, r.refused = why, refusal{}
	}
	r.counted = r.in.offset(r.in.pos)
	r.in.base = r.in.pos
	r.fin = r.in.pos
	r.stage = discarding
}

// discard drops the rest of a frame of a message that is dropped.
func (r *chunkReader) discard() error {
	in, refused, over := &r.in, &r.refused, true
	err := in.skipLine()
	if err != nil && err != io.EOF {
		return err
	}
	if r.to != nil {
		refused = &r.to.refused
		r.to.received++
		over = err == io.EOF || r.to.received >= r.to.total
	}
	refused.size += in.offset(in.base) - r.counted
	if err == nil {
		refused.size-- // the newline
	}
	if over {
		refused.tell(&r.set)
	}
	if err != nil {
		return inside(err)
	}
	r.fin = in.base
	if over && r.to != nil {
		r.partials.forget(r.to)
		r.to = nil
	}
	r.stage = atHeader
	return nil
}

// deliver puts the chunk whose data has come into its message, and returns the message if it is
// whole.
func (r *chunkReader) deliver() (msg []byte, whole bool) {
	in := &r.in
	if r.set.progress != nil {
		r.set.progress(r.chunk())
	}
	r.stage = atHeader
	msg = in.buf[in.base:r.fin:r.fin]
	if p := r.to; p != nil {
		r.to = nil
		if p == r.run {
			if p.next == 0 {
				r.full = r.frame.length + r.got + 1
			}
			p.next++
			p.received++
		} else {
			r.partials.store(p, r.frame.index, msg)
			in.next(in.pos)
		}
		if p.received < p.total {
			return nil, false
		}
		r.partials.forget(p)
		r.delivered = p
		if p != r.run {
			return p.data, true
		}
		r.run = nil
	}
	in.next(in.pos)
	r.partials.countUninterrupted()
	return msg, true
}

// A partialMessage is a message of which some chunks have come. It holds their data once other
// frames have interrupted it; before, they are in the read buffer.
type partialMessage struct {
	id       chunkID
	total    int
	received int
	next     int    // the first chunk missing
	data     []byte // chunks before next
	ahead    map[int][]byte
	waiting  int   // bytes of data in ahead
	offset   int64 // of its first frame in the stream
	began    time.Time
	touched  time.Time
	dropped  bool // what comes of it is thrown away
	refused  refusal
}

// outOfOrderCost is charged for a chunk out of order beside its data: an empty one takes memory too.
const outOfOrderCost = 64

// size is how long the message is so far; bytes is what is charged for holding it.
func (p *partialMessage) size() int  { return len(p.data) + p.waiting }
func (p *partialMessage) bytes() int { return p.size() + outOfOrderCost*len(p.ahead) }

func (p *partialMessage) has(index int) bool {
	_, ahead := p.ahead[index]
	return index < p.next || ahead
}

// store takes a copy of a chunk. The buffer grows by a quarter, up to top: there may be many, and
// what they hold is to be about what is charged.
func (p *partialMessage) store(index int, chunk []byte, top int) {
	p.received++
	if index != p.next {
		if p.ahead == nil {
			p.ahead = make(map[int][]byte)
		}
		p.ahead[index] = slices.Clone(chunk)
		p.waiting += len(chunk)
		return
	}
	for came := true; came; {
		p.extend(chunk, top)
		p.next++
		if chunk, came = p.ahead[p.next]; came {
			p.waiting -= len(chunk)
			delete(p.ahead, p.next)
		}
	}
}

func (p *partialMessage) extend(chunk []byte, top int) {
	if need := len(p.data) + len(chunk); need > cap(p.data) {
		p.data = append(make([]byte, 0, max(need, min(cap(p.data)/4*5, top))), p.data...)
	}
	p.data = append(p.data, chunk...)
}

const (
	// keepPartials and keepPartialBytes bound what is kept for the next interleaved messages: so
	// many buffers of at most so many bytes, and one larger. The garbage collector has the rest.
	keepPartials     = 4
	keepPartialBytes = 1 << 20
)

// partialMessages are the incomplete messages of a stream, oldest first. There are few, so a search
// is a walk, from the one that most likely goes on.
type partialMessages struct {
	list        []*partialMessage
	spare       []*partialMessage
	large       *partialMessage // a spare of more than keepPartialBytes
	shrinkCount int             // messages in a row that did without it, or that a quarter of it would have held
	bytes       int             // of all
	top         int             // largest capacity of one
}

func (s *partialMessages) find(id *chunkID) *partialMessage {
	for _, p := range slices.Backward(s.list) {
		if p.id == *id {
			return p
		}
	}
	return nil
}

// add begins a message. It takes a spare buffer, the large one first: how long a message will be is
// not known from its first chunk.
func (s *partialMessages) add(id *chunkID, total int, offset int64, now time.Time) *partialMessage {
	p := s.large
	switch n := len(s.spare); {
	case p != nil:
		s.large = nil
	case n > 0:
		p = s.spare[n-1]
		s.spare = s.spare[:n-1]
	default:
		p = new(partialMessage)
	}
	p.id, p.total, p.offset, p.began, p.touched = *id, total, offset, now, now
	s.list = append(s.list, p)
	return p
}

func (s *partialMessages) store(p *partialMessage, index int, chunk []byte) {
	s.bytes -= p.bytes()
	p.store(index, chunk, s.top)
	s.bytes += p.bytes()
}

// forget takes p off the list; its data stays as it is.
func (s *partialMessages) forget(p *partialMessage) {
	s.bytes -= p.bytes()
	i := slices.Index(s.list, p)
	s.list = slices.Delete(s.list, i, i+1)
}

// empty drops the data of a message but keeps its name, so that the rest of it can be thrown away.
func (s *partialMessages) empty(p *partialMessage) {
	s.bytes -= p.bytes()
	p.data, p.ahead, p.waiting, p.dropped = nil, nil, 0, true
}

// recycle takes back a partial message that is on no list. A stream on which one large message was
// interrupted has more of them, and memory that is new for each costs more than all else: at 4 MiB
// the whole took 3.9 times as long (BenchmarkInterrupted). So one large buffer is kept, by the rule
// of a readBuffer: until shrinkAfter messages in a row have not needed it.
func (s *partialMessages) recycle(p *partialMessage) {
	used := len(p.data)
	*p = partialMessage{data: p.data[:0], ahead: p.ahead}
	clear(p.ahead)
	if cap(p.data) <= keepPartialBytes {
		if len(s.spare) < keepPartials {
			s.spare = append(s.spare, p)
		}
		return
	}
	if used > 0 { // or else it was not interrupted, and is counted as that
		s.shrinkCount++
	}
	if used > cap(p.data)/4 {
		s.shrinkCount = 0
	}
	if s.shrinkCount < shrinkAfter && s.large == nil {
		s.large = p
	}
}

// countUninterrupted notes a message that was not interrupted.
func (s *partialMessages) countUninterrupted() {
	if s.shrinkCount++; s.shrinkCount >= shrinkAfter {
		s.large = nil
	}
}
