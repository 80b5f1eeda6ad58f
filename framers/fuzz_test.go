package framers_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/pipebench/pipebench/framers"
)

// fuzzed are the framings with a decoder of their own.
var fuzzed = []string{"ndjson", "ndjson-bytewise", "ndjson-rescan", "content-length", "length-prefix", "chunked:64", "adaptive:64", "raw:7", "chunked+zstd:64"}

// options of the fuzz targets: limits small enough to be met.
func fuzzOptions(verbatim, lenient, resync bool) []framers.Option {
	opts := []framers.Option{framers.WithMaxMessage(200), framers.WithMaxInFlight(3, 300), framers.WithMaxHeader(100, 5)}
	if verbatim {
		opts = append(opts, framers.WithVerbatim())
	}
	if lenient {
		opts = append(opts, framers.WithLenient())
	}
	if resync {
		opts = append(opts, framers.WithPolicy(framers.Resync))
	}
	return opts
}

// decodeAnyhow reads any stream cut in any way: never a panic, never more than the bound, always the same.
func decodeAnyhow(t *testing.T, spec string, wire []byte, seed uint64, opts []framers.Option) {
	f := mustParse(t, spec)
	rng := seeded(seed)
	ways := map[string]framers.Reader{
		"one byte a read": f.NewReader(iotest.OneByteReader(bytes.NewReader(wire)), opts...),
		"random pieces":   f.NewReader(&cutReader{r: bytes.NewReader(wire), rand: rng, most: 1 + rng.IntN(40)}, opts...),
		"with the error":  f.NewReader(iotest.DataErrReader(bytes.NewReader(wire)), opts...),
		"small buffer":    f.NewReader(bytes.NewReader(wire), append(slices.Clone(opts), framers.WithReadBuffer(16+rng.IntN(100)))...),
	}
	want := transcript(f.NewReader(bytes.NewReader(wire), opts...))
	for name, r := range ways {
		if got := transcript(r); !slices.Equal(got, want) {
			t.Fatalf("%s, %s:\n got %s\nwant %s", spec, name, got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for i := range fuzzed {
		for _, wire := range []string{
			"a\n b \r\n\nc", "{}\n{}\n", "Content-Length: 2\r\n\r\nab", "content-length:1\nX: y\n\nzContent-Length: 5\r\n\r\nhello",
			"Content-Length: +5\r\n\r\nhelloContent-Length: 1\r\n\r\nx", "\x00\x00\x00\x02ab\x00\x00\x01\x00", "a:0:1:x\na:0:2:x\nb:0:1:\na:1:2:y\n",
			"a:1:3:b\nb:0:2:c\na:0:3:a\nb:0:2:c\na:2:3:c\na:9:9:\n::\n", "0123abcd-4567-89ab-cdef-0123456789ab:0:1:x\nplain\n0123abcd", "Content-Length: 99999999999999999999\r\n\r\n",
		} {
			f.Add(uint8(i), uint8(i), uint64(i), []byte(wire))
		}
		f.Add(uint8(i), uint8(4), uint64(i), bytes.Repeat([]byte("a:0:2:0123456789012345678901234567890123456789\n"), 9))
	}
	f.Fuzz(func(t *testing.T, which, flags uint8, seed uint64, wire []byte) {
		spec := fuzzed[int(which)%len(fuzzed)]
		// Under Close the error shows what had arrived of a declared message, which differs with the cuts.
		declares := spec == "content-length" || spec == "length-prefix"
		decodeAnyhow(t, spec, wire, seed, fuzzOptions(flags&1 != 0, flags&2 != 0, flags&4 != 0 || declares))
	})
}

func FuzzRoundTrip(f *testing.F) {
	for i := range fuzzed {
		for _, msg := range []string{"", "x", " x ", "a\nb", "a\r", "0123abcd-4567-89ab-cdef-0123456789ab:0:1:x", "Content-Length: 2\r\n\r\n", "é€😀"} {
			f.Add(uint8(i), false, uint64(i), []byte(msg), bytes.Repeat([]byte(msg), 30))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, verbatim bool, seed uint64, first, second []byte) {
		framing := mustParse(t, fuzzed[int(which)%len(fuzzed)])
		var opts []framers.Option
		if verbatim {
			opts = append(opts, framers.WithVerbatim())
		}
		var wire bytes.Buffer
		var want [][]byte
		w := framing.NewWriter(&wire, opts...)
		for _, msg := range [][]byte{first, second, first} {
			before := wire.Len()
			err := w.WriteMessage(msg)
			if (err == nil) != (framers.Carries(framing, msg, opts...) == nil) {
				t.Fatalf("%s: the Writer says %v, Carries otherwise", framing, err)
			}
			if err == nil {
				want = append(want, msg)
			} else if wire.Len() != before {
				t.Fatalf("%s: a message was refused (%v) after %d bytes of it were written", framing, err, wire.Len()-before)
			}
		}
		rng := seeded(seed)
		src := &cutReader{r: &wire, rand: rng, most: 1 + rng.IntN(300)}
		got, err := decode(framing.NewReader(src, append(opts, framers.WithReadBuffer(16+rng.IntN(500)))...))
		if err != io.EOF {
			t.Fatalf("%s: %v", framing, err)
		}
		wantMessages(t, got, want)
	})
}

// FuzzMemory feeds any beginning and then a flood of one byte: what a Reader allocates stays bounded.
func FuzzMemory(f *testing.F) {
	for i := range fuzzed {
		for _, wire := range []string{"", "Content-Length: 2000000000\r\n\r\n", "\xff\xff\xff\xff", "a:0:2147483647:", "a:2147483646:2147483647:x\na:5:2147483647:", "x:0:1:y"} {
			f.Add(uint8(i), byte('x'), []byte(wire))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, flood byte, wire []byte) {
		if len(wire) > 4<<10 {
			return
		}
		const most = 16 << 10
		spec := fuzzed[int(which)%len(fuzzed)]
		src := io.MultiReader(bytes.NewReader(wire), io.LimitReader(endless(flood), 256<<10))
		if spec == "ndjson-bytewise" || spec == "ndjson-rescan" {
			return // exempt: they hold a line whole, as printed
		}
		var before, after runtime.MemStats
		r := mustParse(t, spec).NewReader(src, framers.WithMaxMessage(most), framers.WithMaxInFlight(4, most), framers.WithReadBuffer(4<<10))
		runtime.ReadMemStats(&before)
		for range 20 {
			if _, err := r.ReadMessage(); err != nil && fmt.Sprintf("%T", err) == "*errors.errorString" {
				break
			}
		}
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 40*most {
			t.Errorf("%s: allocated %d bytes in all", spec, got)
		}
	})
}
