// Package pieces gives tests of framings their messages, and streams that come in pieces.
package pieces

import (
	"io"
	"math/rand/v2"
	"testing/iotest"
)

// Message returns n printable bytes that no two offsets share for long.
func Message(n int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('!' + r.IntN(94))
	}
	return b
}

// A Reader gives what R has in random pieces of at most Most bytes.
type Reader struct {
	R    io.Reader
	Rand *rand.Rand
	Most int
}

func (r *Reader) Read(b []byte) (int, error) {
	return r.R.Read(b[:min(len(b), 1+r.Rand.IntN(r.Most))])
}

// Cuts are the ways in which a stream can come.
var Cuts = []struct {
	Name string
	Cut  func(io.Reader) io.Reader
}{
	{"whole", func(r io.Reader) io.Reader { return r }},
	{"one byte a read", iotest.OneByteReader},
	{"half of each read", iotest.HalfReader},
	{"error with the last bytes", iotest.DataErrReader},
	{"random pieces", func(r io.Reader) io.Reader {
		return &Reader{r, rand.New(rand.NewPCG(7, 7)), 100}
	}},
	{"pieces of 4096", func(r io.Reader) io.Reader {
		return &Reader{r, rand.New(rand.NewPCG(8, 8)), 4096}
	}},
}
