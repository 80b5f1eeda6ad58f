package stat

import (
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"

	"github.com/pipebench/pipebench/results"
)

// Growth is how a figure y grows with a size x: y = c·x^Slope. A Slope of 1 is linear, 2 is
// quadratic.
type Growth struct {
	Slope    float64   `json:"slope"`
	Interval *Interval `json:"interval,omitempty"` // of the slope; nil for fewer than three points
	Points   int       `json:"points"`
}

// FastGrowth is the slope above which growth counts as faster than linear.
const FastGrowth = 1.3

// sureFrom is how many points are needed to be sure of a slope. On a busy machine, three points
// gave 1.47 [1.22, 1.72] for a server whose slope is 1.
const sureFrom = 4

// Fast reports whether the growth is certainly faster than linear.
func (g Growth) Fast() bool {
	return g.Slope > FastGrowth && g.Points >= sureFrom && g.Interval != nil && g.Interval.Lo > 1
}

// String says how something grows: "linear (exponent 1.04 [0.98, 1.10])".
func (g Growth) String() string {
	word := "linear"
	switch {
	case g.Slope > FastGrowth:
		word = "faster than linear"
	case g.Slope < 2-FastGrowth:
		word = "less than linear"
	}
	return word + " (" + g.exponent() + ")"
}

func (g Growth) exponent() string {
	s := fmt.Sprintf("exponent %.2f", max(g.Slope, 0)) // a slope below 0 is only noise
	if i := g.Interval; i != nil {
		s += fmt.Sprintf(" [%.2f, %.2f]", i.Lo, i.Hi)
	}
	return s
}

// FitGrowth fits a straight line through the logarithms of the points by least squares, with
// Student's interval of its slope. All x and y must be above zero, and at least two x must differ.
func FitGrowth(x, y []float64) (Growth, error) {
	if len(x) != len(y) {
		return Growth{}, fmt.Errorf("fit growth: %d sizes for %d values", len(x), len(y))
	}
	var logX, logY []float64
	for i := range x {
		if !(x[i] > 0 && y[i] > 0) || math.IsInf(x[i], 0) || math.IsInf(y[i], 0) {
			return Growth{}, fmt.Errorf("fit growth: point (%v, %v) has no logarithm", x[i], y[i])
		}
		logX = append(logX, math.Log(x[i]))
		logY = append(logY, math.Log(y[i]))
	}
	return FitLine(logX, logY)
}

// FitLine fits a straight line by least squares, with Student's interval of its slope. At least two
// x must differ.
func FitLine(x, y []float64) (Growth, error) {
	if len(x) != len(y) {
		return Growth{}, fmt.Errorf("fit growth: %d sizes for %d values", len(x), len(y))
	}
	meanX, meanY := stats.Mean(x), stats.Mean(y)
	var sxx, sxy float64 // sums of squares and of products
	for i := range x {
		sxx += (x[i] - meanX) * (x[i] - meanX)
		sxy += (x[i] - meanX) * (y[i] - meanY)
	}
	if !(sxx > 0) { // also if sxx is not a number
		return Growth{}, fmt.Errorf("fit growth: %d points at one size; "+
			"a slope takes two sizes", len(x))
	}
	g := Growth{Slope: sxy / sxx, Points: len(x)}
	if len(x) < 3 {
		return g, nil
	}
	var residual float64
	for i := range x {
		d := y[i] - meanY - g.Slope*(x[i]-meanX)
		residual += d * d
	}
	freedom := float64(len(x) - 2)
	half := studentQuantile(freedom, 1-(1-Confidence)/2) * math.Sqrt(residual/freedom/sxx)
	g.Interval = &Interval{Lo: g.Slope - half, Hi: g.Slope + half, Confidence: Confidence}
	return g, nil
}

// MedianTime returns the median of the samples' times per message, in ns. Without samples, it is 0.
func MedianTime(samples []results.Sample) float64 { return EstimateOf("time", samples).Median }

// ServerCPU returns the processor time that a server spent per message, in ns. It is 0 if not
// known.
func ServerCPU(samples []results.Sample) float64 {
	spent, messages := serverCPU(samples)
	return float64(spent) / float64(max(messages, 1))
}

// serverCPU returns the processor time that a server (the reader) spent in all samples, and the
// number of messages in them.
func serverCPU(samples []results.Sample) (spent, messages int64) {
	for _, s := range samples {
		messages += s.Messages
		if s.Reader.CPUNS != nil {
			spent += *s.Reader.CPUNS
		}
	}
	return spent, messages
}

// LinearFrom is the smallest message size, in bytes, that counts for growth. With smaller messages,
// the fixed cost of a request hides the growth.
const LinearFrom = 64 << 10

// A TargetGrowth says how a server's CPU time grows with the size of a message. If the CPU time is
// not known, it says how the elapsed time grows.
type TargetGrowth struct {
	results.GrowthEvidence
	Capacity int // of the server's pipes, in bytes; 0 if not known
}

// Growth returns the growth without the sizes that it rests on.
func (g TargetGrowth) Growth() Growth {
	growth := Growth{Slope: g.Slope, Points: g.Points}
	if g.SlopeLo != nil && g.SlopeHi != nil {
		growth.Interval = &Interval{Lo: *g.SlopeLo, Hi: *g.SlopeHi, Confidence: Confidence}
	}
	return growth
}

// Fast reports whether the growth is certainly faster than linear, and not in a step.
func (g TargetGrowth) Fast() bool { return g.StepAt == 0 && g.Growth().Fast() }

// leastMessages is how many messages of a size must be measured at least. A single message may have
// been slow by chance.
const leastMessages = 2

// FitTargetGrowth fits the growth to a server's records, sorted by size. It leaves out records
// whose messages were not served, that have only one message, or whose size is below [LinearFrom].
// If fewer than three records remain, it returns nil.
func FitTargetGrowth(targets []results.Target) *TargetGrowth {
	var g TargetGrowth
	var sizes, wall, cpu []float64
	for _, t := range targets {
		ns := MedianTime(t.Samples)
		spent, messages := serverCPU(t.Samples)
		if !t.Served() || t.Size < LinearFrom || ns <= 0 || messages < leastMessages {
			continue
		}
		sizes = append(sizes, float64(t.Size))
		wall = append(wall, ns)
		if spent > 0 {
			cpu = append(cpu, float64(spent)/float64(messages))
		}
		g.Capacity = t.Samples[0].Capacity
	}
	if len(sizes) < 3 {
		return nil
	}
	growth, err := FitGrowth(sizes, wall)
	times := wall // the times whose slope is g.Slope
	if err == nil && len(cpu) == len(sizes) {
		g.WallSlope = new(growth.Slope)
		times = cpu
		growth, err = FitGrowth(sizes, cpu)
	}
	if err != nil {
		return nil
	}
	g.Slope = growth.Slope
	g.Points = growth.Points
	if growth.Interval != nil {
		g.SlopeLo = &growth.Interval.Lo
		g.SlopeHi = &growth.Interval.Hi
	}
	g.From = int(sizes[0])
	g.To = int(sizes[len(sizes)-1])
	g.ShowsAt = dearer(sizes, times)
	g.StepAt = step(sizes, times)
	return &g
}

// dearerFactor decides where growth shows: where a byte costs this many times as much as at a
// smaller size.
const dearerFactor = 1.5

// dearer returns the first size at which a byte costs dearerFactor times as much as at a smaller
// size. If there is none, it returns 0.
func dearer(sizes, times []float64) int {
	cheapest := math.Inf(1)
	for i, size := range sizes {
		cost := times[i] / size
		if cost >= dearerFactor*cheapest {
			return int(size)
		}
		cheapest = min(cheapest, cost)
	}
	return 0
}

// stepFactor is how many times more the cost of a byte must rise in a step than the size does. In
// quadratic growth, it rises as much as the size.
const stepFactor = 1.25

// step returns the last size at which the times rise in a step, or 0. At the step, a byte becomes
// dearer by more than even quadratic growth explains. The growth is not fast up to the step, and
// from there on a byte costs about the same, except for further steps.
func step(sizes, times []float64) int {
	var costs []float64
	for i, size := range sizes {
		costs = append(costs, times[i]/size)
	}
	for at := len(sizes) - 1; at > 0; at-- {
		if costs[at]/costs[at-1] <= stepFactor*sizes[at]/sizes[at-1] {
			continue
		}
		before, err := FitGrowth(sizes[:at], times[:at])
		if err == nil && before.Slope > FastGrowth { // there is an error if at is 1
			continue
		}
		flat := slices.Max(costs[at:]) < dearerFactor*slices.Min(costs[at:])
		if flat || err == nil && step(sizes[at:], times[at:]) > 0 {
			return int(sizes[at])
		}
	}
	return 0
}

// RecordedGrowth returns the growth that a record reports, if any.
func RecordedGrowth(t results.Target) (g TargetGrowth, ok bool) {
	if t.Evidence.Growth == nil {
		return g, false
	}
	return TargetGrowth{*t.Evidence.Growth, t.Evidence.Capacity}, true
}

// surelyFast is larger than [FastGrowth], because a busy machine bends slopes. If the interval of a
// slope that is not fast reaches it, the slope is too noisy. If the slope of the elapsed time is
// above it, and that of the CPU time is not fast, the server waits, perhaps for a CPU.
const surelyFast = 1.5

// String says how time grows, in a sentence.
func (g TargetGrowth) String() string {
	growth := g.Growth()
	interval := growth.Interval
	isSlow := g.Slope < 2-FastGrowth
	s := "time is " + growth.String()
	switch {
	case g.Slope > FastGrowth: // the end of the sentence says how sure that is
		s = "time grows with " + growth.exponent()
	case interval != nil && (interval.Hi >= surelyFast || isSlow && interval.Hi >= 1):
		s = "time is too noisy to tell how it grows"
	case isSlow: // not "slower than linear", which reads as if the server were slow
		s = "time grows more slowly than the message (" + growth.exponent() + ")"
	}
	if g.WallSlope != nil {
		s = "the server's CPU " + s
	}
	from, to := results.FormatSize(int64(g.From)), results.FormatSize(int64(g.To))
	s += fmt.Sprintf(" from %s to %s", from, to)
	if g.Capacity > 0 {
		s += fmt.Sprintf(" in %s pipes", results.FormatSize(int64(g.Capacity)))
	}
	switch {
	case g.Slope > FastGrowth && g.StepAt > 0:
		return s + fmt.Sprintf(": a step at %s, and not faster than linear up to it",
			results.FormatSize(int64(g.StepAt)))
	case growth.Fast():
		s += ": faster than linear"
	case g.Slope > FastGrowth && interval != nil && interval.Lo > 1:
		s += fmt.Sprintf(": may grow faster than linear, "+
			"but %d sizes are too few to be sure", g.Points)
	case g.Slope > FastGrowth:
		s += ": may grow faster than linear, but the interval reaches 1"
	case g.WallSlope != nil && *g.WallSlope > surelyFast && g.Points >= sureFrom:
		return s + fmt.Sprintf("; the time of its answers grows with exponent %.2f: it waits, or "+
			"the machine is busy", *g.WallSlope)
	default:
		return s
	}
	if g.ShowsAt > 0 {
		s += fmt.Sprintf("; it shows from %s on", results.FormatSize(int64(g.ShowsAt)))
	}
	return s
}
