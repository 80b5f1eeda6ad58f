package framers_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/framers/internal/pieces"
)

// collect tells what Messages yields.
func collect(r framers.Reader) (got []string) {
	for msg, err := range framers.Messages(r) {
		var chunk *framers.ChunkError
		var header *framers.HeaderError
		var large *framers.TooLargeError
		switch {
		case err == nil:
			got = append(got, string(msg))
		case errors.As(err, &chunk):
			got = append(got, "chunk error")
		case errors.As(err, &header):
			got = append(got, "header error")
		case errors.As(err, &large):
			got = append(got, "too large")
		default:
			got = append(got, err.Error())
		}
	}
	return got
}

func TestMessages(t *testing.T) {
	resync := framers.WithPolicy(framers.Resync)
	closes := framers.WithPolicy(framers.Close)
	for _, c := range []struct {
		spec, wire string
		policy     framers.Option
		want       []string
	}{
		{"ndjson", "a\nb\n", closes, []string{"a", "b"}},
		{"ndjson", "", closes, nil},
		{"ndjson", "a\n123456\nb\n", closes, []string{"a", "too large"}},
		{"ndjson", "a\n123456\n123456\nb\n", resync, []string{"a", "too large", "too large", "b"}},
		{"chunked", "x\ny\na:0:1:a\n", closes, []string{"chunk error", "chunk error", "a"}},
		{"content-length", header("a") + "no\n" + header("b"), closes, []string{"a", "header error", "b"}},
		{"length-prefix", prefix("a") + "\x00", closes, []string{"a", "unexpected EOF"}},
	} {
		f := mustParse(t, c.spec)
		got := collect(f.NewReader(strings.NewReader(c.wire), framers.WithMaxMessage(5), c.policy))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %q: got %q, want %q", c.spec, c.wire, got, c.want)
		}
	}
}

// An error of the stream ends the loop, and a new loop goes on where it was.
func TestMessagesGoOnInAnotherLoop(t *testing.T) {
	src := &pausing{left: []string{"a\nb", "", "c\n"}}
	r := framers.NDJSON().NewReader(src)
	if got, want := collect(r), []string{"a", errLater.Error()}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := collect(r), []string{"bc"}; !slices.Equal(got, want) {
		t.Errorf("then %q, want %q", got, want)
	}
}

func TestMessagesStop(t *testing.T) {
	r := framers.NDJSON().NewReader(strings.NewReader("a\nb\n"))
	for range framers.Messages(r) {
		break
	}
	if got, want := collect(r), []string{"b"}; !slices.Equal(got, want) {
		t.Errorf("after the first: %q, want %q", got, want)
	}
}

func TestReset(t *testing.T) {
	wire := "a:0:2:1\nb:1:3:5\nc:0:1:x\nd:0:2:3\ne:0:1:y\nd:1:2:4\nf:0:1:z\n"
	r := chunkedReader(t, "chunked", wire)
	if msg, err := r.ReadMessage(); err != nil || string(msg) != "x" {
		t.Fatalf("%q, %v", msg, err)
	}
	if n := r.(framers.Resetter).Reset(); n != 2 {
		t.Errorf("dropped %d, want 2", n)
	}
	if n, bytes := r.InFlight(); n != 0 || bytes != 0 {
		t.Errorf("in flight after Reset: %d messages, %d bytes", n, bytes)
	}
	if got, want := outcomes(r), []string{"y", "34", "z", "EOF"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A Reset in the middle of a frame drops the message that the frame is of, and nothing else.
func TestResetInsideAFrame(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		dropped             int
		want                []string
	}{
		{"of a run", "a:0:3:1\na:1:3:2", "3\nb:0:1:y\n", 1, []string{"y", "EOF"}},
		{"of the first", "a:0:3:1", "3\nb:0:1:y\n", 1, []string{"y", "EOF"}},
		{"of an interrupted message", "a:0:3:1\nc:1:2:x\na:1:3:2", "3\nb:0:1:y\n", 2,
			[]string{"y", "EOF"}},
		{"of a single one", "a:0:3:1\nc:0:1:x", "z\nb:0:1:y\n", 1, []string{"xz", "y", "EOF"}},
		{"in a header", "a:0:3:1\nc:0:", "1:xz\nb:0:1:y\n", 1, []string{"xz", "y", "EOF"}},
		{"in a bare line", "a:0:3:1\nlog", "ged\nb:0:1:y\n", 1, []string{"malformed", "y", "EOF"}},
		{"of nothing", "", "b:0:1:y\n", 0, []string{"y", "EOF"}},
	} {
		src := &pausing{left: []string{c.before, "", c.after}}
		r := mustParse(t, "chunked").NewReader(src).(framers.Resetter)
		if c.before != "" {
			if _, err := r.ReadMessage(); !errors.Is(err, errLater) {
				t.Fatalf("%s: %v", c.name, err)
			}
		} else {
			src.left = src.left[2:]
		}
		if n := r.Reset(); n != c.dropped {
			t.Errorf("%s: dropped %d, want %d", c.name, n, c.dropped)
		}
		if got := outcomes(r); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// A message beyond the limit that is being skipped is no longer told of after a Reset.
func TestResetWhileSkipping(t *testing.T) {
	src := &pausing{left: []string{"a:0:2:123456", "", "78\nb:0:1:y\n"}}
	r := mustParse(t, "chunked").NewReader(src, framers.WithMaxMessage(5),
		framers.WithPolicy(framers.Resync)).(framers.Resetter)
	if _, err := r.ReadMessage(); !errors.As(err, new(*framers.TooLargeError)) {
		t.Fatal(err)
	}
	if n := r.Reset(); n != 0 {
		t.Errorf("dropped %d, which had been given up before", n)
	}
	want := []string{"not now", "y", "EOF"}
	if got := transcriptOf(r); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func transcriptOf(r framers.Reader) (got []string) {
	for range 10 {
		msg, err := r.ReadMessage()
		if err == nil {
			got = append(got, string(msg))
			continue
		}
		got = append(got, err.Error())
		if err == io.EOF {
			break
		}
	}
	return got
}

// What large messages took is given back by a Reset, not only after many small ones.
func TestResetGivesMemoryBack(t *testing.T) {
	const large = 8 << 20
	for name, wire := range map[string][]byte{
		"whole":       slices.Concat([]byte("a:0:1:"), message(large), []byte("\nb:0:1:x\n")),
		"interrupted": interrupted(large),
		"incomplete":  slices.Concat([]byte("a:0:2:"), message(large), []byte("\nb:0:1:x\n")),
	} {
		before := heapAfter()
		r := mustParse(t, "chunked").NewReader(bytes.NewReader(wire)).(framers.Resetter)
		for {
			if _, err := r.ReadMessage(); err != nil {
				break
			}
		}
		r.Reset()
		if got := heapAfter() - before; got > 1<<20 {
			t.Errorf("%s: %d bytes are held after a Reset", name, got)
		}
		runtime.KeepAlive(r)
		runtime.KeepAlive(wire)
	}
}

func TestProcessFrame(t *testing.T) {
	for _, spec := range []string{"chunked:64", "chunked:4096", "adaptive:64", "chunked+zstd:64"} {
		f := mustParse(t, spec).(framers.Chunker)
		a := framers.NewAssembler(f)
		for _, n := range []int{0, 1, 63, 64, 1000, 300_000} {
			for _, newline := range []string{"", "\n"} {
				var got []byte
				whole := 0
				for pieces := range f.Frames(message(n)) {
					frame := bytes.TrimSuffix(bytes.Join(pieces, nil), []byte("\n"))
					msg, done, err := a.ProcessFrame(append(frame, newline...))
					if err != nil {
						t.Fatalf("%s, %d bytes: %v", spec, n, err)
					}
					if done {
						whole++
						got = bytes.Clone(msg)
					}
				}
				if whole != 1 || !bytes.Equal(got, message(n)) {
					t.Errorf("%s, %d bytes: %d messages, %d bytes", spec, n, whole, len(got))
				}
			}
		}
	}
}

func TestProcessFrameThatIsNone(t *testing.T) {
	f, _ := framers.Chunked(0)
	a := framers.NewAssembler(f)
	for _, c := range []struct {
		frame string
		want  error
	}{
		{"a:0:2:1", nil},
		{"a:0:2:1", framers.ErrDuplicate},
		{"", nil}, // a blank line
		{"garbage", framers.ErrMalformed},
		{"a:0:1:x\nb:0:1:y\n", framers.ErrSeveralFrames},
	} {
		_, whole, err := a.ProcessFrame([]byte(c.frame))
		if whole || !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%q: %v, %v, want %v", c.frame, whole, err, c.want)
		}
	}
	msg, whole, err := a.ProcessFrame([]byte("a:1:2:2"))
	if string(msg) != "12" || !whole || err != nil {
		t.Errorf("the rest of the message: %q, %v, %v", msg, whole, err)
	}
	if _, _, err := a.ProcessFrame([]byte("b:0:2:1")); err != nil {
		t.Error(err)
	}
	if n := a.Reset(); n != 1 {
		t.Errorf("Reset dropped %d messages", n)
	}
}

func TestLinesOverEveryFraming(t *testing.T) {
	for _, spec := range suite {
		f := mustParse(t, spec)
		var wire, written bytes.Buffer
		want := []string{`{"id":1}`, "x", strings.Repeat("y", 100_000)}
		_, w := framers.Lines(f, nil, &wire)
		text := " " + strings.Join(want, "\r\n\n") + "\n"
		for _, piece := range []string{text[:3], text[3:11], text[11:]} {
			if n, err := io.WriteString(w, piece); n != len(piece) || err != nil {
				t.Fatalf("%s: wrote %d, %v", spec, n, err)
			}
		}
		for _, c := range cuts {
			r, _ := framers.Lines(f, c.Cut(bytes.NewReader(wire.Bytes())), &written)
			got, err := io.ReadAll(&pieces.Reader{R: r, Rand: seeded(1), Most: 1000})
			if err != nil || string(got) != strings.Join(want, "\n")+"\n" {
				t.Errorf("%s, %s: read %.80q, %v", spec, c.Name, got, err)
			}
		}
	}
}

func TestLinesOfMessagesWithNewlines(t *testing.T) {
	r, _ := framers.Lines(framers.ContentLength(), strings.NewReader(header("{\n\"a\":\n1}")+header("")), nil)
	got, err := io.ReadAll(r)
	if err != nil || string(got) != "{ \"a\": 1}\n\n" {
		t.Errorf("read %q, %v", got, err)
	}
}

// Close sends what was written without a newline, and closes what is under the lines.
func TestLinesClose(t *testing.T) {
	pr, pw := io.Pipe()
	r, w := framers.Lines(framers.LengthPrefix(), pr, pw)
	go func() {
		io.WriteString(w, "a\nb")
		w.Close()
	}()
	got, err := io.ReadAll(r)
	if err != nil || string(got) != "a\nb\n" {
		t.Errorf("read %q, %v", got, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := pw.Write([]byte("x")); err != io.ErrClosedPipe {
		t.Errorf("write after close: %v", err)
	}
	_, plain := framers.Lines(framers.NDJSON(), nil, &bytes.Buffer{})
	if err := plain.Close(); err != nil {
		t.Errorf("close over what cannot be closed: %v", err)
	}
}

func TestLinesErrors(t *testing.T) {
	_, w := framers.Lines(framers.NDJSON(), nil, &failsAfter{})
	if _, err := w.Write([]byte("a\n")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("write: %v", err)
	}
	r, _ := framers.Lines(framers.ContentLength(), strings.NewReader("no\n"+header("a")), nil)
	var b [10]byte
	if _, err := r.Read(b[:]); !errors.As(err, new(*framers.HeaderError)) {
		t.Errorf("read: %v", err)
	}
	if n, err := r.Read(b[:]); err != nil || string(b[:n]) != "a\n" {
		t.Errorf("then %q, %v", b[:n], err)
	}
}
