// Package tune answers how messages of one size should be sent on this machine: through a larger
// pipe, in smaller writes, in chunk frames, or as they are. It is for pipebench's commands and may
// change.
//
//	cells := tune.Cells(topology, tune.Options{Size: 1_000_000, Framing: "ndjson"})
//	err := bench.Run(ctx, bench.Plan{Cells: cells, …}, keep)
//	decision := tune.Decide(set.Records, tune.Balanced)
//	for _, sentence := range decision.Answer(nil).Sentences { … }
//
// [Decide] needs only the records, so it can also judge an earlier run. The figures hold only for
// this machine, and for the readers that [Cells] asks for.
package tune

import (
	"fmt"
	"strings"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
)

// Options say what is sent.
type Options struct {
	Size    int    // bytes of a large message
	Framing string // framing of messages that are not cut into chunks, such as ndjson
}

// SliceTime is about how long one sample takes. It is enough for several messages of a megabyte.
const SliceTime = 12 * time.Millisecond

// A Choice is a way to send messages. The zero Choice writes each message whole, through a pipe of
// the usual capacity.
type Choice struct {
	Capacity  int `json:"capacity,omitempty"`   // bytes of the pipe; either end can set it
	WriteSize int `json:"write_size,omitempty"` // most bytes per write; the bytes sent are the same
	Chunk     int `json:"chunk,omitempty"`      // bytes of a chunk frame; both ends must know them
}

// unchanged is the Choice with which all others are compared.
var unchanged = Choice{}

// choices are the ways to send that are compared, the simplest change first. A larger pipe takes a
// call at either end, smaller writes take a change of the writer, and chunks take another protocol.
// Small messages wait longer in a larger pipe.
var choices = []Choice{
	unchanged,
	{Capacity: 256 << 10},
	{Capacity: 1 << 20},
	{Capacity: 256 << 10, WriteSize: 64 << 10},
	{Capacity: 1 << 20, WriteSize: 64 << 10},
	{WriteSize: 64 << 10},
	{WriteSize: 32 << 10},
	{WriteSize: 16 << 10},
	{WriteSize: 8 << 10},
	{WriteSize: 4 << 10},
	{Chunk: 4 << 10},
	{Chunk: 16 << 10},
	{Chunk: 60 << 10},
	{Chunk: 256 << 10},
}

// fits reports whether messages of a size are large enough for the choice to make a difference.
func (c Choice) fits(size int) bool { return c.WriteSize < size && c.Chunk < size }

// String names the choice: "a pipe of 1 MiB and writes of 64 KiB".
func (c Choice) String() string {
	if c.Chunk > 0 {
		return "frames of " + results.FormatSize(int64(c.Chunk))
	}
	pipe := "a pipe of " + results.FormatSize(int64(c.Capacity))
	writes := "writes of " + results.FormatSize(int64(c.WriteSize))
	switch {
	case c.Capacity > 0 && c.WriteSize > 0:
		return pipe + " and " + writes
	case c.Capacity > 0:
		return pipe
	case c.WriteSize > 0:
		return writes
	}
	return "whole messages through the usual pipe"
}

// short returns the choice's name for a table: "pipe 1 MiB, writes 64 KiB".
func (c Choice) short() string {
	if c == unchanged {
		return "whole, usual pipe"
	}
	text := strings.ReplaceAll(c.String(), "a pipe of", "pipe")
	text = strings.ReplaceAll(text, " and ", ", ")
	return strings.ReplaceAll(text, " of ", " ")
}

// A reader says what the receiving end does with the bytes.
type reader struct {
	work  float64 // ns of CPU per byte
	drain int64   // most bytes per second that it takes; 0: no limit
}

// The readers to measure with. One that parses JSON spends more than 1 ns per byte.
var (
	movingReader   = reader{} // only moves the bytes
	workingReaders = []reader{{work: 1}, {work: 5}}
	slowReaders    = []reader{{drain: 200_000_000}, {drain: 20_000_000}}
)

// smallRate is how many small messages per second are sent between large ones in
// [bench.PatternMixed].
const smallRate = 4000

// Cells returns what to measure on a machine with the CPUs of t.
func Cells(t placement.Topology, o Options) []results.Cell {
	var cells []results.Cell
	for _, place := range t.BestAndFree() {
		for _, c := range choices {
			if !c.fits(o.Size) {
				continue
			}
			cells = append(cells, o.cell(c, place, "stream", movingReader))
			if c.Chunk == 0 {
				cells = append(cells, o.cell(c, place, results.PatternRoundtrip, movingReader))
			}
		}
	}
	for _, c := range choices {
		if !c.fits(o.Size) {
			continue
		}
		if c.Chunk == 0 && (c.WriteSize == 0 || c.Capacity > 0) {
			for _, r := range workingReaders {
				cells = append(cells, o.cell(c, "free", "stream", r))
			}
		}
		if c.WriteSize == 0 { // the size of writes does not change who waits for whom
			for _, r := range slowReaders {
				cells = append(cells, o.cell(c, "free", bench.PatternMixed, r))
			}
		}
	}
	return cells
}

// cell returns the measurement of the choice c, as in the result of [Cells].
func (o Options) cell(c Choice, place, pattern string, r reader) results.Cell {
	cell := results.UsualCell(o.Framing, pattern, place, o.Size)
	cell.Capacity = c.Capacity
	cell.WriteSize = c.WriteSize
	cell.Work = r.work
	cell.Drain = r.drain
	if c.Chunk > 0 {
		cell.Framing = fmt.Sprintf("chunked:%d", c.Chunk)
	}
	if pattern == bench.PatternMixed {
		cell.Rate = smallRate
	}
	return cell
}

func choiceOf(c results.Cell) Choice {
	return Choice{Capacity: c.Capacity, WriteSize: c.WriteSize, Chunk: results.ChunkSize(c.Framing)}
}
