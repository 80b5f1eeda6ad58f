package bench

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// A writer whose reader leaves is told so, and what the pipe took meanwhile is counted apart: the
// sample is of the messages that the reader took. One that sleeps fills the pipe in each slice.
func TestAWriterIsToldThatItsReaderLeft(t *testing.T) {
	var cells []results.Cell
	for _, io := range []string{"poll/blocking", "poller/blocking", "sleep=1ms/blocking"} {
		for _, framing := range []string{"raw", "ndjson", "chunked:4096"} {
			for _, reader := range []results.Cell{{}, {ClosesAfter: 1}, {ClosesAfter: 3}} {
				cells = append(cells, cell(func(c *results.Cell) {
					c.Framing, c.Size, c.IO, c.ClosesAfter = framing, 4096, io, reader.ClosesAfter
				}))
			}
		}
	}
	cells = slices.DeleteFunc(append(cells,
		cell(func(c *results.Cell) { c.Pipe, c.ClosesAfter = string(syspipe.SocketPair), 2 })),
		func(c results.Cell) bool { return Unsupported(c) != nil })
	p := small(cells...)
	p.Forks = 2
	kept := collect(t, p)
	for _, r := range kept {
		if r.Unsupported != "" { // as Windows' anonymous pipes have no poller
			if err := refused(r.Cell); err != nil {
				t.Errorf("%s: %v", results.CellName(r.Cell), err)
			}
			continue
		}
		n := len(r.Samples)
		if n < p.Samples || n > p.Samples && !hasLeftOut(kept) || r.Verified == nil {
			t.Errorf("%s: %d samples, verified %v", results.CellName(r.Cell), len(r.Samples),
				r.Verified)
		}
		for _, s := range r.Samples {
			if *s.Reader.Short != 0 {
				t.Errorf("%s: a reader made %d short writes", results.CellName(r.Cell),
					*s.Reader.Short)
			}
			if r.Cell.ClosesAfter == 0 {
				pause, sleeps := sleepOf(r.Cell)
				if sleeps &&
					s.PayloadBytes < int64(s.Capacity) { // who reads fast enough refuses nothing
					t.Errorf(
						"%s: a writer that sleeps for %s did not fill the pipe: %+v",
						results.CellName(r.Cell),
						pause, s,
					)
				}
				continue
			}
			left, wire := s.Closed, s.WireBytes/s.Messages
			if left == nil || s.Messages != int64(r.Cell.ClosesAfter) ||
				s.WireBytes != s.Messages*wire || wire < int64(r.Cell.Size) ||
				wire > int64(r.Cell.Size)+200 {
				t.Fatalf("%s: %+v, left %+v", results.CellName(r.Cell), s, left)
			}
			if left.LostBytes <= 0 || left.ToldNS <= 0 || left.Error != "EPIPE" &&
				!(r.Cell.Pipe == "socketpair" && left.Error == "ECONNRESET") {
				t.Errorf("%s: %+v", results.CellName(r.Cell), *left)
			}
			hasSignal := runtime.GOOS != "windows"
			if hasSignal != (left.Signals != nil) || hasSignal && *left.Signals > 1 {
				t.Errorf("%s: signals %v", results.CellName(r.Cell), left.Signals)
			}
		}
	}
}

func TestAReaderThatLeavesIsOfAStream(t *testing.T) {
	p := small(cell(func(c *results.Cell) { c.Pattern, c.ClosesAfter = "roundtrip", 1 }))
	if err := p.Validate(); err == nil || !strings.Contains(err.Error(), "closes_after") {
		t.Errorf("got %v", err)
	}
}

// The workers of an open loop do one job alone, however many framings there are.
func TestSeveralFramingsAtARate(t *testing.T) {
	var cells []results.Cell
	for _, framing := range []string{"raw", "ndjson"} {
		cells = append(cells, cell(func(c *results.Cell) { c.Framing, c.Rate = framing, 2000 }))
	}
	kept := collect(t, small(cells...))
	if len(kept) != 2 || len(kept[0].Samples) != 2 || len(kept[1].Samples) != 2 {
		t.Errorf("got %+v", kept)
	}
}
