//go:build !amd64 || noasm

package framers

import "bytes"

// indexNewline returns the index of the first newline in b, or -1.
func indexNewline(b []byte) int { return bytes.IndexByte(b, '\n') }
