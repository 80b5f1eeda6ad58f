// Package measure makes the cells of a run: a [Sweep] from what a person asks for, lists and ranges
// of framings, sizes, pipes and placements; a [Shape] from the work of another benchmark; a profile
// from the limits of a machine that its pipes cannot pass, which are how fast it copies memory, and
// what raw bytes do between two processes for each placement of the ends.
//
//	asked := measure.DefaultSweep(topology)
//	asked.Sizes = []int{4096, 65536}
//	cells, err := asked.Cells()
//
//	speeds, err := measure.Memory(ctx, run, topology)
//	err = bench.Run(ctx, bench.Plan{Run: run, Cells: measure.ProfileCells(topology), …}, keep)
//	view := measure.ProfilePage(set)
//
// What is measured of framings is worth reading as a share of the profile of the same machine.
// [Memory] keeps all CPUs of a placement busy, so nothing else should be measured meanwhile; the
// other functions measure nothing and may be called concurrently.
package measure

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
)

// A Sweep is the product of its lists. An empty list stands for its default.
type Sweep struct {
	Framings   []string
	Sizes      []int // of messages, in bytes
	Chunks     []int // for the framings that split messages, where their spec has no size
	Pipes      []string
	Capacities []int // 0 leaves it to the operating system
	IOs        []string
	Placements []string
	Peers      []string
	Patterns   []string
	Payload    string
	Recording  *payload.Recording // replayed instead of generated messages

	Further results.Cell // its fields that are seldom off their default stand in every cell: rate, inflight, …
}

// What a run measures when nothing is asked for.
var (
	defaultFramings = []string{"raw", "ndjson", "content-length", "chunked", "length-prefix"}
	streamSizes     = []int{256, 4 << 10, 64 << 10, 1 << 20}
	roundtripSizes  = []int{256, 64 << 10}
)

// Default is the sweep that answers the first question most people have: what does each framing
// cost, between two processes, near and far.
func DefaultSweep(t placement.Topology) Sweep {
	return Sweep{
		Framings:   defaultFramings,
		Pipes:      []string{"anonymous"},
		Capacities: []int{0},
		IOs:        []string{"blocking"},
		Placements: t.Best(),
		Peers:      []string{"process"},
		Patterns:   []string{"stream", "roundtrip"},
		Payload:    "json",
	}
}

// Cells returns the product of the sweep's lists, in their order: the cells that a plan measures.
func (s Sweep) Cells() ([]results.Cell, error) {
	framings, err := s.framings()
	if err != nil {
		return nil, err
	}
	c := s.Further
	c.Payload = s.Payload
	if s.Recording != nil {
		c.Payload, c.Messages = payload.Recorded, s.Recording.Hash
	}
	var cells []results.Cell
	for _, c.Placement = range s.Placements {
		for _, c.Pattern = range s.Patterns {
			for _, c.Framing = range framings {
				for _, c.Size = range s.sizes(c.Pattern) {
					cells = append(cells, s.transports(c)...)
				}
			}
		}
	}
	if len(cells) == 0 {
		return nil, errors.New("nothing to measure: a list is empty")
	}
	return cells, nil
}

// transports returns a cell over each of the pipes, as each of the peers.
func (s Sweep) transports(c results.Cell) []results.Cell {
	var cells []results.Cell
	for _, c.Pipe = range s.Pipes {
		for _, c.Capacity = range s.Capacities {
			for _, c.IO = range s.IOs {
				for _, c.Peer = range s.Peers {
					cells = append(cells, c)
				}
			}
		}
	}
	return cells
}

// sizes returns those asked for, else the pattern's own; a recording's messages have theirs.
func (s Sweep) sizes(pattern string) []int {
	switch {
	case s.Recording != nil:
		return []int{0}
	case len(s.Sizes) > 0:
		return s.Sizes
	case pattern == "roundtrip":
		return roundtripSizes
	}
	return streamSizes
}

// allFramings asks for every framing.
const allFramings = "all"

// Framings returns all framings that can be measured, by name. Compressed chunks are the last.
func Framings() []string {
	var names []string
	for _, f := range framers.All() {
		names = append(names, f.String())
	}
	return append(names, "chunked+zstd")
}

// framings returns the canonical specs, each chunking one at each chunk size. Raw comes first: the
// others are compared with it.
func (s Sweep) framings() ([]string, error) {
	asked := s.Framings
	if slices.Contains(asked, allFramings) {
		asked = nil
		for _, name := range Framings() {
			name, _, _ = strings.Cut(name, ":") // the sizes of chunks may be asked for
			asked = append(asked, name)
		}
	}
	var specs []string
	split := false
	for _, spec := range asked {
		sized, err := s.chunked(spec)
		if err != nil {
			return nil, err
		}
		split = split || len(sized) > 1 || sized[0] != spec
		for _, one := range sized {
			f, err := framers.Parse(one)
			if err != nil {
				return nil, err
			}
			if name := f.String(); !slices.Contains(specs, name) {
				specs = append(specs, name)
			}
		}
	}
	if len(s.Chunks) > 0 && !split {
		return nil, fmt.Errorf("chunk sizes are for framings that split messages, such as chunked, where their name has no size: %s cannot use them", strings.Join(asked, ", "))
	}
	return specs, nil
}

// chunked gives a framing that splits messages each of the chunk sizes, unless its spec has one.
func (s Sweep) chunked(spec string) ([]string, error) {
	f, err := framers.Parse(spec)
	if err != nil {
		return nil, err
	}
	if _, splits := f.(framers.Chunker); !splits || strings.Contains(spec, ":") || len(s.Chunks) == 0 {
		return []string{spec}, nil
	}
	var sized []string
	for _, n := range s.Chunks {
		sized = append(sized, fmt.Sprintf("%s:%d", spec, n))
	}
	return sized, nil
}

// largest bounds what a person may ask for as one message: 1 GiB.
const largest = 1 << 30

// ParseSizes reads a list of sizes in bytes, ranges among them: "256,4KiB..1MiB" is 256 and each
// doubling from 4,096 to 1,048,576. The end of a range belongs to it though doubling misses it.
func ParseSizes(list string) ([]int, error) {
	var sizes []int
	for item := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(item, "..")
		if !isRange {
			to = from
		}
		first, err := parseSize(from)
		if err != nil {
			return nil, err
		}
		last, err := parseSize(to)
		if err != nil {
			return nil, err
		}
		if first > last || isRange && first == 0 {
			return nil, fmt.Errorf("range %q: its first size has to be above 0 and not above its last", item)
		}
		for n := first; ; n *= 2 {
			sizes = append(sizes, n)
			if n == 0 || n > last/2 {
				break
			}
		}
		if sizes[len(sizes)-1] != last {
			sizes = append(sizes, last)
		}
	}
	return sizes, nil
}

// ParseCapacities reads a list of pipe capacities in bytes. "default" leaves it to the operating
// system.
func ParseCapacities(list string) ([]int, error) {
	var capacities []int
	for item := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(item) == "default" {
			capacities = append(capacities, 0)
			continue
		}
		sizes, err := ParseSizes(item)
		if err != nil {
			return nil, err
		}
		capacities = append(capacities, sizes...)
	}
	return capacities, nil
}

func parseSize(s string) (int, error) {
	n, err := results.ParseSize(s)
	if err != nil {
		return 0, err
	}
	if n > largest {
		return 0, fmt.Errorf("size %q is above %s", s, results.FormatSize(largest))
	}
	return int(n), nil
}
