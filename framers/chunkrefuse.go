package framers

import (
	"bytes"
	"io"
	"time"
)

// This file is what a chunkReader does with frames and messages that it does not deliver.

// chunkError returns the error about the frame under way.
func (r *chunkReader) chunkError(why error, received int) *ChunkError {
	return &ChunkError{
		Offset: r.offset, ID: r.frame.id.String(), Index: r.frame.index, Total: r.frame.total,
		Received: received, Err: why,
	}
}

// reject drops the frame whose header has come, and returns the error about it.
func (r *chunkReader) reject(why error, received int) error {
	r.to = nil
	r.stage = atHeader
	r.skipping = true
	return r.chunkError(why, received)
}

// checkLimits drops the message and returns an error, if the frame under way makes the message, or
// all incomplete messages together, larger than allowed. One read may bring enough bytes to pass
// both limits. The limit that is exceeded by more was passed first, since both count the same
// bytes.
func (r *chunkReader) checkLimits() error {
	came := r.in.pos - r.in.base
	size := came
	held := 0
	start := r.offset
	if r.to != nil {
		size += r.to.size()
		held = r.partials.bytes + came
		start = r.to.offset
	}
	tooLarge := size - r.set.maxMessage
	tooMany := held - r.set.flightBytes
	if tooLarge <= 0 && tooMany <= 0 {
		return nil
	}
	if tooMany > tooLarge {
		err := r.chunkError(ErrInFlight, r.to.received)
		r.abandon(refusal{})
		return err
	}
	err := tooLong(r.beginning(), r.set.maxMessage, start)
	r.abandon(refusal{err: err, size: int64(size)})
	return r.set.refuse(err, &r.broken)
}

// beginning returns the first bytes of the message under way, as far as they are known.
func (r *chunkReader) beginning() []byte {
	came := r.in.buf[r.in.base:r.in.pos]
	p := r.to
	if p == nil {
		return came
	}
	begins := head(p.data, len(p.data))
	if p.next == r.frame.index && len(p.ahead) == 0 {
		begins = append(begins, head(came, len(came))...)
	}
	return begins
}

// abandon drops the message of the frame under way, and remembers it so that its other chunks are
// dropped too.
func (r *chunkReader) abandon(why refusal) {
	if r.to == nil {
		r.refused = why
	} else {
		r.to.refused = why
		r.partials.empty(r.to)
	}
	r.startDiscarding()
}

// startDiscarding begins to drop the rest of the frame under way.
func (r *chunkReader) startDiscarding() {
	r.discardFrom = r.in.offset(r.in.pos)
	r.in.base = r.in.pos
	r.stage = discarding
}

// discard drops the rest of a frame whose message was dropped.
func (r *chunkReader) discard() error {
	in := &r.in
	err := in.skipLine()
	if err != nil && err != io.EOF {
		return err
	}
	size := in.offset(in.base) - r.discardFrom
	if err == nil {
		size-- // the newline
	}
	p := r.to
	if p == nil {
		r.refused.size += size
		r.refused.tell(&r.set)
	} else {
		p.received++
		p.refused.size += size
		if err == io.EOF || p.received >= p.total {
			p.refused.tell(&r.set)
		}
	}
	if err != nil {
		return inside(err)
	}
	if p != nil && p.received >= p.total {
		r.partials.forget(p)
		r.to = nil
	}
	r.stage = atHeader
	return nil
}

// expire drops a message whose last chunk came too long ago, and returns the error about it.
func (r *chunkReader) expire(now time.Time) error {
	if r.set.expiry <= 0 {
		return nil
	}
	return r.dropIncomplete(now.Add(-r.set.expiry), ErrExpired)
}

// dropIncomplete drops the first message whose last chunk came earlier than before, and returns the
// error about it.
func (r *chunkReader) dropIncomplete(before time.Time, why error) error {
	for i := 0; i < len(r.partials.list); {
		p := r.partials.list[i]
		if !p.touched.Before(before) {
			i++
			continue
		}
		r.partials.forget(p)
		p.refused.tell(&r.set)
		if p.dropped {
			continue // an error said so when it was dropped
		}
		return &ChunkError{
			Offset: p.offset, ID: p.id.String(), Index: p.next, Total: p.total,
			Received: p.received, Err: why,
		}
	}
	return nil
}

// shortID is how many hexadecimal digits, at most, the end of an adaptive stream may have to be a
// bare line without its newline. A longer end has the first dash of a UUID: it is a frame that was
// cut. While a message is incomplete, a shorter end is a cut frame, too.
const shortID = 8

// end judges an error at or inside a header. At the end of the stream it first reports the
// incomplete messages.
func (r *chunkReader) end(err error) error {
	if err != io.EOF {
		return err
	}
	came := len(r.in.held())
	if r.bare && len(r.partials.list) == 0 && came > 0 && came <= shortID {
		return r.notAFrame()
	}
	if came > 0 {
		return io.ErrUnexpectedEOF
	}
	missing := r.dropIncomplete(endOfTime, ErrMissing)
	if missing != nil {
		return missing
	}
	return io.EOF
}

// endOfTime is later than every chunk.
var endOfTime = time.Unix(1<<62, 0)

// notAFrame takes a line that is no frame: a message, a blank line, or an error.
func (r *chunkReader) notAFrame() error {
	in := &r.in
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
	r.skipping = true
	if len(trim(text)) == 0 && end >= 0 {
		return nil
	}
	return &ChunkError{Offset: in.offset(in.base), Line: excerpt(text), Err: ErrMalformed}
}

// shortLine returns where the line at hand ends, or -1 if it has more bytes than an error quotes,
// or if the stream ends in it. It reads until it knows, so the result does not depend on how much
// had come.
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
