package framers

import (
	"io"
	"time"
)

// This file is what a chunkReader does with frames and messages that it does not deliver.

// chunkError returns the error about the frame at hand.
func (r *chunkReader) chunkError(why error, received int) *ChunkError {
	return &ChunkError{
		Offset: r.offset, ID: r.frame.id.String(), Index: r.frame.index, Total: r.frame.total,
		Received: received, Err: why,
	}
}

// checkLimits drops the message of the frame at hand and returns an error, if the frame makes that
// message, or all incomplete messages together, larger than allowed. If both limits are exceeded,
// the one that is exceeded by more was passed first, since both count the same bytes.
func (r *chunkReader) checkLimits(p *partialMessage, data []byte) error {
	size := len(data)
	held := 0
	start := r.offset
	if p != nil {
		size += p.size()
		held = r.partials.bytes + len(data)
		start = p.offset
	}
	tooLarge := size - r.set.maxMessage
	tooMany := held - r.set.flightBytes
	switch {
	case tooLarge <= 0 && tooMany <= 0:
		return nil
	case tooMany > tooLarge:
		r.partials.empty(p)
		r.dropFrame(p)
		return r.chunkError(ErrInFlight, p.received)
	}
	begins := data
	if p != nil {
		begins = p.beginning(r.frame.index, data)
	}
	err := tooLong(begins, r.set.maxMessage, start)
	r.dropFrame(p)
	if p == nil {
		r.refused.err = err
	} else {
		p.refused = refusal{err: err, size: int64(p.size())}
		r.partials.empty(p)
	}
	return r.set.refuse(err, &r.broken)
}

// beginning returns the first bytes of a message, as far as they are known. The chunk has just
// come, and is not stored.
func (p *partialMessage) beginning(index int, chunk []byte) []byte {
	begins := head(p.data, len(p.data))
	if p.next == index && len(p.ahead) == 0 {
		begins = append(begins, head(chunk, len(chunk))...)
	}
	return begins
}

func (r *chunkReader) drop() {
	r.skipping = true
	r.inFrame = false
	r.skipped = nil
	r.refused = refusal{}
}

// dropFrame drops the frame at hand. p is its message, which was dropped before it; nil if the
// reader holds none of that.
func (r *chunkReader) dropFrame(p *partialMessage) {
	r.drop()
	r.inFrame = true
	r.skipped = p
	r.skipFrom = r.offset + int64(r.frame.length)
}

// skip drops the rest of a line. If it is a frame of a message beyond the limit, its data count as
// bytes of that message.
func (r *chunkReader) skip() error {
	in := &r.in
	err := in.skipLine()
	if err != nil && err != io.EOF {
		return err
	}
	r.skipping = err != nil
	size := in.offset(in.base) - r.skipFrom
	if err == nil {
		size-- // the newline
	}
	p := r.skipped
	r.skipped = nil
	if p == nil {
		r.refused.size += size
		r.refused.tell(&r.set)
	} else {
		p.received++
		p.refused.size += size
		if err == io.EOF || p.received >= p.total {
			p.refused.tell(&r.set)
		}
		if p.received >= p.total {
			r.partials.forget(p)
		}
	}
	switch {
	case err == nil:
		return nil
	case r.inFrame:
		return io.ErrUnexpectedEOF
	}
	return r.end(err)
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

// end returns err, the error that came instead of a line. At the end of the stream it first reports
// the incomplete messages.
func (r *chunkReader) end(err error) error {
	if err != io.EOF {
		return err
	}
	if missing := r.dropIncomplete(endOfTime, ErrMissing); missing != nil {
		return missing
	}
	return io.EOF
}

// endOfTime is later than every chunk.
var endOfTime = time.Unix(1<<62, 0)
