package framers_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/framers/internal/pieces"
)

// A promptReader gives its pieces, and fails the test if it is asked for more than it has.
type promptReader struct {
	t    testing.TB
	left [][]byte
}

func (p *promptReader) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		p.t.Error("read on although the message had arrived")
		return 0, io.ErrClosedPipe
	}
	n := copy(b, p.left[0])
	if p.left[0] = p.left[0][n:]; len(p.left[0]) == 0 {
		p.left = p.left[1:]
	}
	return n, nil
}

// A stream that ends at any offset gives the messages before it, then the right end.
func TestEndAtEveryOffset(t *testing.T) {
	for _, spec := range suite {
		f := mustParse(t, spec)
		msgs := [][]byte{message(70), message(130)}
		wire := encode(t, f, msgs)
		first := len(encode(t, f, msgs[:1]))
		for end := range len(wire) + 1 {
			for _, cut := range cuts[:2] {
				r := f.NewReader(cut.Cut(bytes.NewReader(wire[:end])))
				got, err := decode(r)
				var missing *framers.ChunkError
				if errors.As(err, &missing) {
					atFrame := wire[end-1] == '\n'
					_, after := r.ReadMessage()
					if !errors.Is(err, framers.ErrMissing) || !atFrame || missing.Received < 1 || after != io.EOF {
						t.Fatalf("%s ends at %d: %v, then %v", spec, end, err, after)
					}
					continue
				}
				wantErr := io.ErrUnexpectedEOF
				if end == 0 || end == first || end == len(wire) || strings.HasPrefix(spec, "ndjson") || err == io.EOF && bareAt(spec, wire[:end]) {
					wantErr = io.EOF
				}
				if err != wantErr {
					t.Fatalf("%s ends at %d of %d: %v, want %v", spec, end, len(wire), err, wantErr)
				}
				if end >= first && !bytes.Equal(got[0], msgs[0]) {
					t.Fatalf("%s ends at %d: the first message is %q", spec, end, got[0])
				}
			}
		}
	}
}

// bareAt reports whether a stream of the adaptive framing ends inside what may be a bare line,
// which then is a message.
func bareAt(spec string, wire []byte) bool {
	last := wire[bytes.LastIndexByte(wire, '\n')+1:]
	return strings.HasPrefix(spec, "adaptive") && (spec != "adaptive:64" || len(last) <= 8)
}

var errLater = errors.New("not now")

// A faltering reader fails before every read that succeeds, as one with deadlines may.
type faltering struct {
	r   io.Reader
	odd bool
}

func (f *faltering) Read(b []byte) (int, error) {
	if f.odd = !f.odd; f.odd {
		return 0, errLater
	}
	return f.r.Read(b)
}

// A Resync that is interrupted goes on where it was.
func TestReadErrorDuringResync(t *testing.T) {
	for _, spec := range suite {
		f := mustParse(t, spec)
		wire := encode(t, f, [][]byte{message(5000), message(3)})
		stream := &pieces.Reader{R: bytes.NewReader(wire), Rand: seeded(3), Most: 50}
		r := f.NewReader(&faltering{r: stream},
			framers.WithMaxMessage(1000), framers.WithPolicy(framers.Resync), framers.WithReadBuffer(64))
		var events []string
		for {
			msg, err := r.ReadMessage()
			if err == io.EOF {
				break
			}
			if !errors.Is(err, errLater) {
				events = append(events, fmt.Sprintf("%q %T", msg, err))
			}
		}
		want := []string{`"" *framers.TooLargeError`, fmt.Sprintf("%q <nil>", message(3))}
		if !slices.Equal(events, want) {
			t.Errorf("%s: got %s", spec, events)
		}
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

type liar struct{}

func (liar) Read(b []byte) (int, error) { return len(b) + 1, nil }

func TestBrokenReaders(t *testing.T) {
	for _, spec := range []string{"raw", "raw:5", "ndjson", "content-length", "chunked", "adaptive", "length-prefix"} {
		if _, err := mustParse(t, spec).NewReader(stuck{}).ReadMessage(); err != io.ErrNoProgress {
			t.Errorf("%s, a reader that gives nothing: %v", spec, err)
		}
		if _, err := mustParse(t, spec).NewReader(liar{}).ReadMessage(); err == nil || !strings.Contains(err.Error(), "impossible count") {
			t.Errorf("%s, a reader that gives more than it can: %v", spec, err)
		}
	}
}

func TestRaw(t *testing.T) {
	f := mustParse(t, "raw:3")
	if err := f.NewWriter(io.Discard).WriteMessage([]byte("ab")); !errors.Is(err, framers.ErrLength) {
		t.Errorf("a message of another size: %v", err)
	}
	if err := f.NewWriter(io.Discard).WriteMessage(nil); !errors.Is(err, framers.ErrEmpty) {
		t.Errorf("an empty message: %v", err)
	}
	for _, cut := range cuts {
		got := transcript(f.NewReader(cut.Cut(strings.NewReader("abc\ndeXY"))))
		if want := []string{`"abc"`, `"\nde"`, "unexpected EOF"}; !slices.Equal(got, want) {
			t.Errorf("%s: got %s, want %s", cut.Name, got, want)
		}
	}
	if _, err := f.NewReader(strings.NewReader("abc"), framers.WithMaxMessage(2)).ReadMessage(); err == nil {
		t.Error("a size beyond the limit")
	}
	skipping := f.NewReader(strings.NewReader("abcdef"), framers.WithMaxMessage(2), framers.WithPolicy(framers.Resync))
	for range 2 {
		if _, err := skipping.ReadMessage(); !errors.As(err, new(*framers.TooLargeError)) {
			t.Errorf("a size beyond the limit, to be skipped: %v", err)
		}
	}
	if _, err := skipping.ReadMessage(); err != io.EOF {
		t.Errorf("behind messages that were skipped: %v", err)
	}
	stream := mustParse(t, "raw").NewReader(&promptReader{t: t, left: [][]byte{[]byte("ab"), []byte("c")}})
	for _, want := range []string{"ab", "c"} {
		if got, err := stream.ReadMessage(); err != nil || string(got) != want {
			t.Errorf("raw without a size: got %q, %v, want %q", got, err, want)
		}
	}
}

// heapAfter returns the bytes of heap in use, after a collection.
func heapAfter() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What is declared costs nothing until it comes.
func TestDeclaredSizeCostsNothing(t *testing.T) {
	for _, wire := range []string{"Content-Length: 2000000000\r\n\r\nab"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := framers.ContentLength().NewReader(strings.NewReader(wire), framers.WithMaxMessage(-1), framers.WithReadBuffer(4096))
		if _, err := r.ReadMessage(); err != io.ErrUnexpectedEOF {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 64<<10 {
			t.Errorf("allocated %d bytes for a declaration", got)
		}
	}
}

// peakReader looks at the heap whenever it is read.
type peakReader struct {
	r    io.Reader
	peak int64
	turn int
}

func (p *peakReader) Read(b []byte) (int, error) {
	if p.turn++; p.turn%32 == 0 {
		p.peak = max(p.peak, heapAfter())
	}
	return p.r.Read(b[:min(len(b), 32<<10)])
}

// endless is a stream of one byte.
type endless byte

func (e endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(e)
	}
	return len(b), nil
}

// Whatever comes, a Reader holds no more than 1.5 × the limit and one read. The stream never ends
// its message.
func TestMemoryIsBounded(t *testing.T) {
	const limit, buffer = 4 << 20, 256 << 10
	for _, c := range []struct{ spec, prefix string }{
		{"ndjson", ""},
		{"adaptive", ""},
		{"content-length", "Content-Length: 4194304\r\n\r\n"},
		{"length-prefix", "\x00\x40\x00\x00"},
		{"chunked", "a:0:2:"},
		{"chunked", "a:0:1:"},
	} {
		before := heapAfter()
		p := &peakReader{r: io.MultiReader(strings.NewReader(c.prefix), io.LimitReader(endless('x'), limit+1))}
		r := mustParse(t, c.spec).NewReader(p, framers.WithMaxMessage(limit))
		r.ReadMessage()
		if got := p.peak - before; got > limit*3/2+buffer {
			t.Errorf("%s: held %d bytes for a limit of %d", c.spec, got, limit)
		}
		runtime.KeepAlive(r)
	}
}

// A message beyond the limit is skipped without being held.
func TestResyncHoldsNothing(t *testing.T) {
	const huge = 24 << 20
	for _, c := range []struct{ spec, prefix, suffix string }{
		{"ndjson", "", "\nend\n"},
		{"content-length", fmt.Sprintf("Content-Length: %d\r\n\r\n", huge), "Content-Length: 3\r\n\r\nend"},
		{"length-prefix", "\x01\x80\x00\x00", "\x00\x00\x00\x03end"},
		{"chunked", "a:0:1:", "\nb:0:1:end\n"},
		{"chunked", "a:1:2:", "\na:0:2:xx\nb:0:1:end\n"},
		{"adaptive", "", "\nend\n"},
	} {
		before := heapAfter()
		p := &peakReader{r: io.MultiReader(strings.NewReader(c.prefix), io.LimitReader(endless('x'), huge), strings.NewReader(c.suffix))}
		r := mustParse(t, c.spec).NewReader(p, framers.WithMaxMessage(1<<20), framers.WithPolicy(framers.Resync))
		var large *framers.TooLargeError
		if _, err := r.ReadMessage(); !errors.As(err, &large) {
			t.Fatalf("%s: %v", c.spec, err)
		}
		if msg, err := r.ReadMessage(); err != nil || string(msg) != "end" {
			t.Errorf("%s: %q, %v", c.spec, msg, err)
		}
		if got := p.peak - before; got > 2<<20 {
			t.Errorf("%s: held %d bytes", c.spec, got)
		}
	}
}

// After 32 messages that a quarter of the buffer would have held, a grown buffer is given back.
func TestBufferIsGivenBack(t *testing.T) {
	for _, spec := range []string{"ndjson", "content-length", "length-prefix", "chunked"} {
		f := mustParse(t, spec)
		msgs := [][]byte{message(8 << 20)}
		for range 40 {
			msgs = append(msgs, message(40_000))
		}
		wire := encode(t, f, msgs)
		before := heapAfter()
		r := f.NewReader(bytes.NewReader(wire))
		for i := range msgs {
			if _, err := r.ReadMessage(); err != nil {
				t.Fatal(err)
			}
			if i == 10 && heapAfter()-before < 8<<20 {
				t.Errorf("%s: given back after %d messages", spec, i)
			}
		}
		if got := heapAfter() - before; got > 1<<20 {
			t.Errorf("%s: holds %d bytes after the last", spec, got)
		}
		runtime.KeepAlive(r)
		runtime.KeepAlive(wire)
	}
}

// So is the buffer of a large message that was interrupted; and at once where a message comes that
// is as large and is not, so that there are never two.
func TestTheBufferOfAnInterruptedMessageIsGivenBack(t *testing.T) {
	const large = 8 << 20
	small := []byte("c:0:1:small\n")
	apart := []byte("c:0:2:sm\nd:0:1:between\nc:1:2:all\n")
	for _, row := range []struct {
		name         string
		then         []byte // behind a large message
		messages     int    // in it
		holds, below int    // bytes that the reader has after it
	}{
		{"soon after", bytes.Repeat(small, 10), 10, large, large * 3 / 2},
		{"after small ones", bytes.Repeat(small, 40), 40, 0, large / 2},
		{"after small ones that were interrupted", bytes.Repeat(apart, 20), 40, 0, large / 2},
		{"after a large one that was not", slices.Concat([]byte("e:0:1:"), message(large), []byte("\n")), 1, large, large * 3 / 2},
	} {
		wire := slices.Concat(interrupted(large), row.then)
		before := heapAfter()
		r := mustParse(t, "chunked").NewReader(bytes.NewReader(wire), framers.WithMaxMessage(large))
		for range 2 + row.messages {
			if _, err := r.ReadMessage(); err != nil {
				t.Fatalf("%s: %v", row.name, err)
			}
		}
		if got := heapAfter() - before; int(got) < row.holds || int(got) > row.below {
			t.Errorf("%s: holds %d bytes", row.name, got)
		}
		runtime.KeepAlive(r)
		runtime.KeepAlive(wire)
	}
}

// A Reader over a real pipe asks no more often than the pipe makes it.
func TestReadsAreBig(t *testing.T) {
	const n = 1 << 20
	for _, spec := range []string{"ndjson", "content-length", "length-prefix", "chunked", "adaptive"} {
		f := mustParse(t, spec)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		go func() { failed <- f.NewWriter(w).WriteMessage(message(n)) }()
		counted := &countReader{r: r}
		msg, err := f.NewReader(counted).ReadMessage()
		if err != nil || len(msg) != n {
			t.Fatalf("%s: %d bytes, %v", spec, len(msg), err)
		}
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
		r.Close()
		w.Close()
		if counted.smallest < 4096 && spec != "chunked" && spec != "adaptive" {
			t.Errorf("%s: asked for %d bytes", spec, counted.smallest)
		}
	}
}

type countReader struct {
	r        io.Reader
	smallest int
}

func (c *countReader) Read(b []byte) (int, error) {
	if c.smallest == 0 || len(b) < c.smallest {
		c.smallest = len(b)
	}
	return c.r.Read(b)
}

// A frameReader gives one frame a read, as a peer does that is no faster than the reader.
type frameReader struct{ wire []byte }

func (r *frameReader) Read(b []byte) (int, error) {
	if len(r.wire) == 0 {
		return 0, io.EOF
	}
	n := copy(b, r.wire[:bytes.IndexByte(r.wire, '\n')+1])
	r.wire = r.wire[n:]
	return n, nil
}

// The headers of a message of many frames take no room beside it, however the frames come: a
// message of the limit passes.
func TestFramesThatComeAlone(t *testing.T) {
	for _, spec := range []string{"chunked:64", "chunked:100", "adaptive:64", "chunked+zstd:64", "chunked:4096"} {
		for _, size := range []int{1000, 5000, 100_000, 1 << 20} {
			f := mustParse(t, spec)
			want := [][]byte{message(size), message(size), message(3)}
			wire := encode(t, f, want)
			opts := []framers.Option{framers.WithMaxMessage(size), framers.WithReadBuffer(256)}
			got, err := decode(f.NewReader(&frameReader{wire}, opts...))
			if err != io.EOF {
				t.Errorf("%s, %d bytes: after %d messages: %v", spec, size, len(got), err)
				continue
			}
			wantMessages(t, got, want)
		}
	}
}

// Large messages come to the same memory, one after another, as it is in the cache then: if each
// began behind the last, twice as much would be in use.
func TestLargeMessagesShareTheirMemory(t *testing.T) {
	for _, spec := range []string{"ndjson", "length-prefix", "content-length"} {
		f := mustParse(t, spec)
		// The buffer grows to 64 KiB, since no half of it holds a message and room for a read.
		wire := encode(t, f, slices.Repeat([][]byte{message(32_000)}, 24))
		src := &pieces.Reader{R: bytes.NewReader(wire), Rand: seeded(1), Most: 4096}
		r := f.NewReader(src, framers.WithReadBuffer(4096))
		var starts []uintptr
		for range 24 {
			msg, err := r.ReadMessage()
			if err != nil {
				t.Fatal(err)
			}
			starts = append(starts, uintptr(unsafe.Pointer(unsafe.SliceData(msg))))
		}
		settled := starts[16:] // the buffer grows before
		if apart := slices.Max(settled) - slices.Min(settled); apart > 8192 {
			t.Errorf("%s: messages begin up to %d bytes apart", spec, apart)
		}
	}
}

// A form whose length overflows must not make the Reader panic.
func TestANegativeLengthEndsTheStream(t *testing.T) {
	r := framers.NewDeclaredReader(strings.NewReader("abc"), -1)
	_, err := r.ReadMessage()
	if err == nil || !strings.Contains(err.Error(), "declares -1 bytes") {
		t.Fatal(err)
	}
	if _, again := r.ReadMessage(); again != err {
		t.Errorf("after %v: %v", err, again)
	}
}
