package bench_test

import (
	"testing"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/benchtest"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

var framings = []string{"raw", "ndjson", "content-length", "chunked:61440", "length-prefix"}

// placed runs a cell on each placement that is worth comparing here.
func placed(b *testing.B, c results.Cell) {
	b.Helper()
	c.Pipe, c.Payload = orElse(c.Pipe, "anonymous"), "json"
	c.IO, c.Pattern = orElse(c.IO, "blocking"), orElse(c.Pattern, "stream")
	benchtest.Cells(b, bench.Placed(c)...)
}

func orElse(text, usual string) string {
	if text == "" {
		return usual
	}
	return text
}

func BenchmarkStream(b *testing.B) {
	for _, framing := range framings {
		for _, size := range []int{256, 4000, 65_000, 1_000_000} {
			placed(b, results.Cell{Framing: framing, Size: size})
		}
	}
}

// BenchmarkOther streams the framings that are for comparison alone: the tolerant reader of
// chunks, chunks of compressed text, and the two naive readers of lines.
func BenchmarkOther(b *testing.B) {
	for _, framing := range []string{
		"adaptive:61440", "chunked+zstd:61440", "ndjson-bytewise", "ndjson-rescan",
	} {
		for _, size := range []int{4000, 65_000} {
			placed(b, results.Cell{Framing: framing, Size: size})
		}
	}
}

func BenchmarkRoundtrip(b *testing.B) {
	for _, framing := range framings {
		for _, size := range []int{256, 65_000} {
			placed(b, results.Cell{Framing: framing, Size: size, Pattern: "roundtrip"})
		}
	}
}

// BenchmarkWriteSize is the same bytes on the wire in writes of several sizes, through a pipe of
// the usual capacity and through a larger one.
func BenchmarkWriteSize(b *testing.B) {
	for _, capacity := range []int{0, 1 << 20} {
		for _, size := range []int{0, 8 << 10, 64 << 10} {
			placed(b, results.Cell{
				Framing: "ndjson", Size: 1_000_000, Capacity: capacity, WriteSize: size,
			})
		}
	}
}

// BenchmarkFresh streams messages that are not in the cache to a reader that looks at them.
func BenchmarkFresh(b *testing.B) {
	for _, framing := range framings {
		placed(b, results.Cell{Framing: framing, Size: 65_000, Source: "fresh", Touch: true})
	}
}

// BenchmarkIO is the same bytes with each way to wait, at both ends.
func BenchmarkIO(b *testing.B) {
	for _, io := range syspipe.IOs() {
		if io.Supported() == nil {
			placed(b, results.Cell{Framing: "raw", Size: 65_000, IO: io.String()})
		}
	}
}

// BenchmarkPipe is the same bytes through each kind of pipe.
func BenchmarkPipe(b *testing.B) {
	for _, kind := range syspipe.Kinds() {
		if kind.Supported() == nil {
			placed(b, results.Cell{Framing: "raw", Size: 65_000, Pipe: string(kind)})
		}
	}
}

// waiting are ways in which a writer meets EAGAIN, before a reader that blocks.
var waiting = []string{"poll/blocking", "poller/blocking", "sleep=10ms/blocking"}

// BenchmarkEAGAIN is what writers meet that do not block: eagain/op counts the writes that the
// kernel refused.
func BenchmarkEAGAIN(b *testing.B) {
	for _, io := range waiting {
		for _, size := range []int{4000, 131_072} {
			c := results.Cell{Framing: "ndjson", Size: size, IO: io, Pipe: "anonymous"}
			c.Pattern, c.Payload = "stream", "json"
			benchtest.Cells(b, bench.Placed(c)[0])
		}
	}
}

// BenchmarkEPIPE is what becomes of a writer whose reader closes its end after a message: lost-B
// are the bytes that the pipe took and nobody read, told-ns is the time until the writer has its
// error.
func BenchmarkEPIPE(b *testing.B) {
	for _, io := range append([]string{"blocking"}, waiting...) {
		c := results.Cell{Framing: "ndjson", Size: 4000, IO: io, Pipe: "anonymous"}
		c.Pattern, c.Payload, c.ClosesAfter = "stream", "json", 1
		benchtest.Cells(b, bench.Placed(c)[0])
	}
}

// BenchmarkMixed is how long small messages wait behind large ones.
func BenchmarkMixed(b *testing.B) {
	for _, framing := range []string{"ndjson", "chunked:61440"} {
		placed(b, results.Cell{
			Framing: framing, Size: 1_000_000, Pattern: bench.PatternMixed, Rate: 5000,
		})
	}
}

// BenchmarkOwn is a framing that only this package's tests know.
func BenchmarkOwn(b *testing.B) { benchtest.Framing(b, bench.Own, 4000) }
