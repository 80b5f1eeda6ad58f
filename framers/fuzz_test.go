package framers_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/framers/internal/pieces"
)

// fuzzed are all framings, with the sizes of the fuzz targets.
var fuzzed = append(specs(":64"), "raw:7")

// options of the fuzz targets: limits small enough to be met, but for those of a header.
func fuzzOptions(verbatim, lenient, resync bool) []framers.Option {
	opts := []framers.Option{framers.WithMaxMessage(200), framers.WithMaxInFlight(3, 300)}
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

// decodeAnyhow reads any stream cut in any way: never a panic, never more than the bound, always
// the same.
func decodeAnyhow(t *testing.T, spec string, wire []byte, seed uint64, opts []framers.Option) {
	f := mustParse(t, spec)
	rng := seeded(seed)
	ways := map[string]framers.Reader{
		"one byte a read": f.NewReader(iotest.OneByteReader(bytes.NewReader(wire)), opts...),
		"random pieces": f.NewReader(&pieces.Reader{
			R: bytes.NewReader(wire), Rand: rng, Most: 1 + rng.IntN(40),
		}, opts...),
		"with the error": f.NewReader(iotest.DataErrReader(bytes.NewReader(wire)), opts...),
		"small buffer": f.NewReader(bytes.NewReader(wire),
			append(slices.Clone(opts), framers.WithReadBuffer(16+rng.IntN(100)))...),
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
			strings.Repeat("\xff", 10),
			"a:1:3:b\nb:0:2:c\na:0:3:a\nb:0:2:c\na:2:3:c\na:9:9:\n::\n", "0123abcd-4567-89ab-cdef-0123456789ab:0:1:x\nplain\n0123abcd", "Content-Length: 99999999999999999999\r\n\r\n",
		} {
			f.Add(uint8(i), uint8(i), uint64(i), []byte(wire))
		}
		// headers of too many lines, and of too many bytes
		f.Add(uint8(i), uint8(0), uint64(i), bytes.Repeat([]byte("A: b\r\n"), 65))
		f.Add(uint8(i), uint8(0), uint64(i), bytes.Repeat([]byte("A"), 9<<10))
		f.Add(uint8(i), uint8(4), uint64(i), bytes.Repeat([]byte("a:0:2:0123456789012345678901234567890123456789\n"), 9))
	}
	f.Fuzz(func(t *testing.T, which, flags uint8, seed uint64, wire []byte) {
		spec := fuzzed[int(which)%len(fuzzed)]
		// Under Close the error shows what had arrived of a declared message, which differs with
		// the cuts.
		_, declares := mustParse(t, spec).NewReader(nil).(framers.LengthReader)
		decodeAnyhow(t, spec, wire, seed, fuzzOptions(flags&1 != 0, flags&2 != 0, flags&4 != 0 || declares))
	})
}

// every is each framing that Parse knows, the sized ones with chunk bytes a frame.
func every(t testing.TB, chunk int) []framers.Framing {
	var all []framers.Framing
	for _, spec := range append(specs(fmt.Sprintf(":%d", chunk)), "raw", "raw:7") {
		all = append(all, mustParse(t, spec))
	}
	return all
}

// An idleReader gives what r has in random pieces, and now and then nothing.
type idleReader struct{ pieces.Reader }

func (r *idleReader) Read(b []byte) (int, error) {
	if r.Rand.IntN(3) == 0 {
		return 0, nil
	}
	return r.Reader.Read(b)
}

// FuzzRoundTrip sends messages directly or through a bufio.Writer, with a limit or none, and reads
// them cut anyhow: each arrives that the Writer takes, and it takes each that Carries says it does.
func FuzzRoundTrip(f *testing.F) {
	for i := range every(f, framers.MinChunk) {
		for _, msg := range []string{
			"", "x", " x ", "a\nb", "a\r", "0123abcd-4567-89ab-cdef-0123456789ab:0:1:x", "Content-Length: 2\r\n\r\n", "é€😀",
			strings.Repeat("=\nab", 200),
		} {
			for flags := range uint8(32) {
				f.Add(uint8(i), flags, uint16(len(msg)), uint64(i)+uint64(flags), []byte(msg), bytes.Repeat([]byte(msg), 30))
			}
		}
	}
	f.Fuzz(func(t *testing.T, which, flags uint8, limit uint16, seed uint64, first, second []byte) {
		rng := seeded(seed)
		chunk := framers.MinChunk + rng.IntN(100)
		if flags&8 != 0 {
			chunk = 20 << 10 // reads that end with a header
		}
		framings := every(t, chunk)
		framing := framings[int(which)%len(framings)]
		var opts []framers.Option
		if flags&1 != 0 {
			opts = append(opts, framers.WithVerbatim())
		}
		if flags&2 != 0 {
			opts = append(opts, framers.WithMaxMessage(int(limit)))
		}
		if flags&16 != 0 {
			opts = append(opts, framers.WithWriteSize(1+rng.IntN(10_000)))
		}
		msgs := [][]byte{first, second, first}
		wire, want := encodeWhatPasses(t, framing, msgs, opts, flags&4 != 0)
		var src io.Reader = &idleReader{pieces.Reader{
			R: bytes.NewReader(wire), Rand: rng, Most: 1 + rng.IntN(300),
		}}
		if rng.IntN(3) == 0 && bytes.HasSuffix(wire, []byte{'\n'}) {
			src = &frameReader{wire}
		}
		got, err := decode(framing.NewReader(src, append(opts, framers.WithReadBuffer(16+rng.IntN(500)))...))
		if err != io.EOF {
			t.Fatalf("%s: after %d messages: %v", framing, len(got), err)
		}
		if framing.String() == "raw" { // has no messages
			got, want = [][]byte{bytes.Join(got, nil)}, [][]byte{bytes.Join(want, nil)}
		}
		wantMessages(t, got, want)
	})
}

// encodeWhatPasses returns the wire form of the messages that the Writer takes, and those. It fails
// the test if Carries says otherwise, or if a message that is refused leaves bytes behind.
func encodeWhatPasses(
	t *testing.T, f framers.Framing, msgs [][]byte, opts []framers.Option, buffered bool,
) (_ []byte, passed [][]byte) {
	var wire bytes.Buffer
	c := bufio.NewWriterSize(&wire, 100)
	w := f.NewWriter(&wire, opts...)
	if buffered {
		w = f.NewWriter(c, opts...)
	}
	for _, msg := range msgs {
		before := wire.Len() + c.Buffered()
		err := w.WriteMessage(msg)
		if (err == nil) != (framers.Carries(f, msg, opts...) == nil) {
			t.Fatalf("%s: the Writer says %v, Carries otherwise", f, err)
		}
		if err == nil {
			passed = append(passed, msg)
		} else if wire.Len()+c.Buffered() != before {
			t.Fatalf("%s: a message was refused (%v) after bytes of it were written", f, err)
		}
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	return wire.Bytes(), passed
}

// FuzzMemory feeds any beginning and then a flood of one byte: what a Reader allocates stays
// bounded.
func FuzzMemory(f *testing.F) {
	for i := range fuzzed {
		for _, wire := range []string{
			"", "Content-Length: 2000000000\r\n\r\n", strings.Repeat("\xff", 10),
			"a:0:2147483647:", "a:2147483646:2147483647:x\na:5:2147483647:", "x:0:1:y",
		} {
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
