package framers

import (
	"slices"
	"time"
)

// An assembly is a message of which some chunks have come and which other frames have interrupted.
type assembly struct {
	id       chunkID
	total    int
	received int
	next     int    // the first chunk missing
	data     []byte // chunks before next
	ahead    map[int][]byte
	waiting  int   // bytes of data in ahead
	offset   int64 // of its first frame in the stream
	touched  time.Time
	dropped  bool // what comes of it is thrown away
}

// aheadCost is charged for a chunk out of order beside its data: an empty one costs memory too.
const aheadCost = 64

// size is how long the message is so far; bytes is what is charged for holding it.
func (a *assembly) size() int  { return len(a.data) + a.waiting }
func (a *assembly) bytes() int { return a.size() + aheadCost*len(a.ahead) }

func (a *assembly) has(index int) bool {
	_, ahead := a.ahead[index]
	return index < a.next || ahead
}

// store takes a copy of a chunk. The buffer grows through sizes that halve from top.
func (a *assembly) store(index int, chunk []byte, top int) {
	a.received++
	if index != a.next {
		if a.ahead == nil {
			a.ahead = make(map[int][]byte)
		}
		a.ahead[index] = slices.Clone(chunk)
		a.waiting += len(chunk)
		return
	}
	a.extend(chunk, top)
	for len(a.ahead) > 0 {
		chunk, ok := a.ahead[a.next]
		if !ok {
			return
		}
		a.waiting -= len(chunk)
		delete(a.ahead, a.next)
		a.extend(chunk, top)
	}
}

func (a *assembly) extend(chunk []byte, top int) {
	if need := len(a.data) + len(chunk); need > cap(a.data) {
		a.data = append(make([]byte, 0, max(capacity(need, top), need)), a.data...)
	}
	a.data = append(a.data, chunk...)
	a.next++
}

const (
	// keepAssemblies and keepAssembly bound what is kept for the next interleaved messages: so many buffers of at most
	// so many bytes, and one larger. The garbage collector has the rest.
	keepAssemblies = 4
	keepAssembly   = 1 << 20
)

// assemblies are the interrupted messages of a stream, oldest first. There are few, so a search is a walk.
type assemblies struct {
	list  []*assembly
	spare []*assembly
	large *assembly // a spare of more than keepAssembly
	calm  int       // messages in a row that did without it, or that a quarter of it would have held
	bytes int       // of all
	top   int       // largest capacity of one
}

func (s *assemblies) find(id *chunkID) *assembly {
	for _, a := range s.list {
		if a.id == *id {
			return a
		}
	}
	return nil
}

func (s *assemblies) add(id *chunkID, total int, offset int64, now time.Time) *assembly {
	a := s.obtain()
	a.id, a.total, a.offset, a.touched = *id, total, offset, now
	s.list = append(s.list, a)
	return a
}

// obtain takes a spare, the large one first: how long a message will be is not known from its first chunk.
func (s *assemblies) obtain() *assembly {
	if a := s.large; a != nil {
		s.large = nil
		return a
	}
	if n := len(s.spare); n > 0 {
		a := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return a
	}
	return new(assembly)
}

func (s *assemblies) store(a *assembly, index int, chunk []byte) {
	s.bytes -= a.bytes()
	a.store(index, chunk, s.top)
	s.bytes += a.bytes()
}

// forget takes a off the list; its data stays as it is.
func (s *assemblies) forget(a *assembly) {
	s.bytes -= a.bytes()
	i := slices.Index(s.list, a)
	s.list = slices.Delete(s.list, i, i+1)
}

// empty drops the data of a message but keeps its name, so that the rest of it can be thrown away.
func (s *assemblies) empty(a *assembly) {
	s.bytes -= a.bytes()
	a.data, a.ahead, a.waiting, a.dropped = nil, nil, 0, true
}

// recycle takes back an assembly that is on no list. A stream on which one large message was interrupted has more of
// them, and memory that is new for each costs more than all else: at 4 MiB the whole took 3.9 times as long
// (BenchmarkInterrupted). So one large buffer is kept, by the rule of an inlet's: until calmBefore messages in a row have
// not needed it.
func (s *assemblies) recycle(a *assembly) {
	used := len(a.data)
	*a = assembly{data: a.data[:0], ahead: a.ahead}
	clear(a.ahead)
	if cap(a.data) <= keepAssembly {
		if len(s.spare) < keepAssemblies {
			s.spare = append(s.spare, a)
		}
		return
	}
	if s.calm++; used > cap(a.data)/4 {
		s.calm = 0
	}
	if s.calm < calmBefore && s.large == nil {
		s.large = a
	}
}

// pass notes a message that was not interrupted.
func (s *assemblies) pass() {
	if s.calm++; s.calm >= calmBefore {
		s.large = nil
	}
}

// yield gives the large spare up to a message that needs as much in another place.
func (s *assemblies) yield() { s.large = nil }
