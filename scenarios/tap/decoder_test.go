package tap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
)

// seen are the messages of a stream that comes in pieces of at most size bytes: length, method and
// id of each.
func seen(stream string, size int, f framers.Framing) []string {
	var out []string
	d := newDecoder(f, heldBytes, func(m *message) { out = append(out, text(m)) })
	at := int64(0)
	for p := []byte(stream); len(p) > 0; at++ {
		n := min(size, len(p))
		d.feed(p[:n], at, 0)
		p = p[n:]
	}
	d.close(at)
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

// A blank line is told as what it lacks.
func TestDecoderCountsWhatIsNoMessage(t *testing.T) {
	const framed = "Content-Length: 2\r\n\r\n{}"
	for stream, want := range map[string]string{
		framed + "INFO: sent\n" + framed + "INFO: bye\n": "INFO: sent",
		framed + "debug: on\na line\n" + framed:          "debug: on",
		framed + "a line\n" + framed + "bye\n":           "a line",
		framed + "\n" + framed + "bye\n":                 "no Content-Length",
		framed + "debug: on\n" + framed + "Go on? ":      "debug: on",
	} {
		messages := 0
		d := newDecoder(nil, heldBytes, func(*message) { messages++ })
		d.feed([]byte(stream), 1, 0)
		d.close(2)
		if messages != 2 || d.strays != 2 || d.firstStray != want {
			t.Errorf("%d messages, %d strays, the first %q", messages, d.strays, d.firstStray)
		}
	}
}

// A prompt is text that is no message, though its line has no end.
func TestDecoderCountsTextAtTheEnd(t *testing.T) {
	for text, want := range map[string]int64{"Go on? ": 1, "Content-": 0, `{"id":`: 0} {
		d := newDecoder(nil, heldBytes, func(*message) {})
		d.feed([]byte("Content-Length: 2\r\n\r\n{}"+text), 1, 0)
		d.close(2)
		if d.strays != want || want > 0 && d.firstStray != text {
			t.Errorf("%q: %d strays, the first %q", text, d.strays, d.firstStray)
		}
	}
}

// A server may print text before its first message, and before its client says anything.
func TestDecoderFindsMessagesBehindABanner(t *testing.T) {
	const framed = "Content-Length: 2\r\n\r\n{}"
	for _, row := range []struct {
		client, server string // in the order in which they come
		strays         int64
		want           []string
	}{
		{"", "starting\n\nup\n" + framed, 1, []string{"2  "}},
		{"", "starting\n{}\n", 0, []string{"8  ", "2  "}},
		{"", "starting\n", 0, []string{"8  "}},
		{framed, "[up]\n" + framed, 1, []string{"2  "}},
		{"2+2\n", "4\n" + framed, 0, []string{"1  ", "17  ", "2  "}},
	} {
		for size := 1; size <= len(row.server); size++ {
			client := newDecoder(nil, heldBytes, func(*message) {})
			client.feed([]byte(row.client), 1, 0)
			var got []string
			d := newDecoder(nil, heldBytes, func(m *message) { got = append(got, text(m)) })
			d.client = client
			for piece := range slices.Chunk([]byte(row.server), size) {
				d.feed(piece, 2, 0)
			}
			d.close(3)
			if !slices.Equal(got, row.want) || d.strays != row.strays {
				t.Errorf("%q in pieces of %d: %q, %d strays", row.server, size, got, d.strays)
			}
			client.close(3)
		}
	}
}

func text(m *message) string { return fmt.Sprintf("%d %s %s", m.size, m.method, m.id) }

func TestDecoderHoldsNothingOfALongLine(t *testing.T) {
	if RaceEnabled {
		t.Skip("the race detector uses memory of its own")
	}
	var last message
	d := newDecoder(lines(), heldBytes, func(m *message) { last = *m })
	line := `{"jsonrpc":"2.0","id":7,"result":"`
	piece := bytes.Repeat([]byte("x"), 1<<16)
	long := func() {
		d.feed([]byte(line), 1, 0)
		for range 1000 {
			d.feed(piece, 2, 0)
		}
		d.feed([]byte("\"}\n"), 3, 0)
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
		d.feed([]byte(row.text+"\n"), 5, 9)
		var got results.Message
		if err := json.Unmarshal(line, &got); err != nil {
			t.Errorf("%s: %v in %s", row.name, err, line)
			continue
		}
		want := results.Message{
			Kind: results.KindMessage, Run: "r", Dir: "request", T: 5, Size: int64(len(row.text)), Method: got.Method, ID: got.ID,
			Stall: 9, Body: strings.ToValidUTF8(row.text, "\uFFFD"),
		}
		if want.Body != row.text {
			want.Exact = []byte(row.text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", row.name, diff)
		}
	}
}

// Each writing of lines allocates the same, however many messages there are.
func TestRecordingAMessageAllocatesNothing(t *testing.T) {
	if RaceEnabled {
		t.Skip("the race detector uses memory of its own")
	}
	rec := newRecorder(Options{Run: "run", Record: io.Discard})
	track := rec.track(fromServer)
	p := []byte(strings.Repeat(`{"jsonrpc":"2.0","id":12,"result":{"text":"abc"}}`+"\n", 10))
	r := newRelay(nil, nil, track, lines())
	record := func() {
		for range 10 {
			r.record(p, r.track.now(), 0)
		}
		rec.flush()
	}
	record()
	if n := testing.AllocsPerRun(100, record); n > 10 {
		t.Errorf("%v allocations for a hundred messages", n)
	}
}

// However long a client goes on while the recording is closed, the last record counts the messages
// that the recording has.
func TestTheLastRecordCountsWhatIsRecorded(t *testing.T) {
	var out bytes.Buffer
	rec := newRecorder(Options{Run: "r", Record: &out})
	r := newRelay(nil, nil, rec.track(fromClient), lines())
	begun := make(chan struct{})
	enough := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			r.record([]byte(`{"id":1,"method":"m"}`+"\n"), r.track.now(), 0)
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
	err := rec.close(func() results.Target {
		counted = r.account().Messages
		return results.Target{}
	})
	close(enough)
	<-ended
	if err != nil {
		t.Fatal(err)
	}
	recorded := bytes.Count(out.Bytes(), []byte("\n")) - 1 // without the record of the end
	if counted != int64(recorded) || recorded <= 100 {
		t.Errorf("%d messages are recorded, and %d counted", recorded, counted)
	}
}

// Both directions record at once, and the lines of each are in the order of their times. A line may
// stand behind a later one of the other direction: a message is recorded after its write.
func TestEachDirectionIsInTheOrderOfTime(t *testing.T) {
	var out bytes.Buffer
	rec := newRecorder(Options{Run: "r", Record: &out})
	var passing sync.WaitGroup
	for _, track := range []*track{rec.track(fromClient), rec.track(fromServer)} {
		passing.Go(func() {
			r := newRelay(nil, nil, track, lines())
			for range 1000 {
				r.record([]byte(`{"id":1,"method":"m"}`+"\n"), r.track.now(), 0)
			}
		})
	}
	passing.Wait()
	rec.flush()
	last := make(map[string]int64)
	count := 0
	for line := range bytes.Lines(out.Bytes()) {
		var m results.Message
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if m.T < last[m.Dir] {
			t.Fatalf("a %s at %d stands behind one at %d", m.Dir, m.T, last[m.Dir])
		}
		last[m.Dir] = m.T
		count++
	}
	if count != 2000 {
		t.Errorf("%d messages are recorded, want 2000", count)
	}
}

// sizes are those of the messages that were recorded, in their order; a gap is 0.
func sizes(t *testing.T, recording []byte) (list []int64) {
	t.Helper()
	for line := range bytes.Lines(recording) {
		var m results.Message
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		list = append(list, m.Size)
	}
	return list
}

// What a read brought and does not fit is left out whole, and a line in its place tells of it.
func TestWhatIsNotWrittenInTimeLeavesAGap(t *testing.T) {
	var out bytes.Buffer
	rec := newRecorder(Options{Run: "r", Record: &out})
	rec.limit = 150
	rec.due = true // by hand: no timer writes in between
	track := rec.track(fromServer)
	pass := func(size int64) {
		track.begin()
		track.record(&message{size: size})
		track.end()
	}
	for size := range int64(1000) {
		pass(size + 1) // two fit, with lines of about 70 bytes
	}
	if n := len(rec.lines); n > rec.limit {
		t.Errorf("%d bytes wait, want %d at most", n, rec.limit)
	}
	rec.flush()
	pass(1001)
	rec.flush()
	if got := sizes(t, out.Bytes()); !slices.Equal(got, []int64{1, 2, 0, 1001}) {
		t.Errorf("recorded %v, want a gap between 2 and 1001:\n%s", got, &out)
	}
	if a := track.account; a.Messages != 1001 || a.Gaps != 1 || a.MessagesMissing != 998 {
		t.Errorf("counted %+v", a)
	}
}
