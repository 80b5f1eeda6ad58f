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
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/script"
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
	return append(stat.Map(framers.All(), framers.Framing.String), "chunked+zstd")
}

// framings returns the canonical specs, each chunking one at each chunk size. Raw comes first: the
// others are compared with it.
func (s Sweep) framings() ([]string, error) {
	asked := s.Framings
	if slices.Contains(asked, allFramings) {
		asked = stat.Map(Framings(), func(name string) string { // the sizes of chunks may be asked for
			name, _, _ = strings.Cut(name, ":")
			return name
		})
	}
	var specs []string
	split := false
	for _, spec := range asked {
		f, err := framers.Parse(spec)
		if err != nil {
			return nil, err
		}
		if _, splits := f.(framers.Chunker); !splits || strings.Contains(spec, ":") || len(s.Chunks) == 0 {
			specs = append(specs, f.String())
			continue
		}
		split = true
		for _, n := range s.Chunks {
			if f, err = framers.Parse(fmt.Sprintf("%s:%d", spec, n)); err != nil {
				return nil, err
			}
			specs = append(specs, f.String())
		}
	}
	if len(s.Chunks) > 0 && !split {
		return nil, fmt.Errorf("chunk sizes are for framings that split messages, such as chunked, where their name has no size: %s cannot use them", strings.Join(asked, ", "))
	}
	return stat.Distinct(specs, stat.Itself), nil
}

// largest bounds what a person may ask for as one message: 1 GiB.
const largest = 1 << 30

// ParseSizes reads a list of sizes in bytes, ranges among them: "256,4KiB..1MiB" is 256 and each
// doubling from 4,096 to 1,048,576. The end of a range belongs to it though doubling misses it.
func ParseSizes(list string) ([]int, error) {
	var sizes []int
	for item := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(item, "..")
		first, err := parseSize(from)
		last := first
		if err == nil && isRange {
			last, err = parseSize(to)
		}
		if err != nil {
			return nil, err
		}
		if first > last || isRange && first == 0 {
			return nil, fmt.Errorf("range %q: its first size has to be above 0 and not above its last", item)
		}
		for n := first; n < last; n *= 2 {
			sizes = append(sizes, n)
		}
		sizes = append(sizes, last)
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

// What a default run asks of writers that do not block: sizes below and above the capacity of a pipe,
// and a reader about as fast as a server that parses what it reads, in bytes a second.
var waitingSizes = []int{4 << 10, 128 << 10}

const slowReader = 50e6

// They are counted rather than compared, so a few slices will do: one of a writer that sleeps takes
// 20 ms or more, and the figures of the others need the time.
const (
	waitingSamples = 3
	waitingForks   = 1
)

// largestSize is that of the messages that a run streams where it has time left, in bytes. There
// are largeSamples of each cell.
const (
	largestSize  = 16 << 20
	largeSamples = 12
)

// A Stage is a part of a run. Others than the first are left out where there is no time for them, and
// then Else says what was not measured, and how to ask for it.
type Stage struct {
	bench.Plan
	Else string
}

// WithFurther returns the stages of a run for which nothing in particular was asked, p and what
// follows it: what writers meet that do not block, against a reader that is fast, slow, and one that
// leaves; and messages of [largestSize], which a machine measures that is quick enough. The last
// may take until p's MaxTime; the others leave a share of it to those behind them.
func (s Sweep) WithFurther(p bench.Plan) ([]Stage, error) {
	return script.Of(func() []Stage {
		waiting, large := p, p
		s.Patterns, s.Sizes = []string{"stream"}, []int{largestSize}
		large.Cells = script.Must(s.Cells())
		large.Samples = min(p.Samples, largeSamples)
		waiting.Cells, waiting.Precision, large.Precision = nil, 0, 0
		waiting.Samples, waiting.Forks = min(p.Samples, waitingSamples), waitingForks
		s.Sizes, s.Placements, s.IOs = waitingSizes, s.Placements[:1], nil
		for _, io := range []syspipe.IO{syspipe.Poll, syspipe.Poller, syspipe.Sleep(syspipe.DefaultPause)} {
			s.IOs = append(s.IOs, io.String()+"/"+syspipe.Blocking.String())
		}
		for _, s.Further = range []results.Cell{{}, {Drain: slowReader}, {ClosesAfter: 1}} {
			waiting.Cells = append(waiting.Cells, script.Must(s.Cells())...)
		}
		p.MaxTime -= p.MaxTime / 4
		return []Stage{
			{Plan: p},
			{waiting, "writers that do not block, run --io poll/blocking,poller/blocking,sleep=10ms/blocking"},
			{large, "streams of 16 MiB, run --size 16MiB"},
		}
	})
}

// Fits reports whether a stage would end within the time left: one of large messages at the least
// goodput that a megabyte or more was seen to have, another if there is any time.
func (s Stage) Fits(measured []results.Record, left time.Duration) bool {
	if left < s.MaxTime/100 || s.Cells[0].Size < largestSize {
		return left >= s.MaxTime/100
	}
	const sent = 2 // of each message: one warms up
	slowest := 0.0 // nanoseconds a byte
	for _, r := range measured {
		if r.Cell.Size < 1<<20 || r.Cell.Pattern != "stream" {
			continue
		}
		for _, s := range r.Samples {
			slowest = max(slowest, float64(s.ElapsedNS)/float64(s.PayloadBytes))
		}
	}
	s.Duration = max(s.Duration, time.Duration(sent*largestSize*slowest))
	return slowest > 0 && s.Estimate() <= left
}

// A Shape is the work of another benchmark: a cell set to exactly what that one does, and the
// figure that it would print.
type Shape struct {
	Name string
	What string // a line for a list

	pattern string
	size    int
	figure  string // printf of the metric in the other's unit
	metric  string
	scale   float64 // from the metric's unit to the other's
}

// Shapes returns those of the benchmarks that most figures of pipes come from.
//
// Of their ways, these are not repeated: that the scheduler may put both ends where it likes and
// nobody is told (all three), a mean without its spread (lat_pipe, perf), an end that is never
// checked for what it received, and a short write that starts again at the buffer's head (bw_pipe).
//
// "go test -run '^$' -bench AgainstPeers ./scenarios/measure" sets the shapes beside those that are
// on the PATH, in interleaved pairs on one CPU. On a virtual machine with Linux 6.18, of the time
// of perf bench sched pipe (6.1) the shape took 1.022 [1.014, 1.032] in 25 pairs and 1.027 [1.017,
// 1.030] in 15; of lat_pipe's (lmbench 3 built there) 1.072 [1.060, 1.082]. What is left lies in
// the process, not in the loop: two bare loops of raw system calls in Go take 0.97 of perf's time,
// and the same loops in the engine's workers 1.00 to 1.02. bw_pipe came to no end there, as a loop
// of its own that does not look for the end of the stream, and has not been compared.
func Shapes() []Shape {
	return []Shape{
		{"lmbench-bw", "bw_pipe of lmbench: 64 KiB messages one way between two processes, in MB/s", "stream", 64 << 10, "%.2f MB/sec", "goodput", 1e-6},
		{"lmbench-lat", "lat_pipe of lmbench: one byte there and back between two processes, in microseconds", "roundtrip", 1, "%.4f microseconds", "time", 1e-3},
		{"perf-sched-pipe", "perf bench sched pipe: an int there and back between two processes, in usecs/op", "roundtrip", 4, "%.6f usecs/op", "time", 1e-3},
	}
}

// ParseShape finds a shape by its name.
func ParseShape(name string) (Shape, error) {
	known := stat.Map(Shapes(), func(s Shape) string { return s.Name })
	if i := slices.Index(known, name); i >= 0 {
		return Shapes()[i], nil
	}
	return Shape{}, fmt.Errorf("shape %q is unknown; known are %s", name, strings.Join(known, ", "))
}

// Fit sets a sweep to the shape. Where the ends run and how often is left as it was.
func (s Shape) Fit(to *Sweep) {
	to.Framings, to.Sizes, to.Patterns = []string{"raw"}, []int{s.size}, []string{s.pattern}
	if s.pattern == "stream" {
		to.Further.ReadBuffer = s.size // bw_pipe reads no more than a message at once
	} else {
		to.Further.Clock = "sample" // the other two read it at the ends of all trips
	}
	to.Pipes, to.Capacities, to.IOs, to.Peers = []string{"anonymous"}, []int{0}, []string{"blocking"}, []string{"process"}
}

// Figure returns the median of a record as the other benchmark prints its own, with the ends of its
// interval; false where the record has no samples.
func (s Shape) Figure(r results.Record) (string, bool) {
	m, err := stat.MetricByName(s.metric)
	if err != nil || len(r.Samples) == 0 {
		return "", false
	}
	e := m.Estimate(r)
	text := fmt.Sprintf("%s on %s: "+s.figure, s.Name, r.Cell.Placement, e.Median*s.scale)
	if e.Interval != nil {
		text += fmt.Sprintf(" [%.4g, %.4g]", e.Interval.Lo*s.scale, e.Interval.Hi*s.scale)
	}
	return text, true
}
