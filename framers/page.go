package framers

import "unsafe"

// Some processors copy slowly if the destination's offset in its page is 1 to 31 bytes above the
// source's offset in its own page. An AMD Zen 3 took 4 to 5 times as long. When the kernel copies a
// write into a pipe, the destination is the start of a page.
const (
	pageSize = 4096
	slowZone = 31
)

// pageOffset returns where in a page of memory b begins.
func pageOffset(b []byte) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(b))) % pageSize)
}

// newBuffer returns n bytes that begin at the given offset in a page of memory.
func newBuffer(n, offset int) []byte {
	b := make([]byte, n+pageSize-1)
	skip := (offset - pageOffset(b)) & (pageSize - 1)
	return b[skip : skip+n : skip+n]
}

// slowTogether reports whether the kernel would copy the second piece slowly if one call sent it
// with the first. The result is false if the second piece is too short for a call of its own.
func slowTogether(pieces [][]byte) bool {
	if len(pieces) < 2 || len(pieces[1]) < gatherFrom {
		return false
	}
	// In the pipe, pieces[0] begins a page. So pieces[1] goes to offset len(pieces[0]).
	behind := (len(pieces[0]) - pageOffset(pieces[1])) & (pageSize - 1)
	return 1 <= behind && behind <= slowZone
}

// toPageStart returns how many bytes to send in one call. It rounds n down so that the next call
// begins with a page of memory, if that is possible.
func toPageStart(pieces [][]byte, n int) int {
	if n < 2*pageSize {
		return n
	}
	before := 0 // bytes in front of the piece in which n ends
	for _, p := range pieces {
		if n <= before+len(p) {
			beyond := pageOffset(p[n-before:])
			if beyond < n-before {
				return n - beyond
			}
			return n
		}
		before += len(p)
	}
	return n
}
