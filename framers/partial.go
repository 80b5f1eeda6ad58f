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

const (
	// keepPartials and keepPartialBytes bound the buffers kept for the next interleaved messages:
	// at most 4 buffers of up to 1 MiB each, and one larger. The garbage collector frees the
	// others.
	keepPartials     = 4
	keepPartialBytes = 1 << 20
)

// partialMessages are the incomplete messages of a stream, oldest first. There are few, so find
// looks at one after the other, beginning with the one that most likely goes on.
type partialMessages struct {
	list        []*partialMessage
	spare       []*partialMessage
	large       *partialMessage // a spare of more than keepPartialBytes
	shrinkCount int             // messages in a row that needed at most a quarter of large
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

// add begins a message. It takes a spare buffer, the large one first: the first chunk does not tell
// how long the message will be.
func (s *partialMessages) add(id *chunkID, total int, offset int64, now time.Time) *partialMessage {
	p := s.takeSpare()
	p.id = *id
	p.total = total
	p.offset = offset
	p.began = now
	p.touched = now
	s.list = append(s.list, p)
	return p
}

func (s *partialMessages) takeSpare() *partialMessage {
	if p := s.large; p != nil {
		s.large = nil
		return p
	}
	n := len(s.spare)
	if n == 0 {
		return &partialMessage{data: []byte{}} // not nil, also if all chunks are empty
	}
	p := s.spare[n-1]
	s.spare = s.spare[:n-1]
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

// recycle takes back a partial message that is on no list. New memory for each large message would
// cost more than all the rest, so recycle keeps one large buffer until shrinkAfter messages in a
// row have not needed it, as a readBuffer does.
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
	s.shrinkCount++
	if used > cap(p.data)/4 {
		s.shrinkCount = 0
	}
	if s.shrinkCount < shrinkAfter && s.large == nil {
		s.large = p
	}
}

// countWithoutLarge notes a message that was delivered from the read buffer.
func (s *partialMessages) countWithoutLarge() {
	s.shrinkCount++
	if s.shrinkCount >= shrinkAfter {
		s.large = nil
	}
}
