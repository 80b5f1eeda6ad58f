package tap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
)

// seen are the messages of a stream that comes in pieces of at most size bytes: length, method and
// id of each.
func seen(stream string, size int, f framers.Framing) []string {
	var out []string
	d := newDecoder(f, heldBytes, func(m *message) {
		out = append(out, fmt.Sprintf("%d %s %s", m.size, m.method, m.id))
	})
	at := int64(0)
	for p := []byte(stream); len(p) > 0; at++ {
		n := min(size, len(p))
		d.feed(p[:n], readEvent{at: at})
		p = p[n:]
	}
	d.close(readEvent{at: at})
	return out
}

func TestDecoderFindsMessagesHoweverTheyAreCut(t *testing.T) {
	request := `{"id":7,"method":"m"}` // 21 bytes
	framed := "Content-Length: 21\r\n\r\n" + request
	for _, row := range []struct {
		name, stream string
		want         []string
	}{
		{"lines", request + "\n" + request + "\n", []string{"21 m 7", "21 m 7"}},
		{"lines that end with CR LF", request + "\r\n\r\n" + request + "\r\n", []string{"21 m 7", "21 m 7"}},
		{"a last line without newline", request + "\nabc", []string{"21 m 7", "3  "}},
		{"blank lines", "\n\n" + request + "\n\n", []string{"21 m 7"}},
		{"a log line that begins like a header", "Contents of x\n" + request + "\n", []string{"13  ", "21 m 7"}},
		{"a stream shorter than a header's name", "Cont", []string{"4  "}},
		{"headers", framed + framed, []string{"21 m 7", "21 m 7"}},
		{"lower case, no space, LF alone, another header", "content-length:21\nContent-Type: x\n\n" + request, []string{"21 m 7"}},
		{"an empty body", "Content-Length: 0\r\n\r\n" + framed, []string{"0  ", "21 m 7"}},
		{"a header without a length", "Content-Type: x\r\n\r\n" + framed, []string{"21 m 7"}},
		{"a header of endless length", "Content-X: " + strings.Repeat("y", 24<<10) + "\r\n" + framed, []string{"21 m 7"}},
		{"nothing", "", nil},
	} {
		for size := 1; size <= len(row.stream)+1; size = size*3/2 + 1 {
			if got := seen(row.stream, size, nil); !slices.Equal(got, row.want) {
				t.Errorf("%s, in pieces of %d: got %q, want %q", row.name, size, got, row.want)
			}
		}
	}
}

func TestDecoderHoldsNothingOfALongLine(t *testing.T) {
	if RaceEnabled {
		t.Skip("the race detector uses memory of its own")
	}
	var last message
	d := newDecoder(lines(), heldBytes, func(m *message) { last = *m })
	line := `{"jsonrpc":"2.0","id":7,"result":"`
	piece := bytes.Repeat([]byte("x"), 1<<16)
	long := func() {
		d.feed([]byte(line), readEvent{at: 1})
		for range 1000 {
			d.feed(piece, readEvent{at: 2})
		}
		d.feed([]byte("\"}\n"), readEvent{at: 3})
	}
	long()
	if n := testing.AllocsPerRun(3, long); n > 20 {
		t.Errorf("%v allocations", n)
	}
	if want := int64(len(line) + 1000<<16 + 2); last.size != want || string(last.id) != "7" || last.at != 3 {
		t.Errorf("got %d bytes with the id %s at %d, want %d with 7 at 3", last.size, last.id, last.at, want)
	}
}

// A message in chunks is one message, whatever stands between its frames.
func TestDecoderJoinsChunks(t *testing.T) {
	answer := []byte(`{"jsonrpc":"2.0","id":2,"result":"` + strings.Repeat("x", 5000) + `"}`)
	for _, f := range framers.All() {
		if f.String() == "raw" {
			continue
		}
		t.Run(f.String(), func(t *testing.T) {
			var stream bytes.Buffer
			w := f.NewWriter(&stream)
			for range 3 {
				if err := w.WriteMessage(answer); err != nil {
					t.Skip(err)
				}
			}
			want := []string{"5036  2", "5036  2", "5036  2"}
			for _, size := range []int{1, 700, 1 << 20} {
				if got := seen(stream.String(), size, f); !slices.Equal(got, want) {
					t.Errorf("in pieces of %d: got %q, want %q", size, got, want)
				}
			}
		})
	}
	small, err := framers.Adaptive(1024)
	if err != nil {
		t.Fatal(err)
	}
	var stream bytes.Buffer
	stream.WriteString(`{"id":1,"method":"m"}` + "\n")
	if err := small.NewWriter(&stream).WriteMessage(answer); err != nil {
		t.Fatal(err)
	}
	stream.WriteString("a line\n")
	if got, want := seen(stream.String(), 100, nil), []string{"21 m 1", "5036  2", "6  "}; !slices.Equal(got, want) {
		t.Errorf("lines and frames: got %q, want %q", got, want)
	}
}

func FuzzDecoder(f *testing.F) {
	f.Add("Content-Length: 3\r\n\r\nabc{\"id\":1}\n", 2)
	f.Fuzz(func(t *testing.T, stream string, size int) {
		if size < 1 {
			size = 1
		}
		for _, framing := range []framers.Framing{nil, lines(), framers.ContentLength()} {
			whole, cut := seen(stream, len(stream)+1, framing), seen(stream, size, framing)
			if !slices.Equal(whole, cut) {
				t.Errorf("%q in pieces of %d: %q, whole %q", stream, size, cut, whole)
			}
		}
	})
}

func TestAppendMessageWritesWhatResultsReads(t *testing.T) {
	for _, row := range []struct{ name, text string }{
		{"request", `{"jsonrpc":"2.0","id":12,"method":"tools/call"}`},
		{"text id and an escaped method", `{"id":"a\"é","method":"x\u0041\n<>"}`},
		{"raw bytes", "{\"id\":\"\xff\",\"method\":\"\xff\x01\"}"},
		{"id that is no JSON", `{"id":12x,"method":"m"}`},
		{"log line", "<b>listening</b> \x00 \xff"},
	} {
		var line []byte
		d := newDecoder(lines(), heldBytes, func(m *message) {
			line = appendMessage(nil, linePrefix("r", fromClient), m, true)
		})
		d.feed([]byte(row.text+"\n"), readEvent{at: 5, stalled: 9})
		var got results.Message
		if err := json.Unmarshal(line, &got); err != nil {
			t.Errorf("%s: %v in %s", row.name, err, line)
			continue
		}
		want := results.Message{
			Kind: results.KindMessage, Run: "r", Dir: "request", T: 5, Size: int64(len(row.text)), Method: got.Method, ID: got.ID,
			Stall: 9, Body: strings.ToValidUTF8(row.text, "\uFFFD"),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", row.name, diff)
		}
	}
}

func TestRecordingAMessageAllocatesNothing(t *testing.T) {
	if RaceEnabled {
		t.Skip("the race detector uses memory of its own")
	}
	rec := newRecorder(Options{Run: "run"})
	track := rec.track(fromServer)
	p := []byte(strings.Repeat(`{"jsonrpc":"2.0","id":12,"result":{"text":"abc"}}`+"\n", 10))
	r := newRelay(nil, nil, track, lines())
	r.record(p, readEvent{at: 1})
	if n := testing.AllocsPerRun(100, func() { r.record(p, readEvent{at: 2}) }); n != 0 {
		t.Errorf("%v allocations for ten messages", n)
	}
}

// However long a client goes on while the recording is closed, the last record counts the messages
// that the recording has.
func TestTheLastRecordCountsWhatIsRecorded(t *testing.T) {
	var out bytes.Buffer
	rec := newRecorder(Options{Run: "r", Record: &out})
	r := newRelay(nil, nil, rec.track(fromClient), lines())
	go rec.run()
	begun := make(chan struct{})
	enough := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			r.record([]byte(`{"id":1,"method":"m"}`+"\n"), readEvent{at: int64(i)})
			if i == 100 {
				close(begun)
			}
			select {
			case <-enough:
				return
			default:
			}
		}
	}()
	<-begun
	counted := int64(0)
	err := rec.close(func() []any {
		counted = r.account().Messages
		return nil
	})
	close(enough)
	<-ended
	if err != nil {
		t.Fatal(err)
	}
	if recorded := bytes.Count(out.Bytes(), []byte("\n")); counted != int64(recorded) || recorded <= 100 {
		t.Errorf("%d messages are recorded, and %d counted", recorded, counted)
	}
}

func TestAQueueGivesBackWhatWasPutInOrWhole(t *testing.T) {
	q := queue{limit: 64}
	rnd := rand.New(rand.NewPCG(1, 2))
	var in, out, held []byte
	queued := 0
	for i := range 10000 {
		p := bytes.Repeat([]byte{byte(i)}, rnd.IntN(70))
		fits, _ := q.put(p)
		if fits != (len(p) <= 64-queued) {
			t.Fatalf("%d bytes into %d", len(p), 64-queued)
		}
		if fits {
			in = append(in, p...)
			queued += len(p)
		}
		if rnd.IntN(3) > 0 {
			held = q.take(held)
			n := rnd.IntN(len(held) + 1)
			out, held, queued = append(out, held[:n]...), held[n:], 0
		}
		if !bytes.HasPrefix(in, out) {
			t.Fatalf("step %d: what came out is not what went in", i)
		}
	}
}

// Lines of both directions are written in the order of time, also while some are on their way.
func TestTheRecordingIsInTheOrderOfTime(t *testing.T) {
	var out bytes.Buffer
	rec := newRecorder(Options{Run: "r", Record: &out})
	requests, replies := rec.track(fromClient), rec.track(fromServer)
	pass := func(t *track, at int64) {
		t.record(&message{at: at, first: at, size: 1})
		t.flush()
	}
	pass(replies, 2)
	pass(replies, 5)
	requests.looking.Store(3) // a line of this time or a later one is still to come
	rec.drain(false)
	pass(requests, 1)
	pass(requests, 4)
	requests.looking.Store(0)
	pass(replies, 6)
	rec.drain(true)
	var times []int64
	for line := range bytes.Lines(out.Bytes()) {
		var m results.Message
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		times = append(times, m.T)
	}
	if want := []int64{2, 1, 4, 5, 6}; !slices.Equal(times, want) { // 1 came too late: its direction had not said that it was under way
		t.Errorf("lines are of the times %v, want %v", times, want)
	}
}

func TestRedactKeepsStructureAndLengths(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"a call", `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"secret","n":-120.75,"ok":true,"none":null}}`,
			`{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"secret","n":-100.00,"ok":true,"none":null}}`},
		{"what else has a name", `{"params":{"arguments":{"name":"secret"},"name":["a1"]},"method":"tools/call","result":{"name":"b2"}}`,
			`{"params":{"arguments":{"name":"xxxxxx"},"name":["xx"]},"method":"tools/call","result":{"name":"xx"}}`},
		{"the name of another method", `{"method":"m","params":{"name":"secret"}}`, `{"method":"m","params":{"name":"xxxxxx"}}`},
		{"an id further in is a value", `{"result":{"id":"abc","method":"x"},"id":"abc"}`, `{"result":{"id":"xxx","method":"x"},"id":"abc"}`},
		{"escapes", `{"a":"q\"\\\u00e9z"}`, `{"a":"xnnnu0000x"}`},
		{"lists of texts", `{"a":["x1",["y2"],{"b":"z3"}],"c":"d4"}`, `{"a":["xx",["xx"],{"b":"xx"}],"c":"xx"}`},
		{"revisions", `{"params":{"protocolVersion":"2025-11-25","n":"2025-11-25","_meta":{"io.modelcontextprotocol/protocolVersion": "2026-07-28"}},"result":{"supportedVersions":["2025-11-25","2026-07-28","secret"],"protocolVersion":"a secret"}}`,
			`{"params":{"protocolVersion":"2025-11-25","n":"xxxxxxxxxx","_meta":{"io.modelcontextprotocol/protocolVersion": "2026-07-28"}},"result":{"supportedVersions":["2025-11-25","2026-07-28","xxxxxx"],"protocolVersion":"xxxxxxxx"}}`},
		{"no JSON", `password=123 "abc`, `xxxxxxxxxxxxxxxxx`},
		{"JSON at first", `{"a":"b1","c":d2, "e"}`, `{"a":"xx","c"xxxxxxxxx`},
	} {
		b := []byte(row.text)
		changed := redact(b, methodIn(row.text))
		if row.name == "escapes" { // each escape stays one, of its length
			row.want = `{"a":"x\n\n\u0000x"}`
		}
		if string(b) != row.want {
			t.Errorf("%s: got %s, want %s", row.name, b, row.want)
		}
		if !changed || redact(b, methodIn(row.text)) {
			t.Errorf("%s: it does not say truly whether it changed something", row.name)
		}
		if json.Valid([]byte(row.text)) != json.Valid(b) {
			t.Errorf("%s: %s is JSON no more, or by now", row.name, b)
		}
	}
}

// methodIn returns the method that a text names, as a decoder does.
func methodIn(text string) string {
	var m struct{ Method string }
	_ = json.Unmarshal([]byte(text), &m)
	return m.Method
}

func FuzzRedact(f *testing.F) {
	f.Add(`{"a":[1,"b\n",{"c":-0.5e9}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		b := []byte(text)
		redact(b, "tools/call")
		if len(b) != len(text) || json.Valid([]byte(text)) && !json.Valid(b) {
			t.Errorf("%q became %q", text, b)
		}
	})
}
