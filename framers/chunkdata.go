package framers

import (
	"io"
	"time"
)

// route decides where the data of the frame goes.
func (r *chunkReader) route() error {
	f := &r.frame
	if f.index >= f.total {
		return r.reject(ErrIndex, 0)
	}
	var now time.Time
	if f.total > 1 || r.run.active || len(r.partials.list) > 0 {
		now = r.set.now()
		if oldest := now.Add(-r.set.expiry); r.set.expiry > 0 { // drops a message of which no chunk has come for too long
			if err := r.incomplete(func(t time.Time) bool { return t.Before(oldest) }, ErrExpired); err != nil {
				return err
			}
		}
	}
	if r.run.active {
		if same, err := r.continueRun(now); same || err != nil {
			return err
		}
		r.spill()
	}
	return r.assign(now)
}

// continueRun reports whether the frame is the next one of the run.
func (r *chunkReader) continueRun(now time.Time) (bool, error) {
	f, c := &r.frame, &r.run
	switch {
	case f.id != c.id:
		return false, nil
	case f.total != c.total:
		return false, r.reject(ErrTotal, c.next)
	case f.index < c.next:
		return false, r.reject(ErrDuplicate, c.next)
	case f.index > c.next:
		return false, nil
	}
	c.touched = now
	r.to = nil
	r.stage = inData
	return true, nil
}

// assign finds or makes the message that the frame belongs to.
func (r *chunkReader) assign(now time.Time) error {
	f := &r.frame
	p := r.partials.find(&f.id)
	switch {
	case p == nil && f.total == 1:
		r.begin(nil)
	case p == nil && len(r.partials.list) >= r.set.flightMessages:
		return r.reject(ErrInFlight, 0)
	case p == nil && f.index == 0:
		r.run = run{active: true, id: f.id, total: f.total, frame: r.size, offset: r.offset, began: now, touched: now}
		r.begin(nil)
	case p == nil:
		r.begin(r.partials.add(&f.id, f.total, r.offset, now))
	case p.total != f.total:
		return r.reject(ErrTotal, p.received)
	case p.dropped:
		r.begin(p)
		r.stage = discarding
		r.counted = r.lines.in.offset(r.lines.in.pos)
	case p.has(f.index):
		return r.reject(ErrDuplicate, p.received)
	default:
		p.touched = now
		r.begin(p)
	}
	return nil
}

// begin receives data: a message begins here in the buffer, or a chunk for to.
func (r *chunkReader) begin(to *partialMessage) {
	in := &r.lines.in
	in.base, r.fin = in.pos, in.pos
	r.to = to
	r.stage = inData
}

// spill moves the message in the buffer to a partialMessage.
func (r *chunkReader) spill() {
	c := &r.run
	if !c.active {
		return
	}
	c.active = false
	p := r.partials.add(&c.id, c.total, c.offset, c.touched)
	p.began = c.began
	in := &r.lines.in
	r.partials.store(p, 0, in.buf[in.base:r.fin])
	p.received, p.next = c.next, c.next
}

// reject drops the frame whose header has come.
func (r *chunkReader) reject(why error, received int) error {
	r.spill()
	r.begin(nil)
	r.stage = atHeader
	r.lines.skipping = true
	return r.chunkError(why, received)
}

// data receives the rest of a frame's data, to its place in the message.
func (r *chunkReader) data() error {
	in := &r.lines.in
	for {
		n := indexNewline(in.buf[in.pos:in.end])
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
		rest := r.run.frame - r.frame.length - 1 - r.got
		if rest > 0 && r.to == nil && r.direct() {
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
	c := &r.run
	return c.active && c.frame >= directFrom && int64(c.total-c.next-1)*int64(c.frame) >= int64(r.lines.in.size)
}

// checkLimits returns an error, and drops the message, if it exceeds what may be held. Of two
// limits it exceeds, the one it is further beyond was passed first: both count the same bytes, and
// one read may bring them all.
func (r *chunkReader) checkLimits() error {
	in := &r.lines.in
	came := r.fin - in.base
	size, held := came, 0
	if r.to != nil {
		size += r.to.size()
	}
	if r.frame.total > 1 && (r.run.active || r.to != nil) {
		held = r.partials.bytes + came
	}
	tooLarge, tooMany := size-r.set.maxMessage, held-r.set.flightBytes
	if tooLarge <= 0 && tooMany <= 0 {
		return nil
	}
	begins, start, received := in.buf[in.base:r.fin], r.offset, r.run.next
	if r.run.active {
		start = r.run.offset
	}
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
		return r.set.refuse(err, &r.lines.broken)
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
	if r.run.active {
		c := &r.run
		c.active = false
		r.to = r.partials.add(&c.id, c.total, c.offset, c.touched)
		r.to.received = c.next
	}
	if r.lines.refused = why; r.to != nil {
		r.partials.empty(r.to)
		r.to.refused, r.lines.refused = why, refusal{}
	}
	r.counted = r.lines.in.offset(r.lines.in.pos)
	r.lines.in.base = r.lines.in.pos
	r.fin = r.lines.in.pos
	r.stage = discarding
}

// discard drops the rest of a frame of a message that is dropped.
func (r *chunkReader) discard() error {
	in, refused, over := &r.lines.in, &r.lines.refused, true
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
	in := &r.lines.in
	if r.set.progress != nil {
		r.set.progress(r.chunk())
	}
	r.stage = atHeader
	if p := r.to; p != nil {
		r.partials.store(p, r.frame.index, in.buf[in.base:r.fin])
		in.next(in.pos)
		r.to = nil
		if p.received < p.total {
			return nil, false
		}
		r.partials.forget(p)
		r.delivered = p
		return p.data, true
	}
	if r.run.active {
		if r.run.next == 0 {
			r.run.frame = r.frame.length + r.got + 1
		}
		if r.run.next++; r.run.next < r.run.total {
			return nil, false
		}
		r.run.active = false
	}
	msg = in.buf[in.base:r.fin:r.fin]
	in.next(in.pos)
	r.partials.countUninterrupted()
	return msg, true
}
