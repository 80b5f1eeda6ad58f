package framers

import (
	"bytes"
	"fmt"
	"testing"
)

func TestIndexNewlineIsIndexByte(t *testing.T) {
	buf := bytes.Repeat([]byte{0x8a}, 1200) // differs from a newline in the top bit
	for from := range 40 {
		for n := 0; n <= 600; n++ {
			b := buf[from : from+n]
			buf[from+n] = '\n' // just outside
			if got := indexNewline(b); got != -1 {
				t.Fatalf("from %d, %d bytes without a newline: %d", from, n, got)
			}
			buf[from+n] = 0x8a
		}
	}
	for n := 1; n <= 600; n++ {
		for at := range n {
			b := buf[7 : 7+n]
			b[at], b[n-1] = '\n', '\n'
			if got := indexNewline(b); got != at {
				t.Fatalf("newline at %d of %d: got %d", at, n, got)
			}
			b[at], b[n-1] = 0x8a, 0x8a
		}
	}
}

func TestCopyLineCopiesAndFinds(t *testing.T) {
	for n := range 600 {
		src := bytes.Repeat([]byte{0x8a}, n)
		for at := -1; at < n; at++ {
			if at >= 0 {
				src[at], src[n-1] = '\n', '\n'
			}
			dst := bytes.Repeat([]byte{'.'}, n+9)
			if got := copyLine(dst[3:], src); got != at {
				t.Fatalf("newline at %d of %d: got %d", at, n, got)
			}
			if !bytes.Equal(dst[3:3+n], src) || string(dst[:3]) != "..." || string(dst[3+n:]) != "......" {
				t.Fatalf("newline at %d of %d: copied %q", at, n, dst)
			}
			if at >= 0 {
				src[at], src[n-1] = 0x8a, 0x8a
			}
		}
	}
}

func FuzzIndexNewline(f *testing.F) {
	f.Add(bytes.Repeat([]byte("0123456789\n"), 30))
	f.Fuzz(func(t *testing.T, b []byte) {
		want := bytes.IndexByte(b, '\n')
		if got := indexNewline(b); got != want {
			t.Fatalf("indexNewline: got %d, want %d", got, want)
		}
		dst := make([]byte, len(b))
		if got := copyLine(dst, b); got != want || !bytes.Equal(dst, b) {
			t.Fatalf("copyLine: got %d and %q, want %d and %q", got, dst, want, b)
		}
	})
}

func BenchmarkIndexNewline(b *testing.B) {
	for _, n := range []int{64, 256, 300, 4096, 65536, 1 << 20, 16 << 20} {
		msg := bytes.Repeat([]byte("x"), n)
		for name, f := range map[string]func([]byte) int{"own": indexNewline, "bytes": func(b []byte) int { return bytes.IndexByte(b, '\n') }} {
			b.Run(fmt.Sprintf("impl=%s/size=%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(n))
				for b.Loop() {
					f(msg)
				}
			})
		}
	}
}
