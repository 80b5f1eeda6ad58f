package framers_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/framers/internal/pieces"
)

func chunkedReader(t testing.TB, spec, wire string, opts ...framers.Option) framers.ChunkReader {
	return mustParse(t, spec).NewReader(strings.NewReader(wire), opts...).(framers.ChunkReader)
}

// The frames that SwiftAgentKit's document prints: the id is no UUID, the data no JSON.
func TestPrintedFrames(t *testing.T) {
	const wire = `a1b2c3-4d5e-6f7g-8h9i-j0k1l2m3n4o5:0:3:{"jsonrpc":"2.0","method":"too...
a1b2c3-4d5e-6f7g-8h9i-j0k1l2m3n4o5:1:3:...ls/call","id":1,"params":{"na...
a1b2c3-4d5e-6f7g-8h9i-j0k1l2m3n4o5:2:3:...me":"large_tool","arguments":{}}
`
	const want = `{"jsonrpc":"2.0","method":"too......ls/call","id":1,"params":{"na......me":"large_tool","arguments":{}}`
	for _, cut := range cuts {
		r := mustParse(t, "chunked").NewReader(cut.Cut(strings.NewReader(wire)))
		if msg, err := r.ReadMessage(); err != nil || string(msg) != want {
			t.Errorf("%s: %q, %v", cut.Name, msg, err)
		}
		if _, err := r.ReadMessage(); err != io.EOF {
			t.Errorf("%s: then %v", cut.Name, err)
		}
	}
}

// Streams and what is made of them. An error is told by the number of its chunk and its cause.
func TestChunks(t *testing.T) {
	long := strings.Repeat("i", 64)
	for _, c := range []struct {
		name, wire string
		want       []string
	}{
		{"one frame", "a:0:1:x\n", []string{"x", "EOF"}},
		{"empty message", "a:0:1:\n", []string{"", "EOF"}},
		{"empty chunks", "a:0:3:\na:1:3:x\na:2:3:\n", []string{"x", "EOF"}},
		{"only empty chunks", "a:0:2:\na:1:2:\n", []string{"", "EOF"}},
		{"colons in data", "a:0:1:b:0:1:x\n", []string{"b:0:1:x", "EOF"}},
		{"CR in data", "a:0:2:x\r\na:1:2:\ry\n", []string{"x\r\ry", "EOF"}},
		{"id of 64 bytes", long + ":0:1:x\n", []string{"x", "EOF"}},
		{"id of 65 bytes", long + "i:0:1:x\nb:0:1:y\n", []string{"malformed", "y", "EOF"}},
		{"id of any bytes", "\x00\xff {}:0:1:x\n", []string{"x", "EOF"}},
		{"leading zeros", "a:00:02:x\na:01:02:y\n", []string{"xy", "EOF"}},
		{"blank lines", "\n\r\na:0:1:x\n\n", []string{"x", "EOF"}},
		{"interleaved", "a:0:2:1\nb:0:3:4\na:1:2:2\nb:1:3:5\nb:2:3:6\n", []string{"12", "456", "EOF"}},
		{"small between", "a:0:2:1\nb:0:1:x\na:1:2:2\n", []string{"x", "12", "EOF"}},
		{"nested", "a:0:2:1\nb:0:2:3\nc:0:2:5\nc:1:2:6\nb:1:2:4\na:1:2:2\n", []string{"56", "34", "12", "EOF"}},
		{"backwards", "a:2:3:z\na:1:3:y\na:0:3:x\n", []string{"xyz", "EOF"}},
		{"shuffled", "a:0:4:w\na:2:4:y\na:3:4:z\na:1:4:x\n", []string{"wxyz", "EOF"}},
		{"id again", "a:0:2:1\na:1:2:2\na:0:2:3\na:1:2:4\n", []string{"12", "34", "EOF"}},
		{"duplicate", "a:0:2:1\na:0:2:9\na:1:2:2\n", []string{"0 duplicate", "12", "EOF"}},
		{"duplicate ahead", "a:1:3:2\na:1:3:9\na:0:3:1\na:2:3:3\n", []string{"1 duplicate", "123", "EOF"}},
		{"another total", "a:0:2:1\na:1:3:9\na:1:2:2\n", []string{"1 total", "12", "EOF"}},
		{"another total apart", "a:0:2:1\nb:0:2:3\na:0:1:9\na:1:2:2\nb:1:2:4\n", []string{"0 total", "12", "34", "EOF"}},
		{"index of the total", "a:2:2:x\nb:0:1:y\n", []string{"2 index", "y", "EOF"}},
		{"total of zero", "a:0:0:x\nb:0:1:y\n", []string{"0 index", "y", "EOF"}},
		{"index in a run", "a:0:2:1\na:5:2:9\na:1:2:2\n", []string{"5 index", "12", "EOF"}},
		{"missing", "a:0:3:1\na:2:3:3\nb:0:2:x\n", []string{"1 missing", "1 missing", "EOF"}},
		{"missing first", "a:1:2:2\n", []string{"0 missing", "EOF"}},
		{"no id", ":0:1:x\nb:0:1:y\n", []string{"malformed", "y", "EOF"}},
		{"no index", "a::1:x\nb:0:1:y\n", []string{"malformed", "y", "EOF"}},
		{"no data", "a:0:1\nb:0:1:y\n", []string{"malformed", "y", "EOF"}},
		{"signed index", "a:+0:1:x\nb:0:1:y\n", []string{"malformed", "y", "EOF"}},
		{"negative index", "a:-1:1:x\nb:0:1:y\n", []string{"malformed", "y", "EOF"}},
		{"total of 31 bits", "a:2147483647:2147483647:x\n", []string{"2147483647 index", "EOF"}},
		{"total beyond 31 bits", "a:0:2147483648:x\nb:0:1:y\n", []string{"malformed", "y", "EOF"}},
		{"total of eleven digits", "a:0:00000000001:x\nb:0:1:y\n", []string{"malformed", "y", "EOF"}},
		{"a bare line", `{"a":1}` + "\nb:0:1:y\n", []string{"malformed", "y", "EOF"}},
		{"a bare line in a run", "a:0:2:1\nlog\na:1:2:2\n", []string{"malformed", "12", "EOF"}},
		{"garbage at the end", "b:0:1:y\ngarbage that is longer than an id may be, and than what an error quotes of it", []string{"y", "malformed", "EOF"}},
		{"cut in a header", "b:0:1:y\na:0:", []string{"y", "unexpected EOF"}},
		{"cut in data", "b:0:1:y\na:0:1:x", []string{"y", "unexpected EOF"}},
	} {
		for _, cut := range cuts {
			for _, buffer := range []int{16, 0} {
				t.Run(fmt.Sprintf("%s/%s/buffer=%d", c.name, cut.Name, buffer), func(t *testing.T) {
					stream := cut.Cut(strings.NewReader(c.wire))
					r := mustParse(t, "chunked").NewReader(stream, framers.WithReadBuffer(buffer))
					if got := outcomes(r); !slices.Equal(got, c.want) {
						t.Errorf("got %q, want %q", got, c.want)
					}
				})
			}
		}
	}
}

// outcomes tells what a Reader makes of a stream in a few words.
func outcomes(r framers.Reader) (got []string) {
	causes := map[error]string{
		framers.ErrMalformed: "malformed", framers.ErrIndex: "index", framers.ErrTotal: "total", framers.ErrDuplicate: "duplicate",
		framers.ErrMissing: "missing", framers.ErrExpired: "expired", framers.ErrInFlight: "in flight",
	}
	for range 50 {
		msg, err := r.ReadMessage()
		var chunk *framers.ChunkError
		var large *framers.TooLargeError
		switch {
		case err == nil:
			got = append(got, string(msg))
			continue
		case errors.As(err, &large):
			got = append(got, "too large")
			continue
		case !errors.As(err, &chunk):
			return append(got, err.Error())
		case chunk.Err == framers.ErrMalformed:
			got = append(got, causes[chunk.Err])
		default:
			got = append(got, fmt.Sprintf("%d %s", chunk.Index, causes[chunk.Err]))
		}
	}
	return got
}

func TestChunkErrorFields(t *testing.T) {
	wire := "b:0:1:y\nabc:0:3:1\nabc:0:3:2\nabc:2:3:3\nnot a frame\n"
	r := chunkedReader(t, "chunked", wire)
	for _, want := range []string{
		`read chunk 0 of 3 of message abc at byte 18 (1 received): chunk came before`,
		`read chunk at byte 38: not a frame of the form id:index:total:data: "not a frame"`,
		`read chunk 1 of 3 of message abc at byte 8 (2 received): chunks are missing at the end of the stream`,
	} {
		_, err := r.ReadMessage()
		for err == nil {
			_, err = r.ReadMessage()
		}
		if err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestAdaptiveTellsLinesFromFrames(t *testing.T) {
	const id = "0123abcd-4567-89ab-cdef-0123456789ab"
	for _, c := range []struct {
		name, wire string
		want       []string
	}{
		{"JSON with colons", `{"a":0:1:2}` + "\n", []string{`{"a":0:1:2}`, "EOF"}},
		{"a log line", "12:30:01: started\n", []string{"12:30:01: started", "EOF"}},
		{"a frame of another id", "abc:0:1:x\n", []string{"abc:0:1:x", "EOF"}},
		{"lower case", id + ":0:1:x\n", []string{"x", "EOF"}},
		{"upper case", strings.ToUpper(id) + ":0:1:x\n", []string{"x", "EOF"}},
		{"a digit that is none", id[:35] + "g:0:1:x\n", []string{id[:35] + "g:0:1:x", "EOF"}},
		{"a dash elsewhere", "0123abc-d4567-89ab-cdef-0123456789ab:0:1:x\n", []string{"0123abc-d4567-89ab-cdef-0123456789ab:0:1:x", "EOF"}},
		{"an id alone", id + "\n", []string{id, "EOF"}},
		{"an id and text", id + ": done\n", []string{id + ": done", "EOF"}},
		{"a longer id", id + "0:0:1:x\n", []string{id + "0:0:1:x", "EOF"}},
		{"lines among chunks", "a\n" + id + ":0:2:1\nb\n\n" + id + ":1:2:2\nc\n", []string{"a", "b", "12", "c", "EOF"}},
		{"index of the total", id + ":1:1:x\ny\n", []string{"1 index", "y", "EOF"}},
		{"hexadecimal at the end", "x\n0123abcd", []string{"x", "0123abcd", "EOF"}},
		{"more of an id at the end", "x\n0123abcd-", []string{"x", "unexpected EOF"}},
		{"hexadecimal at the end of a message", id + ":0:2:1\n0123", []string{"unexpected EOF"}},
		{"a cut header", id + ":0:", []string{"unexpected EOF"}},
		{"a cut frame", id + ":0:1:x", []string{"unexpected EOF"}},
	} {
		for _, cut := range cuts {
			t.Run(c.name+"/"+cut.Name, func(t *testing.T) {
				r := mustParse(t, "adaptive").NewReader(cut.Cut(strings.NewReader(c.wire)))
				if got := outcomes(r); !slices.Equal(got, c.want) {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		}
	}
}

func TestAdaptiveSendsBareWhatFits(t *testing.T) {
	f := mustParse(t, "adaptive:100")
	const id = "0123abcd-4567-89ab-cdef-0123456789ab"
	for _, c := range []struct {
		name, msg string
		frames    int // 0: a bare line
	}{
		{"fits with its newline", strings.Repeat("x", 99), 0},
		{"one more", strings.Repeat("x", 100), 2},
		{"empty", "", 1},
		{"white space around", " x", 1},
		{"looks like a frame", id + ":0:1:x", 1},
		{"begins like a frame", id + "x", 1},
		{"colons", "12:0:1:x", 0},
	} {
		wire := string(encode(t, f, [][]byte{[]byte(c.msg)}))
		if bare := wire == c.msg+"\n"; bare != (c.frames == 0) || !bare && strings.Count(wire, "\n") != c.frames {
			t.Errorf("%s: wrote %q", c.name, wire)
		}
		got, err := decode(f.NewReader(strings.NewReader(wire)))
		if err != io.EOF || len(got) != 1 || string(got[0]) != c.msg {
			t.Errorf("%s: read %q, %v", c.name, got, err)
		}
		var frames []byte
		for pieces := range f.(framers.Chunker).Frames([]byte(c.msg)) {
			frames = append(frames, bytes.Join(pieces, nil)...)
		}
		if len(frames) != len(wire) {
			t.Errorf("%s: Frames yields %q, the Writer wrote %q", c.name, frames, wire)
		}
	}
}

func TestIDs(t *testing.T) {
	f := mustParse(t, "chunked")
	opts := framers.WithIDs(func() [16]byte { return [16]byte{0xAB, 1: 0xCD, 15: 0xEF} })
	if got := string(encode(t, f, [][]byte{[]byte("x")}, opts)); got != "abcd0000-0000-0000-0000-0000000000ef:0:1:x\n" {
		t.Errorf("got %q", got)
	}
	seen := map[string]bool{}
	for range 1000 {
		id := string(encode(t, f, [][]byte{nil}, framers.WithIDs(nil))[:36])
		if seen[id] || id[14] != '4' || !strings.ContainsRune("89ab", rune(id[19])) || id != strings.ToLower(id) {
			t.Fatalf("id %s", id)
		}
		seen[id] = true
	}
}

func TestInFlightMessages(t *testing.T) {
	wire := "a:0:2:1\nb:0:2:3\nc:0:2:5\nd:0:1:x\na:1:2:2\nb:1:2:4\n"
	got := outcomes(chunkedReader(t, "chunked", wire, framers.WithMaxInFlight(2, 0)))
	if want := []string{"0 in flight", "x", "12", "34", "EOF"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestInFlightBytes(t *testing.T) {
	for _, c := range []struct {
		name, wire string
		want       []string
	}{
		{"in order", "a:0:2:12345\na:1:2:67890\n", []string{"1234567890", "EOF"}},
		{"in order, too many", "a:0:3:12345\na:1:3:678901\na:2:3:2\nb:0:1:y\n", []string{"1 in flight", "y", "EOF"}},
		{"two messages", "a:0:2:12345\nb:0:2:123456\nb:1:2:7\na:1:2:6\n", []string{"0 in flight", "123456", "EOF"}},
		{"a small one beside", "a:0:2:1234567890\nb:0:1:12345678901\na:1:2:\n", []string{"12345678901", "1234567890", "EOF"}},
		{"ahead is charged more", "a:1:2:1\na:0:2:0\nb:0:1:y\n", []string{"0 in flight", "y", "EOF"}},
	} {
		for _, cut := range cuts {
			stream := cut.Cut(strings.NewReader(c.wire))
			r := mustParse(t, "chunked").NewReader(stream, framers.WithMaxInFlight(0, 10))
			got := outcomes(r)
			if !slices.Equal(got, c.want) {
				t.Errorf("%s, %s: got %q, want %q", c.name, cut.Name, got, c.want)
			}
		}
	}
}

// A frame may pass the limit on its message and that on what is in flight. It is refused for the
// one it passed first, also where a read brought both.
func TestTheLimitPassedFirstIsTheReason(t *testing.T) {
	for _, c := range []struct {
		name, wire string
		want       []string
	}{
		{"of the message", "a:0:2:12345678901234\na:1:2:1\nb:0:1:y\n", []string{"too large", "y", "EOF"}},
		{"of the flight", "c:0:2:12345\na:0:2:12345678901234\na:1:2:1\nb:0:1:y\n", []string{"0 in flight", "y", "1 missing", "EOF"}},
		{"both at once", "c:0:2:12\na:0:2:12345678901234\na:1:2:1\nb:0:1:y\n", []string{"too large", "y", "1 missing", "EOF"}},
	} {
		for _, cut := range cuts {
			r := mustParse(t, "chunked").NewReader(cut.Cut(strings.NewReader(c.wire)),
				framers.WithMaxMessage(10), framers.WithMaxInFlight(0, 12), framers.WithPolicy(framers.Resync))
			if got := outcomes(r); !slices.Equal(got, c.want) {
				t.Errorf("%s, %s: got %q, want %q", c.name, cut.Name, got, c.want)
			}
		}
	}
}

// Chunks out of order count as what they carry, against the limit on their message.
func TestTheLimitIsExactOutOfOrder(t *testing.T) {
	for wire, want := range map[string][]string{
		"a:1:2:67890\na:0:2:12345\n":           {"1234567890", "EOF"},
		"a:2:3:0\na:1:3:6789\na:0:3:12345\n":   {"1234567890", "EOF"},
		"a:1:2:67890\na:0:2:123456\nb:0:1:y\n": {"too large", "y", "EOF"},
		"a:1:2:123456\na:0:2:67890\nb:0:1:y\n": {"too large", "y", "EOF"},
		"a:1:2:12345678901\na:0:2:\nb:0:1:y\n": {"too large", "y", "EOF"},
	} {
		for _, cut := range cuts {
			r := mustParse(t, "chunked").NewReader(cut.Cut(strings.NewReader(wire)),
				framers.WithMaxMessage(10), framers.WithPolicy(framers.Resync))
			if got := outcomes(r); !slices.Equal(got, want) {
				t.Errorf("%q, %s: got %q, want %q", wire, cut.Name, got, want)
			}
		}
	}
}

// Beyond the limit, a message's other chunks are dropped too, in whatever order they come.
func TestChunkedResync(t *testing.T) {
	for _, wire := range []string{
		"a:0:3:12345\na:1:3:6\na:2:3:7\nb:0:1:y\n",
		"a:0:3:123456\na:1:3:6\na:2:3:7\nb:0:1:y\n",
		"a:2:3:7\na:0:3:12345\na:1:3:6\nb:0:1:y\n",
		"a:0:2:123\nc:0:2:x\na:1:2:456\nc:1:2:z\nb:0:1:y\n",
		"a:0:1:123456\nb:0:1:y\n",
	} {
		want := []string{"too large", "y", "EOF"}
		if strings.Contains(wire, "c:") {
			want = []string{"too large", "xz", "y", "EOF"}
		}
		for _, cut := range cuts {
			r := mustParse(t, "chunked").NewReader(cut.Cut(strings.NewReader(wire)),
				framers.WithMaxMessage(5), framers.WithPolicy(framers.Resync))
			if got := outcomes(r); !slices.Equal(got, want) {
				t.Errorf("%q, %s: got %q, want %q", wire, cut.Name, got, want)
			}
			if n, b := r.(framers.ChunkReader).InFlight(); n != 0 || b != 0 {
				t.Errorf("%q, %s: %d messages, %d bytes left", wire, cut.Name, n, b)
			}
		}
	}
}

// How large a message beyond the limit was is told when all of it has been skipped, however it
// came.
func TestTheSizeOfWhatWasSkippedIsTold(t *testing.T) {
	for _, c := range []struct{ spec, wire, want string }{
		{"ndjson", "1234567\n12345\n123456", "7 6"},
		{"ndjson", "123456\r\nx\n", "7"},
		{"adaptive", "1234567\n123\n12345678\n", "7 8"},
		{"adaptive", "1234567", "7"},
		{"chunked", "a:0:3:12345\na:1:3:6\na:2:3:7\nb:0:1:y\n", "7"},
		{"chunked", "a:0:3:123456\na:1:3:6\na:2:3:7\n", "8"},
		{"chunked", "a:2:3:7\na:0:3:12345\na:1:3:6\nb:0:1:y\n", "7"},
		{"chunked", "a:0:2:123\nc:0:2:x\na:1:2:456\nc:1:2:z\n", "6"},
		{"chunked", "a:0:1:123456789\nb:0:1:y\n", "9"},
		{"chunked", "a:0:3:123456\na:1:3:78", "8"},
		{"chunked", "a:0:3:123456\nb:0:1:y\n", "6"}, // of which two frames never come
		{"content-length", "Content-Length: 6\r\n\r\n123456", ""},
	} {
		for _, cut := range cuts {
			var told []string
			r := mustParse(t, c.spec).NewReader(cut.Cut(strings.NewReader(c.wire)),
				framers.WithMaxMessage(5), framers.WithPolicy(framers.Resync),
				framers.WithSkipped(func(e *framers.TooLargeError) { told = append(told, fmt.Sprint(e.Size)) }))
			transcript(r)
			if got := strings.Join(told, " "); got != c.want {
				t.Errorf("%s %q, %s: told %q, want %q", c.spec, c.wire, cut.Name, got, c.want)
			}
		}
	}
}

// So it is if an error came between, and the stream ends inside the message.
func TestTheSizeIsToldAtTheEndOfTheStream(t *testing.T) {
	for spec, begins := range map[string]string{
		"ndjson": "1234567", "adaptive": "1234567", "chunked": "a:0:1:1234567",
	} {
		var told []int64
		src := &pausing{left: []string{begins, ""}}
		r := mustParse(t, spec).NewReader(src, framers.WithMaxMessage(5),
			framers.WithPolicy(framers.Resync),
			framers.WithSkipped(func(e *framers.TooLargeError) { told = append(told, e.Size) }))
		transcriptOf(r)
		if !slices.Equal(told, []int64{7}) {
			t.Errorf("%s: told %v, want 7", spec, told)
		}
	}
}

// lineByLine gives one line a read, and moves a clock on before each.
type lineByLine struct {
	lines []string
	step  func()
}

func (l *lineByLine) Read(b []byte) (int, error) {
	if len(l.lines) == 0 {
		return 0, io.EOF
	}
	l.step()
	n := copy(b, l.lines[0])
	l.lines = l.lines[1:]
	return n, nil
}

func TestExpiry(t *testing.T) {
	for _, c := range []struct {
		name   string
		expiry time.Duration
		lines  []string // one a second
		want   []string
	}{
		{"in time", 2 * time.Second, []string{"a:0:3:1\n", "a:1:3:2\n", "b:0:1:x\n", "a:2:3:3\n"}, []string{"x", "123", "EOF"}},
		{"too late", time.Second, []string{"a:0:3:1\n", "a:1:3:2\n", "b:0:1:x\n", "a:2:3:3\n"}, []string{"x", "2 expired", "0 missing", "EOF"}},
		{"too late in a run", 0, []string{"a:0:2:1\n", "a:1:2:2\n"}, []string{"12", "EOF"}},
		{"never", -1, []string{"a:0:2:1\n", "b:0:1:x\n", "a:1:2:2\n"}, []string{"x", "12", "EOF"}},
		{"one of two", 2 * time.Second, []string{"a:1:2:1\n", "b:1:2:1\n", "c:0:1:x\n", "b:0:2:0\n", "c:0:1:y\n"}, []string{"x", "0 expired", "01", "y", "EOF"}},
	} {
		now := time.Unix(0, 0)
		clock := func() time.Time { return now }
		r := mustParse(t, "chunked").NewReader(&lineByLine{c.lines, func() { now = now.Add(time.Second) }}, framers.WithClock(clock), framers.WithExpiry(c.expiry))
		if got := outcomes(r); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// A message that was given up, and said to be, is no longer in flight, though what comes of it is
// still thrown away.
func TestAMessageGivenUpIsNotInFlight(t *testing.T) {
	src := &pausing{left: []string{"a:0:3:12345678901\nb:0:2:1\n", "", "a:1:3:2\na:2:3:3\nb:1:2:2\n"}}
	r := mustParse(t, "chunked").NewReader(src, framers.WithMaxMessage(10), framers.WithPolicy(framers.Resync)).(framers.ChunkReader)
	var large *framers.TooLargeError
	if _, err := r.ReadMessage(); !errors.As(err, &large) {
		t.Fatal(err)
	}
	if _, err := r.ReadMessage(); !errors.Is(err, errLater) {
		t.Fatal(err)
	}
	if n, bytes := r.InFlight(); n != 1 || bytes != 1 {
		t.Errorf("in flight: %d messages, %d bytes", n, bytes)
	}
	if got, want := outcomes(r), []string{"12", "EOF"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What is held of messages under way is not much more than what counts against WithMaxInFlight.
func TestInterruptedMessagesHoldLittleMoreThanTheyHave(t *testing.T) {
	f, err := framers.Chunked(60 << 10)
	if err != nil {
		t.Fatal(err)
	}
	var wire bytes.Buffer
	next := make([]func() ([][]byte, bool), 4)
	for i := range next {
		var stop func()
		next[i], stop = iter.Pull(f.Frames(message(1<<20 + 64<<10)))
		defer stop()
	}
	for range 18 { // all but the last of each
		for i := range next {
			pieces, _ := next[i]()
			wire.Write(bytes.Join(pieces, nil))
		}
	}
	var r framers.ChunkReader
	held, had := 0, 0
	r = f.NewReader(&wire, framers.WithProgress(func(framers.Chunk) {
		if _, bytes := r.InFlight(); bytes > had {
			held, had = r.Held(), bytes
		}
	})).(framers.ChunkReader)
	_, _ = r.ReadMessage()
	if had < 4<<20 || held > had+had/3 {
		t.Errorf("%d bytes are held of messages that have %d", held, had)
	}
}

// While more of a message is to come, be it to be thrown away, what the stream ends with may be the
// beginning of a frame.
func TestAFrameOfAMessageGivenUpIsCut(t *testing.T) {
	const id = "0123abcd-4567-89ab-cdef-0123456789ab"
	r := mustParse(t, "adaptive").NewReader(strings.NewReader(id+":0:2:12345678901\n0123a"), framers.WithMaxMessage(10), framers.WithPolicy(framers.Resync))
	if got, want := outcomes(r), []string{"too large", io.ErrUnexpectedEOF.Error()}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// pausing gives a piece a read; an empty one is an error.
type pausing struct{ left []string }

func (p *pausing) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.left[0])
	p.left = p.left[1:]
	if n == 0 {
		return 0, errLater
	}
	return n, nil
}

func TestProgress(t *testing.T) {
	var got []string
	r := chunkedReader(t, "chunked", "a:0:2:1\nb:1:2:5\na:1:2:2\nb:1:2:9\nc:0:1:x\nb:0:2:4\n", framers.WithProgress(func(c framers.Chunk) {
		got = append(got, fmt.Sprintf("%s%d/%d=%s %d:%d %v", c.ID, c.Index, c.Total, c.Data, c.Received, c.Size, !c.Began.IsZero()))
	}))
	outcomes(r)
	want := []string{"a0/2=1 1:1 true", "b1/2=5 1:1 true", "a1/2=2 2:2 true", "c0/1=x 1:1 false", "b0/2=4 2:2 true"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What a plain reading of the format makes of a stream agrees with the Reader, whatever the order
// of the chunks.
func TestRandomInterleavings(t *testing.T) {
	rng := seeded(42)
	for round := range 300 {
		var frames [][]byte
		want := map[string]bool{}
		size := framers.MinChunk + rng.IntN(200)
		f, _ := framers.Chunked(size)
		for range 1 + rng.IntN(5) {
			msg := message(rng.IntN(2000))
			want[string(msg)] = true
			for pieces := range f.Frames(msg) {
				frames = append(frames, bytes.Join(pieces, nil))
			}
		}
		if round%2 == 0 {
			rng.Shuffle(len(frames), func(i, k int) { frames[i], frames[k] = frames[k], frames[i] })
		} else { // neighbours only, so that runs are met
			for range len(frames) / 3 {
				i := rng.IntN(len(frames))
				k := min(i+1, len(frames)-1)
				frames[i], frames[k] = frames[k], frames[i]
			}
		}
		wire := bytes.NewReader(bytes.Join(frames, nil))
		src := &pieces.Reader{R: wire, Rand: rng, Most: 1 + rng.IntN(500)}
		got, err := decode(f.NewReader(src, framers.WithReadBuffer(16+rng.IntN(300))))
		if err != io.EOF || len(got) != len(want) {
			t.Fatalf("round %d: %d messages of %d, %v", round, len(got), len(want), err)
		}
		for _, msg := range got {
			if !want[string(msg)] {
				t.Fatalf("round %d: a message that was not sent: %.80q", round, msg)
			}
		}
	}
}

// Messages whose frames come in turns are put together in the buffers of those before.
func TestNothingIsAllocatedForInterleavedMessages(t *testing.T) {
	f, err := framers.Chunked(16 << 10)
	if err != nil {
		t.Fatal(err)
	}
	const together = 5
	frames := make([][][]byte, together)
	for i := range together {
		for pieces := range f.Frames(message(200_000)) {
			frames[i] = append(frames[i], bytes.Join(pieces, nil))
		}
	}
	var wire []byte
	for k := range frames[0] {
		for i := range together {
			wire = append(wire, frames[i][k]...)
		}
	}
	r := f.NewReader(&repeating{wire: wire})
	allocs := testing.AllocsPerRun(20*together, func() {
		if _, err := r.ReadMessage(); err != nil {
			t.Fatal(err)
		}
	})
	if allocs >= 1 { // the first messages need buffers
		t.Errorf("%.0f allocations a message", allocs)
	}
}

// A Reader refuses a message that is too large, and bytes that are no frame, as soon as they have
// come. It does not wait for more.
func TestARefusalWaitsForNothing(t *testing.T) {
	for _, c := range []struct{ spec, wire string }{
		{"ndjson", "123456"}, {"ndjson", "12345\rx"}, {"adaptive", "xyzxyz"},
		{"chunked", "a:0:1:123456"}, {"chunked", "a:0:3:123456"}, // too large
		{"chunked", strings.Repeat("x", 200)}, // malformed
	} {
		src := &pausing{left: []string{c.wire, ""}}
		r := mustParse(t, c.spec).NewReader(src, framers.WithMaxMessage(5))
		_, err := r.ReadMessage()
		if !errors.As(err, new(*framers.TooLargeError)) && !errors.Is(err, framers.ErrMalformed) {
			t.Errorf("%s %q: %v", c.spec, c.wire, err)
		}
	}
}
