// Package measure makes lists of cells. A cell ([results.Cell]) is one combination of everything
// that can be varied, such as a framing, a message size and a kind of pipe.
//
//	asked := measure.Sweep{Sizes: []int{4000, 65_000}}
//	cells, err := asked.Cells(topology)
//
//	err = bench.Run(ctx, bench.Plan{Run: run, Cells: measure.Limits.Cells(topology)}, keep)
//
// A [Sweep] makes all combinations of some values. A [Preset] is a list that has a name. All
// functions may be called concurrently. The package is for pipebench's commands and may change.
package measure

import (
	"cmp"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/syspipe"
)

// A Sweep makes a measurement for each combination of the values in its lists. An empty list stands
// for the usual values.
type Sweep struct {
	Framings   []string
	Sizes      []int // of messages, in bytes; empty: the usual sizes of each pattern
	Chunks     []int // in bytes, for framings that split messages and are named without a size
	Pipes      []string
	Capacities []int // of pipes, in bytes; 0 leaves the capacity to the operating system
	WriteSizes []int // the most bytes per write; 0 writes each message whole
	IOs        []string
	Placements []string
	Patterns   []string
	Payload    string             // "" is JSON
	Recording  *payload.Recording // if set, its messages are sent instead of generated ones

	Further results.Cell // for all combinations: fields that are seldom set, such as Rate and Drain
}

// These sizes are not powers of two: if a message exactly filled the pages of a pipe, its header
// would need another page.
var (
	streamSizes    = []int{256, 4000, 65_000, 1_000_000}
	roundtripSizes = []int{256, 65_000}
)

var usualFramings = []string{
	results.FramingRaw, "ndjson", "content-length", "chunked", "length-prefix",
}

// withDefaults fills the empty lists of the sweep with the usual values.
func (s Sweep) withDefaults(t placement.Topology) Sweep {
	s.Framings = orUsual(s.Framings, usualFramings...)
	s.Pipes = orUsual(s.Pipes, string(syspipe.Anonymous))
	s.Capacities = orUsual(s.Capacities, 0)
	s.WriteSizes = orUsual(s.WriteSizes, 0)
	s.IOs = orUsual(s.IOs, syspipe.Blocking.String())
	s.Placements = orUsual(s.Placements, t.Best()...)
	s.Patterns = orUsual(s.Patterns, "stream", results.PatternRoundtrip)
	s.Payload = cmp.Or(s.Payload, "json")
	return s
}

func orUsual[T any](asked []T, usual ...T) []T {
	if len(asked) == 0 {
		return usual
	}
	return asked
}

// Cells returns a cell for each combination of the values, in the order of the lists.
func (s Sweep) Cells(t placement.Topology) ([]results.Cell, error) {
	s = s.withDefaults(t)
	framings, err := s.framings()
	if err != nil {
		return nil, err
	}
	c := s.Further
	c.Payload = s.Payload
	if s.Recording != nil {
		c.Payload = payload.Recorded
		c.Messages = s.Recording.Hash
	}
	var cells []results.Cell
	for _, place := range s.Placements {
		c.Placement = place
		for _, pattern := range s.Patterns {
			c.Pattern = pattern
			for _, framing := range framings {
				c.Framing = framing
				for _, size := range s.sizes(pattern) {
					c.Size = size
					cells = append(cells, s.overPipes(c)...)
				}
			}
		}
	}
	return cells, nil
}

// overPipes returns a copy of c for each combination of the values that concern the pipe.
func (s Sweep) overPipes(c results.Cell) []results.Cell {
	var cells []results.Cell
	for _, pipe := range s.Pipes {
		for _, capacity := range s.Capacities {
			for _, io := range s.IOs {
				for _, writeSize := range s.WriteSizes {
					c.Pipe = pipe
					c.Capacity = capacity
					c.IO = io
					c.WriteSize = writeSize
					cells = append(cells, c)
				}
			}
		}
	}
	return cells
}

// BesideRaw adds measurements with the framing "raw", because runs are compared by their speeds
// relative to "raw". Before each measurement that can be compared between runs, it adds the same
// one with "raw", unless the list has it already.
func BesideRaw(cells []results.Cell) []results.Cell {
	var out []results.Cell
	for _, c := range cells {
		raw := c
		raw.Framing = results.FramingRaw
		known := slices.Contains(cells, raw) || slices.Contains(out, raw)
		sendsNothing := c.Size == 0 && c.Messages == ""
		if !known && !sendsNothing && !stat.Incomparable(c) {
			out = append(out, raw)
		}
		out = append(out, c)
	}
	return out
}

// sizes returns the sizes of messages to measure with this pattern.
func (s Sweep) sizes(pattern string) []int {
	if s.Recording != nil {
		return []int{0} // its messages have sizes of their own
	}
	if len(s.Sizes) > 0 {
		return s.Sizes
	}
	if pattern == results.PatternRoundtrip {
		return roundtripSizes
	}
	return streamSizes
}

// Framings returns the specs of all framings that can be measured.
func Framings() []string {
	var specs []string
	for _, f := range framers.All() {
		specs = append(specs, f.String())
	}
	return append(specs, "chunked+zstd")
}

// framings returns the framings that are asked for, each once, spelt in full. If a framing needs a
// chunk size and names none, it is returned once with each size of s.Chunks.
func (s Sweep) framings() ([]string, error) {
	asked := s.Framings
	if slices.Contains(asked, "all") {
		asked = nil
		for _, spec := range Framings() {
			name, _, _ := strings.Cut(spec, ":") // drop the size: Chunks may have others
			asked = append(asked, name)
		}
	}
	var specs []string
	chunksUsed := false
	for _, spec := range asked {
		sized := []string{spec} // the spec, or one spec for each chunk size
		f, err := framers.Parse(spec)
		if err != nil {
			return nil, err
		}
		_, splits := f.(framers.Chunker)
		if splits && !strings.Contains(spec, ":") && len(s.Chunks) > 0 {
			chunksUsed = true
			sized = nil
			for _, n := range s.Chunks {
				sized = append(sized, fmt.Sprintf("%s:%d", spec, n))
			}
		}
		for _, text := range sized {
			f, err := framers.Parse(text)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(specs, f.String()) {
				specs = append(specs, f.String())
			}
		}
	}
	if len(s.Chunks) > 0 && !chunksUsed {
		return nil, fmt.Errorf("--chunk has no effect on %s: chunk sizes are for framings that "+
			"split messages and name no size, such as chunked", strings.Join(asked, ", "))
	}
	return specs, nil
}

// largestSize is the largest message that a person may ask for, in bytes.
const largestSize = 1 << 30

// groupedNumber matches a number whose digits are grouped by commas, as in tables.
var groupedNumber = regexp.MustCompile(`^[1-9]\d{0,2}(,\d{3})+$`)

// ParseSizes reads a list of sizes, such as "256,4KiB..1MiB", and returns them in bytes. The sizes
// of a range double from its beginning, and always include its end.
func ParseSizes(list string) ([]int, error) {
	if groupedNumber.MatchString(list) {
		return nil, fmt.Errorf("is %s one size? Write %s; for several sizes, give each its unit, "+
			"as in 65B,536B", list, strings.ReplaceAll(list, ",", ""))
	}
	var sizes []int
	for item := range strings.SplitSeq(list, ",") {
		more, err := parseRange(item)
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, more...)
	}
	return sizes, nil
}

func parseRange(item string) ([]int, error) {
	from, to, isRange := strings.Cut(item, "..")
	first, err := parseSize(from)
	if err != nil {
		return nil, err
	}
	if !isRange {
		return []int{first}, nil
	}
	last, err := parseSize(to)
	if err != nil {
		return nil, err
	}
	if first == 0 || first > last {
		return nil, fmt.Errorf("range %q: its first size has to be above 0 and not above its last",
			item)
	}
	var sizes []int
	for n := first; n < last; n *= 2 {
		sizes = append(sizes, n)
	}
	return append(sizes, last), nil
}

// CapacityMacOS, in a list of capacities, stands for the two capacities of pipes on macOS.
const CapacityMacOS = "macos"

// macOSCapacities are the capacities, in bytes, with which a pipe of macOS begins and to which it
// may grow.
var macOSCapacities = []int{16 << 10, 64 << 10}

// ParseCapacities reads a list of pipe capacities in bytes. "default" stands for 0, the choice of
// the operating system, and "macos" for the capacities on macOS.
func ParseCapacities(list string) ([]int, error) {
	var capacities []int
	for item := range strings.SplitSeq(list, ",") {
		switch strings.TrimSpace(item) {
		case "default":
			capacities = append(capacities, 0)
		case CapacityMacOS:
			if runtime.GOOS == "darwin" {
				capacities = append(capacities, 0)
			} else {
				capacities = append(capacities, macOSCapacities...)
			}
		default:
			sizes, err := ParseSizes(item)
			if err != nil {
				return nil, err
			}
			capacities = append(capacities, sizes...)
		}
	}
	return capacities, nil
}

func parseSize(s string) (int, error) {
	n, err := results.ParseSize(s)
	if err != nil {
		return 0, err
	}
	if n > largestSize {
		return 0, fmt.Errorf("size %q is above %s", s, results.FormatSize(largestSize))
	}
	return int(n), nil
}

// MacOSHint says what a measurement with [CapacityMacOS] cannot show on a system other than macOS.
const MacOSHint = "--capacity macos imitates: pipes of 16 KiB and 64 KiB of this system. It does " +
	"not show that a pipe of macOS grows from the one to the other, nor that it keeps only " +
	"writes of up to 512 B together."
