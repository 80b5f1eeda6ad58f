package payload

import "unsafe"

// pageSize is the period of the cost of a copy: the cost depends on the offsets of source and
// destination modulo 4096, whatever the size of the system's pages is.
const pageSize = 4096

// freshMemory is how much memory the copies of a fresh source fill, in bytes: more than any cache
// near a core holds.
const freshMemory = 64 << 20

// Aligned returns n bytes of memory that begin at an offset within a page.
func Aligned(n, offset int) []byte {
	b := make([]byte, n+offset+pageSize)
	skip := (pageSize-Offset(b))%pageSize + offset
	return b[skip : skip+n : skip+n]
}

// Offset returns where in a page b begins.
func Offset(b []byte) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(b))) % pageSize)
}

// Place moves the messages to memory that begins at an offset within a page. A recording's messages
// lie behind each other, so that only the first has the offset.
func (s *Source) Place(offset int) {
	total := 0
	for _, b := range s.bodies {
		total += len(b)
	}
	memory := Aligned(total, offset)
	placed := make([][]byte, len(s.bodies))
	for i, b := range s.bodies {
		n := copy(memory, b)
		placed[i], memory = memory[:n:n], memory[n:]
	}
	s.bodies = placed
}

// Spread fills 64 MiB with copies of the message of a generated source, and the source then sends
// one copy after the other. So a message is not in the cache when it is sent. If a message fills a
// page, each copy has the same offset within its page.
func (s *Source) Spread() {
	body := s.bodies[0]
	const line = 64 // bytes of the cache; small messages do not share one
	stride := (len(body) + line - 1) / line * line
	if stride > pageSize {
		stride = (len(body) + pageSize - 1) / pageSize * pageSize
	}
	n := max(2, freshMemory/max(line, stride))
	memory := Aligned(n*stride, Offset(body))
	s.copies = make([][]byte, n)
	for i := range s.copies {
		at := memory[i*stride:]
		s.copies[i] = at[:len(body):len(body)]
		copy(s.copies[i], body)
	}
}
