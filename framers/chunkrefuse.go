package framers

import (
	"io"
	"time"
)

// This file has what a chunkReader does with frames and messages that it does not deliver.

// chunkError returns an error about the frame at hand. The parameter received is how many frames of
// the message came before.
func (r *chunkReader) chunkError(why error, received int) *ChunkError {
	return &ChunkError{
		Offset: r.offset, ID: r.frame.id.String(), Index: r.frame.index, Total: r.frame.total,
		Received: received, Err: why,
	}
}

// checkLimits returns an error if the frame at hand or its message p exceeds a limit, and then
// drops both. If the frame is the whole message, p is nil.
func (r *chunkReader) checkLimits(p *partialMessage, data []byte) error {
	size := len(data) // of the message
	held := 0         // of all incomplete messages
	start := r.offset
	if p != nil {
		size += p.size()
		held = r.partials.charged + len(data)
		start = p.offset
	}
	sizeExcess := size - r.set.maxMessage
	heldExcess := held - r.set.flightBytes
	switch {
	case sizeExcess <= 0 && heldExcess <= 0:
		return nil
	case heldExcess > sizeExcess: // the limit on held bytes was passed first
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

// beginning returns the first bytes of a message, as far as they are known. The parameter chunk is
// the data of the latest frame, which is not stored yet.
func (p *partialMessage) beginning(index int, chunk []byte) []byte {
	begins := head(p.data, len(p.data))
	if p.next == index && len(p.ahead) == 0 {
		begins = append(begins, head(chunk, len(chunk))...)
	}
	return begins
}

// drop makes the next ReadMessage skip the line at hand.
func (r *chunkReader) drop() {
	r.skipping = true
	r.inFrame = false
	r.skipped = nil
	r.refused = refusal{}
}

// dropFrame makes the next ReadMessage skip the frame at hand, and count the data of the frame as a
// part of the dropped message p. p is nil if no part of the message is held.
func (r *chunkReader) dropFrame(p *partialMessage) {
	r.drop()
	r.inFrame = true
	r.skipped = p
	r.skipFrom = r.offset + int64(r.frame.length)
}

// skip drops the rest of a line. If the line is a frame, its data counts towards the size of the
// message.
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

// dropIncomplete drops the first message whose latest chunk came before limit, and returns the
// error about that message. The result is nil if there is no such message.
func (r *chunkReader) dropIncomplete(limit time.Time, why error) error {
	for i := 0; i < len(r.partials.list); {
		p := r.partials.list[i]
		if !p.touched.Before(limit) {
			i++
			continue
		}
		r.partials.forget(p)
		p.refused.tell(&r.set)
		if p.dropped {
			continue // ReadMessage returned an error when it was dropped
		}
		return &ChunkError{
			Offset: p.offset, ID: p.id.String(), Index: p.next, Total: p.total,
			Received: p.received, Err: why,
		}
	}
	return nil
}

// end returns what ReadMessage reports for err, an error that came instead of a line. At the end of
// the stream, each call reports another incomplete message. When none is left, end returns io.EOF.
func (r *chunkReader) end(err error) error {
	if err != io.EOF {
		return err
	}
	if missing := r.dropIncomplete(endOfTime, ErrMissing); missing != nil {
		return missing
	}
	return io.EOF
}

// endOfTime is later than the time of every chunk.
var endOfTime = time.Unix(1<<62, 0)
