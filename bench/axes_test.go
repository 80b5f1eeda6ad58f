package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
)

// atMegabyte is a stream of large messages through a framing.
func atMegabyte(framing string, change func(*results.Cell)) results.Cell {
	return cell(func(c *results.Cell) {
		c.Framing, c.Size = framing, 1_000_000
		change(c)
	})
}

// samplesOf runs a small plan of cells and returns the samples of each.
func samplesOf(t *testing.T, cells ...results.Cell) map[results.Cell][]results.Sample {
	t.Helper()
	samples := map[results.Cell][]results.Sample{}
	for _, r := range collect(t, small(cells...)) {
		if len(r.Samples) == 0 {
			t.Fatalf("%s: no samples: %s", results.CellName(r.Cell), r.Unsupported)
		}
		samples[r.Cell] = r.Samples
	}
	return samples
}

func TestNoWriteIsLargerThanTheWriteSize(t *testing.T) {
	const writeSize = 8192
	var cells []results.Cell
	for _, framing := range []string{
		"raw", "ndjson", "length-prefix", "content-length", "chunked:61440",
	} {
		for _, pattern := range []string{"stream", "roundtrip"} {
			cells = append(cells, atMegabyte(framing, func(c *results.Cell) {
				c.WriteSize, c.Pattern = writeSize, pattern
			}))
		}
	}
	for c, samples := range samplesOf(t, cells...) {
		for _, s := range samples {
			// A round trip's writer also reads: its calls and bytes hold both.
			least := (s.WireBytes + writeSize - 1) / writeSize
			if s.Writer.Calls < least {
				t.Errorf("%s: %d calls for %d bytes, want at least %d",
					results.CellName(c), s.Writer.Calls, s.WireBytes, least)
			}
		}
	}
}

func TestTheOffsetOfMessagesIsDrawnForEachFork(t *testing.T) {
	c := cell(func(c *results.Cell) { c.Size = 4000 })
	raw := cell(func(c *results.Cell) { c.Framing, c.Size = "raw", 4000 })
	p := small(c, raw)
	p.Forks, p.Samples = 2, 4
	first := collect(t, p)
	drawn := map[int]int{}
	for _, r := range first {
		for _, s := range r.Samples {
			if at, known := drawn[s.Fork]; known && at != s.PayloadOffset {
				t.Errorf("fork %d: offsets %d and %d", s.Fork, at, s.PayloadOffset)
			}
			drawn[s.Fork] = s.PayloadOffset
			if want := p.offsetOf(s.Fork); s.PayloadOffset != want {
				t.Errorf("fork %d: offset %d, want %d", s.Fork, s.PayloadOffset, want)
			}
		}
	}
	if len(drawn) != 2 || drawn[1] == drawn[2] {
		t.Errorf("offsets by fork: %v", drawn)
	}
}

func TestMessagesBeginWhereACellSays(t *testing.T) {
	var cells []results.Cell
	for _, offset := range []string{"0", "64", "4095"} {
		for _, framing := range []string{"raw", "ndjson"} {
			cells = append(cells, cell(func(c *results.Cell) {
				c.Framing, c.Size, c.PayloadOffset, c.ReadOffset = framing, 65_000, offset, offset
			}))
		}
	}
	want := map[string]int{"0": 0, "64": 64, "4095": 4095} // Go's allocator begins a page
	for c, samples := range samplesOf(t, cells...) {
		for _, s := range samples {
			if s.PayloadOffset != want[c.PayloadOffset] {
				t.Errorf("%s: messages began at %d", results.CellName(c), s.PayloadOffset)
			}
		}
	}
}

// Fresh messages, and readers that touch or work, deliver what others do.
func TestReadersThatDoSomethingWithTheBytes(t *testing.T) {
	var cells []results.Cell
	for _, framing := range []string{"raw", "ndjson", "chunked:4096"} {
		for _, pattern := range []string{"stream", "roundtrip"} {
			cells = append(cells, cell(func(c *results.Cell) {
				c.Framing, c.Pattern, c.Size = framing, pattern, 20_000
				c.Source, c.Touch = "fresh", true
			}), cell(func(c *results.Cell) {
				c.Framing, c.Pattern, c.Size, c.Work = framing, pattern, 20_000, 5
			}))
		}
	}
	for c, samples := range samplesOf(t, cells...) {
		for _, s := range samples {
			least := time.Duration(c.Work * float64(s.PayloadBytes))
			if took := time.Duration(s.ElapsedNS); took < least {
				t.Errorf(
					"%s: %d bytes took %s, and the work alone %s",
					results.CellName(c), s.PayloadBytes, took,
					least,
				)
			}
			if c.Work > 0 && s.Reader.CPUNS != nil && *s.Reader.CPUNS < least.Nanoseconds()*9/10 {
				t.Errorf("%s: the reader used %d ns of CPU of %s", results.CellName(c),
					*s.Reader.CPUNS, least)
			}
		}
	}
}

func TestMemoryThatCannotBe(t *testing.T) {
	for want, change := range map[string]func(*results.Cell){
		"is negative":              func(c *results.Cell) { c.WriteSize = -1 },
		"no room for a header":     func(c *results.Cell) { c.WriteSize = 1 },
		"cuts no message of 512 B": func(c *results.Cell) { c.WriteSize = 1000 },
		"written one by one":       func(c *results.Cell) { c.WriteSize, c.Batch = 100, 2 },
		`payload offset "4096"`:    func(c *results.Cell) { c.PayloadOffset = "4096" },
		`read offset "-1"`:         func(c *results.Cell) { c.ReadOffset = "-1" },
		`read offset "0x10"`:       func(c *results.Cell) { c.ReadOffset = "0x10" },
		`source "cold" is unknown`: func(c *results.Cell) { c.Source = "cold" },
		"fresh is for generated": func(c *results.Cell) {
			c.Source, c.Messages = "fresh", "abc"
		},
		"want at most 100000":       func(c *results.Cell) { c.Work = 1e9 },
		"not a number of zero or m": func(c *results.Cell) { c.Work = 0.0 / zero },
	} {
		err := small(cell(change)).Validate()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", want, err)
		}
	}
}

var zero float64
