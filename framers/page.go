package framers

import (
	"math"
	"unsafe"
)

const maxInt = math.MaxInt

// Some processors copy slowly if the destination address is 1 to 31 bytes above the source address,
// both modulo the page size. On an AMD Zen 3, where the kernel uses "rep movsb" for pipes, such a
// copy took 4 to 5 times as long. A pipe begins each write at the start of a page. So only the
// addresses of our buffers decide whether a copy is slow.
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

// slowTogether reports whether the kernel copies the second piece slowly if one call sends the
// first two pieces. It returns false if the second piece is too short for a call of its own. Such a
// call copies the piece fast, except if the piece begins in the last 31 bytes of a page.
func slowTogether(pieces [][]byte) bool {
	if len(pieces) < 2 || len(pieces[1]) < gatherFrom {
		return false
	}
	// The pipe begins a page with pieces[0], so pieces[1] goes to offset len(pieces[0]).
	behind := (len(pieces[0]) - pageOffset(pieces[1])) & (pageSize - 1)
	return 1 <= behind && behind <= slowZone
}

// toPageStart returns how many bytes of pieces a call should send if it may send n. The result is
// n, or so much less that the next byte is at the start of a page of memory. If n is below two
// pages, the result is n.
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
