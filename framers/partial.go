package framers

import (
	"slices"
	"time"
)

// A partialMessage is a message that has received some of its chunks.
type partialMessage struct {
	id       chunkID
	total    int // chunks
	received int
	next     int            // the first chunk missing
	data     []byte         // chunks before next
	ahead    map[int][]byte // chunks behind next
	waiting  int            // bytes of data in ahead
	offset   int64          // where in the stream its first frame begins
	began    time.Time
	touched  time.Time // when its last chunk came
	dropped  bool      // its later chunks are thrown away
	refused  refusal
}

// outOfOrderCost is charged for a chunk out of order in addition to its data, in bytes: even an
// empty chunk takes memory.
const outOfOrderCost = 64

// size is how long the message is so far; bytes is what is charged for holding it.
func (p *partialMessage) size() int  { return len(p.data) + p.waiting }
func (p *partialMessage) bytes() int { return p.size() + outOfOrderCost*len(p.ahead) }

func (p *partialMessage) has(index int) bool {
	_, ahead := p.ahead[index]
	return index < p.next || ahead
}

// store takes a copy of a chunk. The buffer grows by a quarter at a time, up to top: there may be
// many buffers, and their memory should be close to the bytes that are charged for them.
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
	for came {
		p.extend(chunk, top)
		p.next++
		chunk, came = p.ahead[p.next]
		if came {
			p.waiting -= len(chunk)
			delete(p.ahead, p.next)
		}
	}
}

func (p *partialMessage) extend(chunk []byte, top int) {
	if need := len(p.data) + len(chunk); need > cap(p.data) {
		larger := max(need, min(cap(p.data)/4*5, top))
		p.data = append(make([]byte, 0, larger), p.data...)
	}
	p.data = append(p.data, chunk...)
}

// partialMessages are the incomplete messages of a stream, oldest first. There are few, so find
// looks at one after the other, beginning with the one that most likely goes on.
type partialMessages struct {
	list   []*partialMessage
	spares []*partialMessage // their buffers are for the next messages
	spare  int               // bytes of these buffers
	unused int               // messages in a row that needed at most a quarter of such a buffer
	bytes  int               // charged for all of them
	top    int               // largest capacity of one
}

func (s *partialMessages) find(id *chunkID) *partialMessage {
	for _, p := range slices.Backward(s.list) {
		if p.id == *id {
			return p
		}
	}
	return nil
}

func (s *partialMessages) add(id *chunkID, total int, offset int64, now time.Time) *partialMessage {
	p := s.takeSpare()
	if p == nil {
		p = &partialMessage{data: []byte{}} // not nil, also if all chunks are empty
	}
	p.id = *id
	p.total = total
	p.offset = offset
	p.began = now
	p.touched = now
	s.list = append(s.list, p)
	return p
}

// takeSpare returns the spare that was put back last, nil if there is none.
func (s *partialMessages) takeSpare() *partialMessage {
	last := len(s.spares) - 1
	if last < 0 {
		return nil
	}
	p := s.spares[last]
	s.spares = slices.Delete(s.spares, last, last+1) // so that the list does not hold its memory
	s.spare -= cap(p.data)
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

// empty drops the data of a message but keeps its id, so that later chunks of it can be dropped
// too.
func (s *partialMessages) empty(p *partialMessage) {
	s.bytes -= p.bytes()
	p.data = nil
	p.ahead = nil
	p.waiting = 0
	p.dropped = true
}

// mostSpare is how many bytes all spare buffers together may have, if they are several.
const mostSpare = 16 << 20

// recycle takes back a partial message that is on no list. New memory for each large message would
// cost more than all the rest, so recycle keeps its buffer. Several are kept, since messages whose
// frames come in turns end one right after the other. Large ones are kept until shrinkAfter
// messages in a row have not needed them, as a readBuffer does.
func (s *partialMessages) recycle(p *partialMessage) {
	if !s.makeRoom(cap(p.data)) {
		return
	}
	used := len(p.data)
	*p = partialMessage{data: p.data[:0]}
	s.spares = append(s.spares, p)
	s.spare += cap(p.data)
	if used > cap(p.data)/4 {
		s.unused = 0
	} else {
		s.countOther(used)
	}
}

// makeRoom frees spares smaller than size until one of size bytes fits beside the others, and
// reports whether it does. If it would be the only spare, it always fits.
func (s *partialMessages) makeRoom(size int) bool {
	for len(s.spares) > 0 && s.spare+size > mostSpare {
		least := 0
		for i, p := range s.spares {
			if cap(p.data) < cap(s.spares[least].data) {
				least = i
			}
		}
		smallest := cap(s.spares[least].data)
		if smallest >= size {
			return false
		}
		s.spare -= smallest
		s.spares = slices.Delete(s.spares, least, least+1)
	}
	return true
}

// largeSpare is the size in bytes above which spare buffers are given back.
const largeSpare = 1 << 20

// countOther notes a message of size bytes that did not need a spare buffer. One that is large
// itself has made the read buffer large: one large buffer is enough.
func (s *partialMessages) countOther(size int) {
	s.unused++
	if s.unused >= shrinkAfter || size > largeSpare {
		s.giveBack()
	}
}

func (s *partialMessages) giveBack() {
	s.unused = 0
	if s.spare > largeSpare {
		s.spares = nil
		s.spare = 0
	}
}
