package framers

import (
	"slices"
	"time"
)

// A partialMessage is a message that has received some of its chunks.
type partialMessage struct {
	id       chunkID
	total    int            // number of chunks of the message
	received int            // number of chunks that have come
	next     int            // the index of the first chunk that is missing
	data     []byte         // the data of the chunks before next, joined
	ahead    map[int][]byte // the data of the chunks that came too early, by their index
	waiting  int            // bytes of data in ahead
	offset   int64          // where in the stream the message's first frame begins
	began    time.Time      // when its first chunk came
	touched  time.Time      // when its latest chunk came
	dropped  bool           // the data was dropped; chunks that still come are dropped, too
	refused  refusal        // set if the message was dropped because it is too large
}

// outOfOrderCost is added to the size of a chunk that came too early, in bytes, because the map
// that holds the chunk takes memory, too.
const outOfOrderCost = 64

func (p *partialMessage) size() int { return len(p.data) + p.waiting }

// charged returns how many bytes the message counts against the bound of WithMaxInFlight.
func (p *partialMessage) charged() int { return p.size() + outOfOrderCost*len(p.ahead) }

func (p *partialMessage) has(index int) bool {
	_, ahead := p.ahead[index]
	return index < p.next || ahead
}

// store keeps a copy of a chunk. The parameter top is the largest capacity of the message's buffer.
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
	came := true
	for came { // first this chunk, then the chunks behind it that came early
		p.extend(chunk, top)
		p.next++
		chunk, came = p.ahead[p.next]
		if came {
			p.waiting -= len(chunk)
			delete(p.ahead, p.next)
		}
	}
}

// extend appends a chunk to the data. The buffer grows by a quarter, so that it never takes much
// more memory than it needs.
func (p *partialMessage) extend(chunk []byte, top int) {
	if need := len(p.data) + len(chunk); need > cap(p.data) {
		larger := max(need, min(cap(p.data)/4*5, top))
		p.data = append(make([]byte, 0, larger), p.data...)
	}
	p.data = append(p.data, chunk...)
}

// A partialSet holds the incomplete messages of a stream, and buffers for later ones.
type partialSet struct {
	list       []*partialMessage // the incomplete messages, oldest first
	spares     []*partialMessage // complete messages, kept for their buffers
	spareBytes int               // capacity of these buffers
	unused     int               // messages in a row that needed at most a quarter of a spare
	charged    int               // bytes that are charged for the messages in list
	top        int               // the largest capacity of one message's buffer
}

// find returns the message with an id, or nil. It looks at the newest message first, because chunks
// of that message are the most likely.
func (s *partialSet) find(id *chunkID) *partialMessage {
	for _, p := range slices.Backward(s.list) {
		if p.id == *id {
			return p
		}
	}
	return nil
}

func (s *partialSet) add(id *chunkID, total int, offset int64, now time.Time) *partialMessage {
	p := s.takeSpare()
	if p == nil {
		p = &partialMessage{data: []byte{}} // not nil, even if all chunks are empty
	}
	p.id = *id
	p.total = total
	p.offset = offset
	p.began = now
	p.touched = now
	s.list = append(s.list, p)
	return p
}

// takeSpare returns the spare that was put back last, or nil if there is none.
func (s *partialSet) takeSpare() *partialMessage {
	last := len(s.spares) - 1
	if last < 0 {
		return nil
	}
	p := s.spares[last]
	s.spares = slices.Delete(s.spares, last, last+1) // clears the element
	s.spareBytes -= cap(p.data)
	return p
}

func (s *partialSet) store(p *partialMessage, index int, chunk []byte) {
	s.charged -= p.charged()
	p.store(index, chunk, s.top)
	s.charged += p.charged()
}

// forget takes p off the list. It leaves p's data as it is.
func (s *partialSet) forget(p *partialMessage) {
	s.charged -= p.charged()
	i := slices.Index(s.list, p)
	s.list = slices.Delete(s.list, i, i+1)
}

// empty drops the data of a message but keeps its id, so that later chunks of the message can be
// dropped, too.
func (s *partialSet) empty(p *partialMessage) {
	s.charged -= p.charged()
	p.data = nil
	p.ahead = nil
	p.waiting = 0
	p.dropped = true
}

// mostSpare is the most bytes that several spare buffers may have together. A single spare buffer
// may be larger.
const mostSpare = 16 << 20

// recycle keeps the buffer of a message that was taken off the list, because new memory would be
// the largest cost of a large message.
func (s *partialSet) recycle(p *partialMessage) {
	if len(s.spares) > 0 && s.spareBytes+cap(p.data) > mostSpare {
		return
	}
	used := len(p.data)
	*p = partialMessage{data: p.data[:0]}
	s.spares = append(s.spares, p)
	s.spareBytes += cap(p.data)
	if used > cap(p.data)/4 {
		s.unused = 0
	} else {
		s.countUnused(used)
	}
}

// largeSpare is how many bytes the spare buffers may have together before countUnused frees them.
const largeSpare = 1 << 20

// countUnused notes a message of size bytes that did not need a spare buffer.
func (s *partialSet) countUnused(size int) {
	s.unused++
	// After a large message, the read buffer is large, too. Then no large spare buffer is needed.
	if s.unused < shrinkAfter && size <= largeSpare {
		return
	}
	s.unused = 0
	if s.spareBytes > largeSpare {
		s.spares = nil
		s.spareBytes = 0
	}
}
