package bench

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/results"
)

func TestALoadIsAccountedFor(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*results.Cell)
		keys   []string
	}{
		{
			"an open loop one way", func(c *results.Cell) { c.Rate = 20_000 },
			[]string{"due", "oneway", "lateness"},
		},
		{
			"an open loop there and back",
			func(c *results.Cell) { c.Rate, c.Pattern = 10_000, "roundtrip" },
			[]string{"due", "roundtrip", "lateness"},
		},
		{"the same with raw messages in threads", func(c *results.Cell) {
			c.Rate, c.Pattern, c.Framing = 10_000, "roundtrip", "raw"
		}, []string{"due", "roundtrip", "lateness"}},
		{
			"a closed loop of several",
			func(c *results.Cell) { c.Inflight, c.Pattern = 8, "roundtrip" }, []string{"roundtrip"},
		},
		{"more on the way than both pipes hold", func(c *results.Cell) {
			c.Inflight, c.Pattern, c.Size = 8, "roundtrip", 1<<17
		}, []string{"roundtrip"}},
	} {
		p := small(cell(c.change))
		// a loop that a busy machine keeps waiting is given up after twice that
		p.Duration = 100 * time.Millisecond
		for _, r := range collect(t, p) {
			for _, s := range r.Samples {
				if len(s.Latency) != len(c.keys) || (s.Load != nil) != (r.Cell.Rate > 0) {
					t.Errorf("%s: latencies %v, load %+v", c.name, s.Latency, s.Load)
				}
				for _, key := range c.keys {
					if l := s.Latency[key]; l.Count != s.Messages || l.MaxNS < l.MinNS {
						t.Errorf("%s: %s of %d messages: %+v", c.name, key, s.Messages, l)
					}
				}
				l := s.Load
				if l != nil && (l.Sent+l.Unsent != l.Due || l.Sent != s.Messages ||
					(l.Achieved > 0) != (l.Sent > 0)) {
					t.Errorf("%s: %d messages, %+v", c.name, s.Messages, l)
				}
			}
		}
	}
}

// A reader that allows itself 1 MB/s cannot take 64 MB/s: the generator gives up, says what it did
// not send, and what it sent is still checked.
func TestAnOverloadIsConfessed(t *testing.T) {
	t.Parallel() // it mostly waits
	p := small(cell(func(c *results.Cell) { c.Rate, c.Size, c.Drain = 1000, 1<<16, 1<<20 }))
	p.Samples, p.Duration = 1, 100*time.Millisecond
	r := collect(t, p)[0]
	l := r.Samples[0].Load
	if l.Unsent == 0 || l.Sent != r.Samples[0].Messages || l.Achieved > 500 {
		t.Errorf("%+v", l)
	}
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "of the rate asked for") {
		t.Errorf("warnings: %q", r.Warnings)
	}
}

// A client that gives an open loop up ends it for the server, too.
func TestAnOverloadThereAndBackEnds(t *testing.T) {
	p := small(cell(func(c *results.Cell) {
		c.Rate, c.Pattern, c.Size = 1e6, "roundtrip", 1<<16
	}))
	p.Samples, p.Duration = 1, 5*time.Millisecond
	if l := collect(t, p)[0].Samples[0].Load; l.Unsent == 0 {
		t.Errorf("%+v", l)
	}
}

func TestWhatALoadCannotBe(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*results.Cell)
		says   string
	}{
		{
			"both loops",
			func(c *results.Cell) { c.Rate, c.Inflight, c.Pattern = 1, 2, "roundtrip" },
			"one of them",
		},
		{"places in a stream", func(c *results.Cell) { c.Inflight = 2 }, "round trips"},
		{
			"pages lent to a framing", func(c *results.Cell) { c.Transfer = "vmsplice" },
			"raw streams",
		},
		{"an unknown transfer", func(c *results.Cell) { c.Transfer = "teleport" }, "vmsplice"},
		{"a batch of what is paced", func(c *results.Cell) { c.Batch, c.Rate = 8, 100 }, "batch"},
		{
			"a drained answerer", func(c *results.Cell) { c.Drain, c.Pattern = 8, "roundtrip" },
			"drain",
		},
	} {
		err := small(cell(c.change)).Validate()
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want something of %q", c.name, err, c.says)
		}
	}
}

// The account of a load is held in memory, two moments a message in each worker.
func TestALoadThatCannotBeAccountedForIsRefused(t *testing.T) {
	p := small(cell(func(c *results.Cell) { c.Rate = 1e12 }))
	err := p.Validate()
	if err == nil || !strings.Contains(err.Error(), "2000000000 messages a sample") {
		t.Errorf("got %v", err)
	}
	p.Cells[0].Rate = 1e9
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
}

func TestABatchLeavesInOneCall(t *testing.T) {
	p := small(cell(func(c *results.Cell) { c.Batch = 10 }))
	for _, s := range collect(t, p)[0].Samples {
		most := s.Messages/10 + cpuSamples + 1
		if s.Writer.Calls > most { // the CPU is looked at between batches
			t.Errorf("%d messages in %d calls, not %d", s.Messages, s.Writer.Calls, most)
		}
	}
}

// TestASlowReaderMakesUpForLateSleeps has the last message of each sixteenth come late, by less
// than a reader may make up for; time is the bubble's own.
func TestASlowReaderMakesUpForLateSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, rate, late = 160, 100 << 20, catchUp / 4
		source, err := payload.Generate("json", 4<<10, 1)
		if err != nil {
			t.Fatal(err)
		}
		e := &endpoint{
			cpus: map[int]bool{}, pace: pace{PerSecond: rate},
			preparedCell: preparedCell{source: source},
		}
		next := int64(0)
		e.r = readerFunc(func() ([]byte, error) {
			if next%(n/cpuSamples) == n/cpuSamples-1 {
				time.Sleep(late)
			}
			next++
			return source.Message(next - 1), nil
		})
		e.exchange, e.Messages = e.receive, n
		began := time.Now()
		if err := e.runMessages(); err != nil {
			t.Fatal(err)
		}
		took, due := time.Since(began), time.Duration(n*4<<10)*time.Second/rate
		if took < due-time.Microsecond || took > due+late {
			t.Errorf("%d messages took %v, where the rate allows them in %v", n, took, due)
		}
	})
}

// A readerFunc is a Reader of messages.
type readerFunc func() ([]byte, error)

func (f readerFunc) ReadMessage() ([]byte, error) { return f() }

func TestADrainHoldsTheReaderUp(t *testing.T) {
	t.Parallel() // it mostly waits
	p := small(cell(func(c *results.Cell) { c.Size, c.Drain = 1<<16, 10<<20 }))
	p.Duration = 50 * time.Millisecond
	for _, s := range collect(t, p)[0].Samples {
		if speed := float64(s.PayloadBytes) / (float64(s.ElapsedNS) / 1e9); speed > 10*(1<<20) {
			t.Errorf("%d messages at %.0f B/s", s.Messages, speed)
		}
	}
}

func TestLentPagesArrive(t *testing.T) {
	var cells []results.Cell
	for _, transfer := range []string{"vmsplice"} {
		c := cell(func(c *results.Cell) { c.Framing, c.Size, c.Transfer = "raw", 1<<16, transfer })
		if err := Unsupported(c); err != nil {
			t.Skip(err)
		}
		cells = append(cells, c)
	}
	kept := collect(t, small(cells...))
	for _, r := range kept {
		if err := complete(r, hasLeftOut(kept)); err != nil {
			t.Errorf("%s: %v", r.Cell.Transfer, err)
		}
	}
}

func TestTheSharedClockIsTheSameForAll(t *testing.T) {
	a, err := newClock()
	if err != nil {
		t.Fatal(err)
	}
	b, err := newClock()
	if err != nil {
		t.Fatal(err)
	}
	first, second, third := a.now(), b.now(), a.now()
	if slack := int64(time.Millisecond); second < first-slack || second > third+slack {
		t.Errorf("one clock reads %d, another %d, the first again %d", first, second, third)
	}
}

// The zero pace holds nothing up.
func TestAPaceOfNothing(t *testing.T) {
	var p pace
	if got := p.Take(1000, 77); got != 77 {
		t.Errorf("got %d", got)
	}
	p.wait(1000)
}

func TestAPaceDoesNotDrift(t *testing.T) {
	p := schedule{start: 1000, period: 1e9 / 3.0}
	if got, want := p.due(3_000_000), int64(1000+1e15); got < want-1 || got > want+1 {
		t.Errorf("message 3,000,000 is due at %d, not %d", got, want)
	}
}
