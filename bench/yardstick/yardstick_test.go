package yardstick

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
)

var pairs = flag.Int("pairs", 15, "how often each comparison with C is repeated")

func TestMain(m *testing.M) {
	bench.Worker()
	os.Exit(m.Run())
}

const capacity = 64 << 10

// A match is a cell that both languages run.
type match struct {
	cell results.Cell
	work Work
}

func matches(b *testing.B) []match {
	b.Helper()
	topology, err := placement.Read()
	if err != nil {
		b.Fatal(err)
	}
	var all []match
	add := func(pattern, peer, place string, size int) {
		cpus, err := topology.Choose(place)
		if err != nil {
			return
		}
		all = append(all, match{
			results.Cell{
				Framing: "raw", Size: size, Pipe: "anonymous", Capacity: capacity, IO: "blocking",
				Placement: place, Peer: peer, Pattern: pattern, Payload: "json",
				ReadBuffer: size, // as the C program reads
			},
			Work{Size: size, Capacity: capacity, WriterCPU: cpus.Writer, ReaderCPU: cpus.Reader, Threads: peer == "thread"},
		})
	}
	for _, place := range []string{"same", "apart"} {
		for _, peer := range []string{"process", "thread"} {
			for _, size := range []int{64, 4 << 10, 64 << 10, 1 << 20} {
				add("stream", peer, place, size)
			}
		}
		for _, size := range []int{1, 1 << 10, 64 << 10} {
			add("roundtrip", "process", place, size)
		}
	}
	return all
}

// BenchmarkAgainstC runs each cell in C and here, in turn, and reports the
// median of the ratios of the pairs with its 95 % interval: of goodput for
// streams, of the median trip for round trips. It does the same amount of work
// whatever b.N is.
func BenchmarkAgainstC(b *testing.B) {
	c := build(b)
	for _, m := range matches(b) {
		b.Run(fmt.Sprintf("%s/size=%d/peer=%s/placement=%s", m.cell.Pattern, m.cell.Size, m.cell.Peer, m.cell.Placement), func(b *testing.B) {
			var ratios []float64
			for range *pairs {
				ratios = append(ratios, m.ratio(b, c))
			}
			report(b, "Go/C", ratios)
		})
	}
}

// report is the median of the pairs' ratios, and its interval.
func report(b *testing.B, unit string, ratios []float64) {
	e := results.Median(ratios)
	b.ReportMetric(0, "ns/op") // the time of the comparison says nothing
	b.ReportMetric(e.Median, unit)
	if e.Interval != nil {
		b.ReportMetric(e.Interval.Lo, "low")
		b.ReportMetric(e.Interval.Hi, "high")
	}
}

// enough work for a sample of some tens of milliseconds.
const (
	streamBytes = 256 << 20
	trips       = 4000
)

// ratio is that of one pair, the C program first.
func (m match) ratio(b *testing.B, c *Program) float64 {
	b.Helper()
	if m.cell.Pattern == "roundtrip" {
		m.work.Count = trips
		us, err := c.Roundtrip(b.Context(), m.work)
		if err != nil {
			b.Fatal(err)
		}
		return float64(*m.measure(b).Latency["roundtrip"].P50NS) / 1000 / us
	}
	m.work.Count = max(64, min(streamBytes/int64(m.work.Size), 500_000))
	seconds, err := c.Stream(b.Context(), m.work)
	if err != nil {
		b.Fatal(err)
	}
	return seconds / (float64(m.measure(b).ElapsedNS) / 1e9)
}

func (m match) measure(b *testing.B) results.Sample {
	b.Helper()
	s, err := bench.Plan{Seed: 1, Duration: time.Second}.Measure(b.Context(), m.cell, m.work.Count)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func build(tb testing.TB) *Program {
	tb.Helper()
	c, err := Build(tb.Context(), tb.TempDir())
	if errors.Is(err, errors.ErrUnsupported) {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func TestTheYardstickRuns(t *testing.T) {
	c := build(t)
	w := Work{Size: 4096, Capacity: capacity, Count: 100, WriterCPU: -1, ReaderCPU: -1}
	if s, err := c.Stream(t.Context(), w); err != nil || s <= 0 {
		t.Errorf("stream: %v s, %v", s, err)
	}
	if us, err := c.Roundtrip(t.Context(), w); err != nil || us <= 0 {
		t.Errorf("round trip: %v µs, %v", us, err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	lost := w
	lost.WriterCPU = 100_000 // the writing end dies of it, and the other waits
	if _, err := c.Stream(short, lost); err == nil {
		t.Error("a CPU that is not there was taken")
	}
	w.Size = 0
	if _, err := c.Stream(t.Context(), w); err == nil {
		t.Error("messages of no bytes were sent")
	}
}
