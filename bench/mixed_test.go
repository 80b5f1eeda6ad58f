package bench

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
)

// mixedCell is a cell of large messages behind which small ones wait.
func mixedCell(framing string, change func(*results.Cell)) results.Cell {
	return cell(func(c *results.Cell) {
		c.Framing, c.Size, c.Pattern, c.Rate = framing, 1_000_000, PatternMixed, 2000
		change(c)
	})
}

func unchanged(*results.Cell) {}

func TestSmallMessagesGoBetweenLargeOnes(t *testing.T) {
	p := small(
		mixedCell("ndjson", unchanged),
		mixedCell("chunked:61440", unchanged),
		mixedCell("length-prefix", func(c *results.Cell) { c.WriteSize = 8192 }),
		mixedCell(
			"ndjson", func(c *results.Cell) { c.Source, c.Touch, c.Work = "fresh", true, 0.1 },
		),
		mixedCell("chunked:4096", func(c *results.Cell) { c.IO = "poll/blocking" }),
	)
	p.Duration, p.Samples = 10*time.Millisecond, 3
	const due = 20 // in a sample
	for _, r := range collect(t, p) {
		if len(r.Samples) < p.Samples {
			t.Errorf("%s: %d samples", results.CellName(r.Cell), len(r.Samples))
		}
		for _, s := range r.Samples {
			load, latency := s.Load, s.Latency["due"]
			if load == nil || load.Due != due || load.Sent != due || latency.Count != due {
				t.Fatalf("%s: load %+v, latency %+v", results.CellName(r.Cell), load, latency)
			}
			large := s.Messages - due
			want := large*int64(r.Cell.Size) + due*SmallSize
			if large < 1 || s.PayloadBytes != want {
				t.Errorf("%s: %d bytes in %d large messages", results.CellName(r.Cell),
					s.PayloadBytes, large)
			}
			if s.ElapsedNS < (due-1)*int64(time.Second)/2000 {
				t.Errorf("%s: took %d ns", results.CellName(r.Cell), s.ElapsedNS)
			}
		}
		if v := r.Verified; v == nil || v.Compared < minCompare || v.Sequence == 0 {
			t.Errorf("%s: verified %+v", results.CellName(r.Cell), v)
		}
	}
}

// Behind a slow reader a small message waits for the large one that is under way.
func TestASmallMessageWaitsForALargeOne(t *testing.T) {
	const drain = 100e6
	p := small(mixedCell("length-prefix", func(c *results.Cell) { c.Drain, c.Rate = drain, 1000 }))
	p.Duration = 50 * time.Millisecond
	for _, r := range collect(t, p) {
		large := time.Duration(float64(r.Cell.Size) / drain * 1e9) // that a large message takes
		for _, s := range r.Samples {
			wait := time.Duration(*s.Latency["due"].P50NS)
			if wait < large/5 {
				t.Errorf("small messages waited %s, and a large one takes %s", wait, large)
			}
		}
	}
}

// With a frame wait, large messages go in smaller frames as soon as the rate of the pipe is known.
func TestTheSizeOfFramesFollowsTheRate(t *testing.T) {
	slow := func(c *results.Cell) { c.Drain, c.Size = 50e6, 400_000 }
	p := small(
		mixedCell("chunked:61440", slow),
		mixedCell("chunked:61440", func(c *results.Cell) {
			slow(c)
			c.FrameWait = "200us" // at 50 MB/s that is 10 kB
		}),
	)
	p.Duration = 50 * time.Millisecond
	f, err := framers.Parse("chunked:61440")
	if err != nil {
		t.Fatal(err)
	}
	var small bytes.Buffer // on the wire
	if err := f.NewWriter(&small).WriteMessage(make([]byte, SmallSize)); err != nil {
		t.Fatal(err)
	}
	perMessage := map[string]int64{} // bytes of headers of a large message
	for _, r := range collect(t, p) {
		var overhead, messages int64
		for _, s := range r.Samples {
			large := s.Messages - s.Load.Due
			withEnd := (s.Load.Due + 1) * int64(small.Len()) // the last one says that it is over
			overhead += s.WireBytes - withEnd - large*int64(r.Cell.Size)
			messages += large
		}
		perMessage[r.Cell.FrameWait] = overhead / messages
	}
	if perMessage["200us"] <= perMessage[""] {
		t.Errorf("bytes of headers per large message: %v", perMessage)
	}
}

func TestWhatMixedCannotBe(t *testing.T) {
	for want, change := range map[string]func(*results.Cell){
		"needs a rate":         func(c *results.Cell) { c.Rate = 0 },
		"raw does not":         func(c *results.Cell) { c.Framing = "raw" },
		"large messages":       func(c *results.Cell) { c.Size = SmallSize },
		"leave out inflight":   func(c *results.Cell) { c.ClosesAfter = 1 },
		"can be accounted for": func(c *results.Cell) { c.Rate = 1e12 },
		"does not":             func(c *results.Cell) { c.FrameWait = "5ms" },
		"duration above zero":  func(c *results.Cell) { c.FrameWait = "soon" },
		"for the pattern": func(c *results.Cell) {
			c.FrameWait = "5ms"
			c.Pattern = "stream"
			c.Rate = 0
		},
		"cuts no message": func(c *results.Cell) { c.WriteSize = 1 << 20 },
	} {
		err := small(mixedCell("ndjson", change)).Validate()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", want, err)
		}
	}
}
