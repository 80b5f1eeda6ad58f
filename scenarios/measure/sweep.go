// Package measure makes the cells of a run: a [Sweep] from what a person asks for, lists and
// ranges of framings, sizes, pipes and placements; a [Shape] from the work of another benchmark; a
// profile from the limits of a machine that its pipes cannot pass, which are how fast it copies
// memory, and what raw bytes do between two processes for each placement of the ends.
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

// Default is the sweep that answers the first question most people have: what
// does each framing cost, between two processes, near and far.
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

// Cells is the product of the sweep's lists, in their order: the cells that a
// plan measures.
func (s Sweep) Cells() ([]results.Cell, error) {
	framings, err := s.framings()
	if err != nil {
		return nil, err
	}
	var cells []results.Cell
	for _, place := range s.Placements {
		for _, pattern := range s.Patterns {
			for _, framing := range framings {
				cells = append(cells, s.of(place, pattern, framing)...)
			}
		}
	}
	if len(cells) == 0 {
		return nil, errors.New("nothing to measure: a list is empty")
	}
	return cells, nil
}

// of is the part of the product that has one place, pattern and framing.
func (s Sweep) of(place, pattern, framing string) []results.Cell {
	var cells []results.Cell
	for _, size := range s.sizes(pattern) {
		for _, pipe := range s.Pipes {
			for _, capacity := range s.Capacities {
				for _, io := range s.IOs {
					for _, peer := range s.Peers {
						c := s.Further
						c.Framing, c.Size, c.Pipe, c.Capacity = framing, size, pipe, capacity
						c.IO, c.Placement, c.Peer, c.Pattern = io, place, peer, pattern
						cells = append(cells, s.fill(c))
					}
				}
			}
		}
	}
	return cells
}

// fill says what the messages are.
func (s Sweep) fill(c results.Cell) results.Cell {
	c.Payload = s.Payload
	if s.Recording != nil {
		c.Payload, c.Messages = payload.Recorded, s.Recording.Hash
	}
	return c
}

// sizes are those asked for, else the pattern's own; a recording's messages
// have theirs.
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

// framings are the canonical specs, each chunking one at each chunk size. Raw
// comes first: the others are compared with it.
func (s Sweep) framings() ([]string, error) {
	var specs []string
	for _, spec := range s.Framings {
		sized, err := s.chunked(spec)
		if err != nil {
			return nil, err
		}
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
	return specs, nil
}

// chunked gives a framing that splits messages each of the chunk sizes, unless
// its spec has one.
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
