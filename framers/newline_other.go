//go:build !amd64 || noasm

package framers

import "bytes"

// indexNewline returns the index of the first newline in b, or -1.
func indexNewline(b []byte) int { return bytes.IndexByte(b, '\n') }

// copyLine copies src to dst, which has room for it, and returns what indexNewline of src returns.
func copyLine(dst, src []byte) int {
	copy(dst, src)
	return bytes.IndexByte(src, '\n')
}
