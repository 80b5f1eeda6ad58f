package framers_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/pipebench/pipebench/framers"
)

// pageAligned returns msg at the start of a page of memory, or at an offset in one.
func pageAligned(msg []byte, offset int) []byte {
	b := make([]byte, len(msg)+2*4096)
	begin := uintptr(unsafe.Pointer(unsafe.SliceData(b))) % 4096
	b = b[(4096-int(begin))%4096+offset:]
	return b[:copy(b, msg)]
}

// A callLog keeps how many bytes each call handed over, and all of them.
type callLog struct {
	sizes []int
	wire  bytes.Buffer
}

func (c *callLog) Write(b []byte) (int, error) {
	c.sizes = append(c.sizes, len(b))
	return c.wire.Write(b)
}

// A gatherLog is a callLog that takes gather lists.
type gatherLog struct{ callLog }

func (g *gatherLog) Writev(bufs [][]byte) (int64, error) {
	n, err := g.Write(bytes.Join(bufs, nil))
	return int64(n), err
}

var writeSizes = []int{1, 63, 1000, 4096, 8192, 10_000, 64 << 10, 1 << 20}

// No call hands over more than the write size, but a frame of up to 4096 bytes, which is one call.
// What arrives is the same.
func TestWriteSize(t *testing.T) {
	t.Parallel()
	sizes := []int{1, 1000, 4000, 4095, 4096, 4097, 16_384, 70_000}
	if testing.Short() {
		sizes = []int{1, 4096, 4097, 16_384}
	}
	for _, spec := range append([]string{"raw"}, suite...) {
		f := mustParse(t, spec)
		for _, n := range sizes {
			want := encode(t, f, [][]byte{message(n)}, framers.WithIDs(fixedID))
			for _, offset := range []int{0, 16, 4090} {
				msg := pageAligned(message(n), offset)
				for _, writeSize := range writeSizes {
					name := fmt.Sprintf("%s, %d bytes at %d in writes of %d", spec, n, offset, writeSize)
					var plain callLog
					var gathered gatherLog
					checkCalls(t, name+", plain", f, &plain, &plain, msg, want, writeSize)
					checkCalls(t, name+", gathered", f, &gathered, &gathered.callLog, msg, want, writeSize)
				}
			}
		}
	}
}

func fixedID() [16]byte { return [16]byte{1, 2, 3} }

func checkCalls(t *testing.T, name string, f framers.Framing, dst io.Writer, calls *callLog,
	msg, want []byte, writeSize int) {
	t.Helper()
	w := f.NewWriter(dst, framers.WithWriteSize(writeSize), framers.WithIDs(fixedID))
	if err := w.WriteMessage(msg); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if !bytes.Equal(calls.wire.Bytes(), want) {
		t.Fatalf("%s: other bytes on the wire", name)
	}
	if _, splits := f.(framers.Chunker); !splits && len(want) <= 4096 && len(calls.sizes) != 1 {
		t.Errorf("%s: a frame of %d bytes in %d calls", name, len(want), len(calls.sizes))
	}
	for _, n := range calls.sizes {
		if n > max(writeSize, 4096) {
			t.Errorf("%s: a call of %d bytes", name, n)
		}
	}
}

// A frame of a chunked message that fits 4096 bytes is one call, too.
func TestWriteSizeLeavesSmallChunksWhole(t *testing.T) {
	f := mustParse(t, "chunked:4096")
	for _, writeSize := range []int{1, 1000, 4096, 8192, 10_000} {
		for _, dst := range []io.Writer{&recorder{}, &gatherRecorder{}} {
			w := f.NewWriter(dst, framers.WithWriteSize(writeSize))
			if err := w.WriteMessage(message(20_000)); err != nil {
				t.Fatal(err)
			}
			for i, call := range callsOf(dst) {
				if !strings.HasSuffix(call, "\n") {
					t.Errorf("%T, writes of %d: call %d ends inside a frame", dst, writeSize, i)
				}
			}
		}
	}
}

// A gatherRecorder keeps what each call wrote, gathered or not.
type gatherRecorder struct{ recorder }

func (g *gatherRecorder) Writev(bufs [][]byte) (int64, error) {
	n, err := g.Write(bytes.Join(bufs, nil))
	return int64(n), err
}

func callsOf(w io.Writer) []string {
	switch w := w.(type) {
	case *recorder:
		return w.calls
	case *gatherRecorder:
		return w.calls
	}
	return nil
}

// A write size of zero or less means whole frames.
func TestWriteSizeOfNothing(t *testing.T) {
	for _, writeSize := range []int{0, -1} {
		rec := &recorder{}
		w := framers.NDJSON().NewWriter(rec, framers.WithWriteSize(writeSize))
		if err := w.WriteMessage(message(300_000)); err != nil || len(rec.calls) != 1 {
			t.Errorf("a write size of %d: %d calls, %v", writeSize, len(rec.calls), err)
		}
	}
}

// An *os.File gets the same bytes in any write size.
func TestWriteSizeOfAFile(t *testing.T) {
	t.Parallel()
	sizes := append([]int{0}, writeSizes...)
	if testing.Short() {
		sizes = []int{0, 1000, 64 << 10}
	}
	for _, spec := range append([]string{"raw"}, suite...) {
		f := mustParse(t, spec)
		for _, writeSize := range sizes {
			file, err := os.Create(t.TempDir() + "/out")
			if err != nil {
				t.Fatal(err)
			}
			w := f.NewWriter(file, framers.WithWriteSize(writeSize), framers.WithIDs(fixedID))
			var want bytes.Buffer
			expected := f.NewWriter(&want, framers.WithIDs(fixedID))
			for _, n := range []int{1, 4096, 65_000, 140_000} {
				msg := message(n)
				if err := w.WriteMessage(msg); err != nil {
					t.Fatal(err)
				}
				if err := expected.WriteMessage(msg); err != nil {
					t.Fatal(err)
				}
			}
			got, err := os.ReadFile(file.Name())
			file.Close()
			if err != nil || !bytes.Equal(got, want.Bytes()) {
				t.Errorf("%s in writes of %d: other bytes, %v", spec, writeSize, err)
			}
		}
	}
}

// A failure in a later piece breaks the stream; one of the first piece does not, if it took nothing.
func TestWriteSizeFailsHalfWay(t *testing.T) {
	for _, spec := range suite {
		if strings.Contains(spec, ":") {
			continue // frames of these sizes are never cut
		}
		f := mustParse(t, spec)
		for _, good := range []int{0, 1, 3} {
			dst := &failsAfter{good: good}
			w := f.NewWriter(dst, framers.WithWriteSize(5000))
			if err := w.WriteMessage(message(60_000)); err == nil {
				t.Fatalf("%s: no error", spec)
			}
			dst.good = 1000
			err := w.WriteMessage(message(10))
			if (err != nil) != (good > 0) {
				t.Errorf("%s after %d pieces: %v", spec, good, err)
			}
		}
	}
}

// A failsAfter takes some writes whole, and none after that.
type failsAfter struct{ good int }

func (f *failsAfter) Write(b []byte) (int, error) {
	if f.good == 0 {
		return 0, io.ErrClosedPipe
	}
	f.good--
	return len(b), nil
}

// Nothing comes between the pieces of a frame that a Mux sends.
func TestMuxKeepsPiecesTogether(t *testing.T) {
	for _, spec := range []string{"ndjson", "content-length", "chunked:10000"} {
		f := mustParse(t, spec)
		var wire bytes.Buffer
		m := framers.NewMux(&wire, f, framers.WithWriteSize(4096))
		errs := make(chan error)
		const senders = 8
		for range senders {
			go func() { errs <- m.Send(context.Background(), 0, message(50_000)) }()
		}
		for range senders {
			if err := <-errs; err != nil {
				t.Fatal(err)
			}
		}
		got, err := decode(f.NewReader(&wire))
		if err != io.EOF || len(got) != senders {
			t.Fatalf("%s: %d messages, %v", spec, len(got), err)
		}
		for _, msg := range got {
			if !bytes.Equal(msg, message(50_000)) {
				t.Errorf("%s: a message that another one interrupted", spec)
			}
		}
	}
}

// A header that would put the payload where the copy is slow goes in a call of its own, if the
// payload is large.
func TestHeaderApart(t *testing.T) {
	header := map[string]int{"content-length": 25, "length-prefix": 4, "chunked:1MiB": 41}
	for spec, size := range header {
		f := mustParse(t, spec)
		for _, n := range []int{1000, 16_000, 30_000, 65_000} {
			for _, offset := range []int{0, 3, 16, 24, 25, 41, 100, 4000} {
				rec := &gatherLog{}
				w := f.NewWriter(rec, framers.WithMaxMessage(-1))
				if err := w.WriteMessage(pageAligned(message(n), offset)); err != nil {
					t.Fatal(err)
				}
				distance := size - offset
				want := 1
				if n > 20_000 && distance >= 1 && distance <= 31 {
					want = 2
				}
				if len(rec.sizes) != want || want == 2 && rec.sizes[0] != size {
					t.Errorf("%s, %d bytes at %d: calls of %v bytes", spec, n, offset, rec.sizes)
				}
			}
		}
	}
}

// An offsetReader notes where in a page each read begins.
type offsetReader struct {
	r     io.Reader
	first []int
}

func (o *offsetReader) Read(b []byte) (int, error) {
	at := int(uintptr(unsafe.Pointer(unsafe.SliceData(b))) % 4096)
	o.first = append(o.first, at)
	return o.r.Read(b)
}

// A read that keeps nothing begins at the offset asked for, also after the buffer has grown and
// after it was given back.
func TestReadOffset(t *testing.T) {
	t.Parallel()
	var msgs [][]byte
	for _, n := range []int{10, 65_536, 1 << 20, 4097} {
		msgs = append(msgs, message(n))
	}
	if testing.Short() {
		msgs = msgs[:2]
	}
	for range 70 {
		msgs = append(msgs, message(100))
	}
	for _, spec := range append([]string{"raw"}, suite...) {
		f := mustParse(t, spec)
		var wires [][]byte // each message alone, so that nothing is kept behind it
		for _, msg := range msgs {
			wires = append(wires, encode(t, f, [][]byte{msg}))
		}
		for _, c := range []struct{ given, want int }{
			{-1, framers.DefaultReadOffset}, {0, 0}, {1, 1}, {4095, 4095}, {4096 + 7, 7}, {-4, 4092},
		} {
			opts := []framers.Option{framers.WithReadBuffer(4096)}
			if c.given != -1 {
				opts = append(opts, framers.WithReadOffset(c.given))
			}
			for i, wire := range wires {
				in := &offsetReader{r: bytes.NewReader(nil)}
				r := f.NewReader(in, opts...)
				for range 3 {
					in.r = bytes.NewReader(wire)
					in.first = nil
					if _, err := r.ReadMessage(); err != nil {
						break
					}
				}
				if len(in.first) == 0 || in.first[0] != c.want {
					t.Fatalf("%s, %d bytes, offset %d: reads begin at %v",
						spec, len(msgs[i]), c.given, in.first)
				}
			}
		}
	}
}
