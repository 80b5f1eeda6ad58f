package framers

import (
	"math"
	"unsafe"
)

const maxInt = math.MaxInt

// Some processors copy slowly if the destination lies 1 to 31 bytes behind the source, counted
// modulo the page size: 4 to 5 times as slowly, measured on AMD Zen 3, whose "rep movsb" the kernel
// uses for pipes. This holds for copies of any length. A pipe begins each write at the start of a
// page of its own, so only the places where our buffers begin in memory decide.
const (
	pageSize = 4096
	slowZone = 31
)

// pageOffset returns where in a page of memory b begins.
func pageOffset(b []byte) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(b))) % pageSize)
}

// newBuffer returns n bytes that begin at an offset in a page.
func newBuffer(n, offset int) []byte {
	b := make([]byte, n+pageSize-1)
	skip := (offset - pageOffset(b)) & (pageSize - 1)
	return b[skip : skip+n : skip+n]
}

// slowTogether reports whether the kernel copies the second piece slowly if one call sends the
// first two. In a call of its own the second is copied fast, unless it begins in the last 31 bytes
// of a page. A short second piece is not worth a call, and counts as fast.
func slowTogether(pieces [][]byte) bool {
	if len(pieces) < 2 || len(pieces[1]) < gatherFrom {
		return false
	}
	// The pipe begins a page with pieces[0], so pieces[1] goes to offset len(pieces[0]).
	behind := (len(pieces[0]) - pageOffset(pieces[1])) & (pageSize - 1)
	return 1 <= behind && behind <= slowZone
}

// toPageStart returns n, or a little less: so many bytes of pieces that what follows them begins at
// the start of a page of memory. If n is below two pages it returns n.
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
