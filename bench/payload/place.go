package payload

import "unsafe"

// pageSize is 4096 even where the system's pages are larger: the cost of a copy depends on the
// offsets of source and destination modulo 4096.
const pageSize = 4096

// spreadMemory is how many bytes [Source.Spread] fills: as much as the largest cache of a core, or
// of a few cores, holds.
const spreadMemory = 16 << 20

// Aligned returns a slice of n bytes that begins at the given offset within a page.
func Aligned(n, offset int) []byte {
	b := make([]byte, n+offset+pageSize)
	skip := (pageSize-Offset(b))%pageSize + offset
	return b[skip : skip+n : skip+n]
}

// Offset returns the offset within a page at which b begins.
func Offset(b []byte) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(b))) % pageSize)
}

// Place moves the messages to memory that begins at the given offset within a page. Messages of a
// recording then lie one after the other.
func (s *Source) Place(offset int) {
	memory := Aligned(int(s.Bytes(0, s.Distinct())), offset)
	bodies := make([][]byte, len(s.bodies))
	for i, b := range s.bodies {
		n := copy(memory, b)
		bodies[i] = memory[:n:n]
		memory = memory[n:]
	}
	s.bodies = bodies
}

// Spread fills 16 MiB of memory with copies of the source's message, and returns that memory. The
// copies are sent in turn, so that none is in the cache of the core; see [Source.Skip]. Spread must
// not be called on a source of recorded messages.
func (s *Source) Spread() []byte {
	body := s.bodies[0]
	const line = 64 // bytes of a cache line; no two copies share a line
	stride := (len(body) + line - 1) / line * line
	if stride > pageSize { // whole pages, so that each copy has the same offset within its page
		stride = (len(body) + pageSize - 1) / pageSize * pageSize
	}
	n := max(2, spreadMemory/max(line, stride)) // the stride of an empty message is 0
	memory := Aligned(n*stride, Offset(body))
	s.copies = make([][]byte, n)
	for i := range s.copies {
		at := memory[i*stride:]
		s.copies[i] = at[:len(body):len(body)]
		copy(s.copies[i], body)
	}
	return memory
}

// Skip makes message 0 of the next job begin n copies behind message 0 of the last one. A source
// without copies stays as it is.
func (s *Source) Skip(n int64) { s.skipped += n }
