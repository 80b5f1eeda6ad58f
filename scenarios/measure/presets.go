package measure

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// A Preset is a list of measurements that answer one question.
type Preset struct {
	Name string
	What string // what the measurements show, in one line
	// Cells returns what the preset measures on a machine with these CPUs.
	Cells func(placement.Topology) []results.Cell
}

// The presets. A run without any choice by the user measures Default and Waiting.
var (
	Default = Preset{Name: "default", What: "what a framing costs, alone and in a program that " +
		"parses the messages, and what a larger pipe and smaller writes gain", Cells: defaultCells}
	Waiting = Preset{Name: "waiting", What: "how often a writer that does not block is refused " +
		"(EAGAIN), and when it learns that its reader left (EPIPE)", Cells: waitingCells}
	Large  = Preset{Name: "large", What: "messages of 16 MB", Cells: largeCells}
	Limits = Preset{Name: "limits", What: "how fast raw bytes pass through a pipe here",
		Cells: limitCells}
	Readers = Preset{Name: "readers", What: "whether the time per byte of three line readers " +
		"grows with the size of the line", Cells: readerCells}
)

func Presets() []Preset { return []Preset{Default, Waiting, Large, Limits, Readers} }

func FindPreset(name string) (Preset, error) {
	var names []string
	for _, p := range Presets() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Preset{}, fmt.Errorf("preset %q is unknown; known are %s",
		name, strings.Join(names, ", "))
}

// defaultCells returns measurements of the framings alone and in a program that parses the
// messages, of large messages through a larger pipe, and of small messages behind large ones.
func defaultCells(t placement.Topology) []results.Cell {
	cells := mustCells(t, Sweep{})
	cells = append(cells, mustCells(t, Sweep{
		Patterns: []string{"stream"},
		Sizes:    []int{programSize},
		Further:  results.Cell{Source: "fresh", Work: parserWork},
	})...)
	for _, place := range t.Best() {
		for _, capacity := range []int{0, largerPipe} {
			for _, writeSize := range []int{0, 64 << 10, 8 << 10} {
				c := results.UsualCell(baseFraming, "stream", place, baseSize)
				c.Capacity = capacity
				c.WriteSize = writeSize
				// The list may already have the measurement with the usual pipe and whole writes.
				if !slices.Contains(cells, c) {
					cells = append(cells, c)
				}
			}
		}
	}
	for _, framing := range []string{baseFraming, "chunked:61440"} {
		best := t.Best()
		c := results.UsualCell(framing, bench.PatternMixed, best[len(best)-1], baseSize)
		c.Drain = slowReader // so slow that all messages have to wait
		c.Rate = 8000        // small messages/s: enough in a usual sample for a median
		cells = append(cells, c)
	}
	return cells
}

// Values in the cells of the preset "default".
const (
	programSize = 65_000  // bytes of a message that the program makes and parses
	largerPipe  = 1 << 20 // bytes: the most that Linux usually allows without privileges

	// Of the large messages.
	baseFraming = "ndjson"
	baseSize    = 1_000_000 // bytes
)

// mustCells returns s.Cells(t) for a sweep s that this package itself defines.
func mustCells(t placement.Topology, s Sweep) []results.Cell {
	cells, err := s.Cells(t)
	if err != nil {
		panic(err) // a preset names an unknown framing: a defect of this package
	}
	return cells
}

// parserWork is the CPU time, in ns, that a reader spends on each byte. Most parsers of JSON spend
// more.
const parserWork = 1

// slowReader is the speed of a slow reader, in bytes per second. A server that parses JSON is about
// as slow.
const slowReader = 50_000_000

// waitingCells returns measurements of a writer that does not block and whose reader is fast, is
// slow, or leaves.
func waitingCells(t placement.Topology) []results.Cell {
	ways := []syspipe.IO{syspipe.Poll, syspipe.Poller, syspipe.Sleep(time.Millisecond)}
	var cells []results.Cell
	for _, way := range ways {
		for _, size := range []int{4000, 130_000} {
			fast := results.UsualCell("ndjson", "stream", t.Best()[0], size)
			fast.IO = way.String() + "/" + syspipe.Blocking.String() // writer, then reader
			slow := fast
			slow.Drain = slowReader
			leaving := fast
			leaving.ClosesAfter = 1
			cells = append(cells, fast, slow, leaving)
		}
	}
	return cells
}

func largeCells(t placement.Topology) []results.Cell {
	return mustCells(t, Sweep{Patterns: []string{"stream"}, Sizes: []int{16_000_000}})
}

// limitCells returns streams and round trips of raw bytes, for each way to place the two processes
// on the CPUs of this machine.
func limitCells(t placement.Topology) []results.Cell {
	var cells []results.Cell
	for _, p := range placement.Places() {
		place := p.Name
		if _, err := t.Choose(place); err != nil {
			continue // this machine does not have the placement
		}
		for _, size := range []int{4 << 10, 64 << 10, 1 << 20} {
			stream := results.UsualCell(results.FramingRaw, "stream", place, size)
			cells = append(cells, stream)
		}
		lent := results.UsualCell(results.FramingRaw, "stream", place, 64<<10)
		lent.Transfer = results.TransferVmsplice
		cells = append(cells, lent)
		for _, size := range []int{1, 64 << 10} {
			trip := results.UsualCell(results.FramingRaw, results.PatternRoundtrip, place, size)
			cells = append(cells, trip)
		}
	}
	return cells
}

// readerCells returns streams for three readers of lines, and streams of raw bytes to compare with.
func readerCells(t placement.Topology) []results.Cell {
	return mustCells(t, Sweep{
		Framings:   []string{results.FramingRaw, "ndjson", "ndjson-rescan", "ndjson-bytewise"},
		Sizes:      []int{4000, 65_000, 256_000, 1_000_000, 4_000_000},
		Patterns:   []string{"stream"},
		Placements: t.Best()[:1],
	})
}
