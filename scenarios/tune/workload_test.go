package tune

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/script"
)

// short is a cell that every system can run, and a plan of short samples.
func short(change func(*results.Cell)) (bench.Plan, results.Cell) {
	c := plain(Default().Cell, 4096, 0)
	c.Size, c.Placement, c.Rate = 32<<10, "free", 10_000
	change(&c)
	return bench.Plan{Run: "test", Duration: 12 * time.Millisecond, Seed: 1}, c
}

func TestEveryMessageOfASampleIsAccountedFor(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*results.Cell)
	}{
		{"chunks", func(c *results.Cell) {}},
		{"the smallest chunks", func(c *results.Cell) { c.Framing = "chunked:512" }},
		{"messages that are not cut", func(c *results.Cell) { c.Framing = "ndjson" }},
		{"a reader with a rate", func(c *results.Cell) { c.Drain = 20e6 }},
		{"a small pipe", func(c *results.Cell) { c.Capacity = 4096 }},
		{"a watermark", func(c *results.Cell) { c.Sender = "watermark=8192" }},
		{"frames sized by the rate", func(c *results.Cell) { c.Sender, c.Drain = "wait=100µs", 50e6 }},
		{"Go's poller", func(c *results.Cell) { c.IO = "poller" }},
		{"messages larger than the usual limit", func(c *results.Cell) { c.Size, c.Framing = 17<<20, "chunked:65536" }},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, c := short(row.change)
			if why := bench.Unsupported(c); why != nil {
				t.Skip(why)
			}
			s, err := takeSample(t.Context(), p, c)
			if bench.IsUnsupported(err) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			const probes = 120
			large := s.Messages - probes
			if l := s.Load; l.Due != probes || l.Sent != probes || l.Unsent != 0 || large < minLarge {
				t.Errorf("load %+v, %d large messages", l, large)
			}
			if want := large*int64(c.Size) + probes*ProbeSize; s.PayloadBytes != want || s.WireBytes <= want {
				t.Errorf("%d bytes of payload, want %d; %d on the wire", s.PayloadBytes, want, s.WireBytes)
			}
			for _, key := range []string{"due", "service", "lateness"} {
				if l := s.Latency[key]; l.Count != probes {
					t.Errorf("%s of %d probes", key, l.Count)
				}
			}
			if s.Latency["due"].MaxNS < s.Latency["service"].MinNS || s.Compared < 1 || s.ElapsedNS <= 0 {
				t.Errorf("due %+v, service %+v, compared %d, elapsed %d", s.Latency["due"], s.Latency["service"], s.Compared, s.ElapsedNS)
			}
		})
	}
}

func TestAProbeKeepsItsNumbers(t *testing.T) {
	msgs := newProbes(2)
	want := probe{number: 999, due: 1 << 60, sent: 77}
	want.stamp(msgs[1])
	if got, err := readProbe(msgs[1]); err != nil || got != want || !isProbe(msgs[1]) || isEnd(msgs[1]) || len(msgs[1]) != ProbeSize {
		t.Errorf("%+v, %v: %q", got, err, msgs[1])
	}
	end := endOf(5, 7)
	if got, err := readProbe(end); err != nil || got.number != 5 || got.due != 7 || !isProbe(end) || !isEnd(end) {
		t.Errorf("end: %+v, %v", got, err)
	}
	large, err := payload.Generate("json", ProbeSize, 1)
	if err != nil {
		t.Fatal(err)
	}
	if isProbe(large.Message(0)) {
		t.Error("a message of the same length passes for a probe")
	}
}

func TestABrokenProbeIsSeen(t *testing.T) {
	for _, row := range []struct {
		name string
		at   int
		want string
	}{
		{"its number at the head", probePlaces[0], "at its head"},
		{"its number at the tail", probePlaces[3] + digitCount - 1, "at its head"},
	} {
		t.Run(row.name, func(t *testing.T) {
			msg := newProbes(1)[0]
			probe{number: 3}.stamp(msg)
			msg[row.at] = '7'
			if _, err := readProbe(msg); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v", err)
			}
			msg[row.at] = '!'
			if _, err := readProbe(msg); err == nil || !strings.Contains(err.Error(), "hexadecimal") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestEachProbeCountsOnce(t *testing.T) {
	clock, err := bench.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		numbers []uint64
		sent    int64
		want    string // in the error
	}{
		{[]uint64{0, 69, 63, 64}, 4, ""},
		{[]uint64{0, 69, 63, 64}, 5, "4 probes came, 0 and 5 were sent"},
		{[]uint64{0, 69, 0}, 3, "probe 0 came twice"},
		{[]uint64{0, 69, 63, 69}, 4, "probe 69 came twice"},
		{[]uint64{70}, 1, "never sent"},
		{[]uint64{128}, 1, "never sent"},
		{[]uint64{1 << 40}, 1, "never sent"},
	} {
		var wire bytes.Buffer
		w := framers.NDJSON().NewWriter(&wire)
		for _, number := range row.numbers {
			msg := newProbes(1)[0]
			probe{number: number}.stamp(msg)
			if err := w.WriteMessage(msg); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.WriteMessage(endOf(0, row.sent)); err != nil {
			t.Fatal(err)
		}
		r := &reader{clock: clock, r: framers.NDJSON().NewReader(&wire)}
		err := script.Run(func() { r.phase(70, nil) })
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("probes %v: error %v, want %q", row.numbers, err, row.want)
		}
		if row.want == "" && len(r.due) != len(row.numbers) {
			t.Errorf("probes %v: %d times", row.numbers, len(r.due))
		}
	}
}

func TestAWatermarkHoldsTheWriterBack(t *testing.T) {
	w, r, err := syspipe.Open(syspipe.Anonymous, syspipe.Options{IO: syspipe.Blocking})
	if err != nil {
		t.Skip(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := w.Buffered(); err != nil {
		t.Skip(err)
	}
	for _, end := range []*syspipe.End{w, r} {
		if err := end.SetIO(syspipe.Poller); err != nil {
			t.Fatal(err)
		}
	}
	clock, err := bench.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	m := &watermark{pipe: w, clock: clock, below: 1000}
	done := make(chan error, 1)
	const writes = 200
	go func() {
		for range writes {
			if _, err := m.Write(make([]byte, 700)); err != nil {
				done <- err
				return
			}
		}
		done <- w.Close()
	}()
	most, total := 0, 0
	buf := make([]byte, 100)
	for {
		if unread, err := r.Buffered(); err == nil {
			most = max(most, unread)
		}
		n, err := r.Read(buf)
		if total += n; err != nil {
			break
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if total != writes*700 || most >= 1700 {
		t.Errorf("%d bytes came, up to %d of them unread", total, most)
	}
}

func TestADrainTakesNoMoreThanItsRate(t *testing.T) {
	clock, err := bench.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	for _, spin := range []bool{false, true} {
		const size, rate = 200_000, 20_000_000
		d := &slowReader{Pace: bench.Pace{PerSecond: rate}, r: strings.NewReader(strings.Repeat("x", size)), clock: clock, spin: spin}
		began := clock.Now()
		n, err := io.Copy(io.Discard, struct{ io.Reader }{d})
		took := clock.Now() - began
		if least := int64(size-readQuantum) * 1e9 / rate; err != nil || n != size || took < least {
			t.Errorf("%d bytes in %d ns, %v; at that rate they take %d", n, took, err, least)
		}
	}
}

func TestSendersAndRatesAreReadAsTheyAreWritten(t *testing.T) {
	for _, text := range []string{"", "watermark=16384", "wait=200µs"} {
		if s, err := parseSender(text); err != nil || s.String() != text {
			t.Errorf("%q became %q, %v", text, s, err)
		}
	}
	for _, text := range []string{"watermark=0", "watermark", "wait=fast", "wait=-1s", "politely"} {
		if _, err := parseSender(text); err == nil {
			t.Errorf("%q is taken for a sender", text)
		}
	}
	for text, want := range map[string]int64{"full": 0, "200MB/s": 200e6, "1.5GB/s": 1.5e9, "64kB/s": 64e3, " 12 B/s": 12, "100": 100} {
		if got, err := ParseDrain(text); err != nil || got != want {
			t.Errorf("%q is %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "fast", "-1MB/s", "0", "0.1B/s", "1TB/s"} {
		if got, err := ParseDrain(text); err == nil {
			t.Errorf("%q is taken for %d", text, got)
		}
	}
}

func TestWhatCannotBeTuned(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"no sizes", func(o *Options) { o.Chunks = nil }, "at least one chunk size"},
		{"a chunk smaller than its header", func(o *Options) { o.Chunks = []int{64} }, "a frame has a header"},
		{"large messages that are small", func(o *Options) { o.Cell.Size = 256 }, "larger than the small ones"},
		{"no small messages", func(o *Options) { o.Cell.Rate = 0 }, "have to be positive"},
		{"a reader that gives bytes back", func(o *Options) { o.Drains = []int64{-1} }, "cannot take"},
		{"an objective of one's own", func(o *Options) { o.Objective = "beauty" }, "balanced, throughput, latency"},
		{"a pipe that there is not", func(o *Options) { o.Cell.Pipe = "drain" }, "unknown pipe kind"},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := Default()
			o.Cell.Placement = "free"
			row.change(&o)
			if err := Run(t.Context(), o, nil); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want one with %q", err, row.want)
			}
		})
	}
}

// A true search, from the pipes to the records. It is ended from without, when each cell has had
// its coarse rounds, and keeps what it has.
func TestRunLeavesRecordsThatExplainThemselves(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := Default()
	o.Run, o.Cell.Placement, o.Cell.Size, o.Cell.Rate = "test", "free", 64<<10, 10_000
	o.Chunks, o.Drains, o.Variants = []int{4096, 65536}, []int64{0, 100e6}, false
	o.Duration, o.MaxTime = 10*time.Millisecond, 0
	const cells = 6 // two sizes and lines that are not cut, for two readers
	var set results.Set
	samples := 0
	o.Observe = func(p Progress) {
		if samples++; samples > coarseRounds*cells {
			cancel()
		}
	}
	if err := Run(ctx, o, func(r results.Tune) error { set.Add(r); return r.Validate() }); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if len(set.Tunes) != cells {
		t.Fatalf("%d cells of %d samples", len(set.Tunes), samples)
	}
	var out strings.Builder
	if err := View(&out, view.FormatTable, &set, o.Objective, view.Options{Detail: true}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "chunked:65536") || !strings.Contains(text, "this machine") {
		t.Error(text)
	}
}

// While the clock runs, nothing that is done for each message allocates.
func TestWhatIsTimedDoesNotAllocate(t *testing.T) {
	clock, err := bench.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	msg, buf := newProbes(1)[0], make([]byte, 64)
	d := &slowReader{Pace: bench.Pace{PerSecond: 1 << 40}, r: endless{}, clock: clock}
	number := uint64(0)
	allocs := testing.AllocsPerRun(1000, func() {
		probe{number: number, due: clock.Now()}.stamp(msg)
		if p, err := readProbe(msg); err != nil || !isProbe(msg) || p.number != number {
			t.Fatal(number, err)
		}
		number++
		if _, err := d.Read(buf); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations a message", allocs)
	}
}

// endless has bytes for ever.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
