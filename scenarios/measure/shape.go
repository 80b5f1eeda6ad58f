package measure

import (
	"fmt"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

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
	var names []string
	for _, s := range Shapes() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Shape{}, fmt.Errorf("shape %q is unknown; known are %s", name, strings.Join(names, ", "))
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
