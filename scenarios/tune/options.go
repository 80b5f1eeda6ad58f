// Package tune chooses a chunk size on evidence: it measures what chunks cost and what they buy, on
// one pipe at the same time, and searches for the size whose price is worth it.
//
//	func main() {
//		bench.Worker() // the two ends run in workers that are this program again
//		…
//		err := tune.Run(ctx, tune.Default(), func(t results.Tune) error { return file.Write(t) })
//		…
//		answer, err := tune.Explain(set) // of what the file holds
//	}
//
// # What is measured
//
// Large messages stream through one [framers.Mux] without pause. Meanwhile probes of 256 bytes fall
// due at a fixed rate and go through the same Mux with priority. The wait of a probe counts from
// when it was due until the reader has it, whatever the sender was doing then. The reader takes
// bytes as fast as it can, or at a rate that it allows itself, as a server does that works on what
// it reads. Every message is checked for its length and its number, and those of the warm-up byte
// for byte; a message that is lost, altered or there twice fails the run.
//
// Due and arrival are read from the system's monotonic clock, which all processes of a machine
// share. That lets the two ends be two processes, each bound to a CPU of its own with all its
// threads, as they are where pipes are used; two threads of one process would share a heap and a
// scheduler.
//
// # What is decided
//
// [Decide] is a pure function of records: it weighs cost against wait as the [Objective] says. Cost
// is CPU time where both ends share a CPU, since other programs take goodput there and leave CPU
// time alone; elsewhere it is goodput. Of the sizes that are worth the same it gives the smallest,
// with the margin that the samples know this to, and the sizes that another run may give instead.
// [View] makes sentences of it. Both work on any file that [Run] wrote.
//
// # Concurrency
//
// All functions may be called concurrently, but runs that share a machine disturb each other's
// figures. It is not promised that a size that is best here is best elsewhere, nor for another
// reader: that is why this is measured.
package tune

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
)

// Options are what to tune, and how long that may take.
type Options struct {
	Run       string       // names the run in its records
	Cell      results.Cell // what all points share; its framing, drain and sender are of no account
	Recording string       // path of the large messages, where the cell replays some
	Seed      int64

	Objective Objective
	Chunks    []int         // sizes to choose from, in bytes of a whole frame
	Drains    []int64       // readers' rates in bytes a second; 0 is as fast as it can
	Variants  bool          // also try smaller pipes, a watermark, frames sized by the stream's rate, and messages of other sizes
	Duration  time.Duration // of one sample, about
	MaxTime   time.Duration // after which no further sample is begun; 0 is no limit

	// Observe, if set, is told of each sample from the goroutine that called Run.
	Observe func(Progress)
}

// Progress is one sample, and what is thought by then.
type Progress struct {
	Cell     results.Cell
	Sample   int // of the cell, from 1
	Decision Decision
	Elapsed  time.Duration
}

// commonChunk is the chunk size that most implementations use, in bytes: always measured, to say
// what it costs.
const commonChunk = 60 << 10

// Default tunes for messages of 1 MiB through a pipe as the system makes it, between two processes
// on one CPU, or on any where a program cannot choose. How long a small message waits depends on
// bytes and on the reader's rate, not on where the ends run; what a frame costs is CPU time, which is
// steadiest to measure where the ends share one.
func Default() Options {
	topology, _ := placement.Read() // one that cannot be read offers "free", as one without a choice does
	return Options{
		Cell: results.Cell{
			Size: 1 << 20, Pipe: "anonymous", IO: "blocking", Placement: topology.Best()[0],
			Pattern: "stream", Payload: "json", Rate: 4000,
		},
		Seed:      1,
		Objective: Balanced,
		Chunks:    []int{512, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, commonChunk, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20},
		Drains:    []int64{0, 200e6, 20e6},
		Variants:  true,
		Duration:  260 * time.Millisecond, // at 4,000 a second somewhat over the 1,000 probes that a p99 takes
		MaxTime:   time.Minute,
	}
}

// smallestChunk leaves room for a header and some data.
const smallestChunk = 128

// Validate says what of the options cannot be.
func (o Options) Validate() error {
	var faults []error
	refuse := func(is bool, format string, args ...any) {
		if is {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	refuse(len(o.Chunks) == 0 || len(o.Drains) == 0, "tune needs at least one chunk size and one reader's rate")
	for _, c := range o.Chunks {
		refuse(c < smallestChunk, "a chunk of %d bytes: a frame has a header, so at least %d are needed", c, smallestChunk)
	}
	for _, d := range o.Drains {
		refuse(d < 0, "a reader cannot take %d bytes a second", d)
	}
	refuse(o.Cell.Messages == "" && o.Cell.Size <= ProbeSize,
		"large messages of %d bytes: they have to be larger than the small ones of %d", o.Cell.Size, ProbeSize)
	refuse(o.Cell.Rate <= 0 || o.Duration <= 0, "the rate of small messages and the duration of a sample have to be positive")
	_, err := ParseObjective(string(o.Objective))
	if err := errors.Join(append(faults, err)...); err != nil {
		return err
	}
	return o.plan(plain(o.Cell, o.Chunks[0], o.Drains[0])).Validate()
}

// plan is a plan of one cell, for what the engine makes of it.
func (o Options) plan(c results.Cell) bench.Plan {
	return bench.Plan{Run: o.Run, Cells: []results.Cell{c}, Samples: 1, Duration: o.Duration, Seed: o.Seed, Recording: o.Recording}
}

// plain returns a cell with frames of a chunk size, with 0 messages that are not cut, and a reader's
// rate.
func plain(c results.Cell, chunk int, drain int64) results.Cell {
	c.Framing, c.Drain, c.Sender = unchunked, drain, ""
	if chunk > 0 {
		c.Framing = fmt.Sprintf("chunked:%d", chunk)
	}
	return c
}

// Variants: what does more for the wait than the chunk size.
var variantCapacities = []int{4 << 10, 16 << 10}

const (
	variantWatermark = 16 << 10               // of unread bytes
	variantWait      = 200 * time.Microsecond // that a frame may take, of a sender that sizes its frames by the stream's rate
)

// A sender is what a sender does beyond the framing, as a cell's field of that name has it. The
// zero sender does nothing.
type sender struct {
	watermark int           // keep fewer unread bytes than this before a frame is offered
	wait      time.Duration // size frames so that one takes the stream about this long
}

func (s sender) String() string {
	switch {
	case s.watermark > 0:
		return fmt.Sprintf("watermark=%d", s.watermark)
	case s.wait > 0:
		return "wait=" + s.wait.String()
	}
	return ""
}

// parseSender reads what String writes.
func parseSender(text string) (s sender, err error) {
	if text == "" {
		return sender{}, nil
	}
	name, value, _ := strings.Cut(text, "=")
	switch name { // what cannot be parsed is 0
	case "watermark":
		n, _ := results.ParseSize(value)
		s.watermark = int(n)
	case "wait":
		s.wait, _ = time.ParseDuration(value)
	}
	if s.watermark > 0 || s.wait > 0 {
		return s, nil
	}
	return sender{}, fmt.Errorf("sender %q: want watermark=BYTES or wait=DURATION", text)
}

// otherSizes are large messages, in bytes, that a choice made for those of another size is tried
// with.
var otherSizes = []int{64 << 10, 16 << 20}

// variants returns the cells that show what else could be done, with the chunk size that is best by
// now. Each is measured with the fastest reader, for what it costs, and with the fastest that has a
// rate. The first of them show whether the choice holds for messages of other sizes: what it costs,
// beside the common size and messages that are not cut.
func (o Options) variants(chunk int) []results.Cell {
	if !o.Variants {
		return nil
	}
	drains := slices.SortedFunc(slices.Values(o.Drains), faster)
	drains = drains[:min(2, len(drains))]
	var out []results.Cell
	for _, size := range otherSizes {
		if o.Cell.Size == 0 || o.Cell.Size == size {
			continue
		}
		for _, chunk := range []int{chunk, commonChunk, 0} {
			c := plain(o.Cell, chunk, drains[0])
			if c.Size = size; !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	for _, drain := range drains {
		c := plain(o.Cell, chunk, drain)
		for _, c.Capacity = range variantCapacities {
			if c.Capacity != o.Cell.Capacity {
				out = append(out, c)
			}
		}
		kept, adjusted := plain(o.Cell, chunk, drain), plain(o.Cell, slices.Max(o.Chunks), drain)
		kept.Sender, adjusted.Sender = sender{watermark: variantWatermark}.String(), sender{wait: variantWait}.String()
		out = append(out, kept, adjusted)
	}
	return out
}

// sizes returns what may be chosen from, ascending.
func (o Options) sizes() []int { return slices.Compact(slices.Sorted(slices.Values(o.Chunks))) }

// coarse returns every other size from the smallest, the largest, and the common one.
func (o Options) coarse() (out []int) {
	sizes := o.sizes()
	for i, size := range sizes {
		if i%2 == 0 || i == len(sizes)-1 || size == commonChunk {
			out = append(out, size)
		}
	}
	return out
}

// neighbours returns a size and its neighbours among all that may be chosen.
func (o Options) neighbours(chunk int) []int {
	sizes := o.sizes()
	i := slices.Index(sizes, chunk)
	if i < 0 {
		return nil
	}
	return sizes[max(0, i-1):min(len(sizes), i+2)]
}

// An Objective says what goodput is worth against wait.
type Objective string

// The objectives. Halving the wait of small messages is worth giving up this share of goodput:
// balanced 7 %, throughput under 1 %, latency half of it. Of sizes that are worth the same within 5
// %, all take the smallest.
const (
	Balanced   Objective = "balanced"
	Throughput Objective = "throughput"
	Latency    Objective = "latency"
)

// weights are the exponents of the wait in what is compared: goodput ÷ waitʷ.
var weights = map[Objective]float64{Balanced: 0.1, Throughput: 0.01, Latency: 1}

// Objectives lists them, each with a line for a list.
var Objectives = [][2]string{
	{string(Balanced), "halving the wait is worth 7 % of goodput"},
	{string(Throughput), "goodput alone; the wait decides between sizes within 5 %"},
	{string(Latency), "halving the wait is worth half of the goodput"},
}

// ParseObjective reads the name of one.
func ParseObjective(name string) (Objective, error) {
	if _, known := weights[Objective(name)]; !known {
		return "", fmt.Errorf("objective %q is unknown; known are %s, %s, %s", name, Balanced, Throughput, Latency)
	}
	return Objective(name), nil
}

// fullSpeed is the rate of a reader that takes all it can.
const fullSpeed = "full"

// ParseDrain reads a reader's rate: "full", or bytes a second as in "200MB/s", which like every
// rate is decimal.
func ParseDrain(text string) (int64, error) {
	text = strings.TrimSpace(text)
	if text == fullSpeed {
		return 0, nil
	}
	amount := strings.TrimSuffix(text, "/s")
	number := strings.TrimRight(amount, "GMkB")
	scale := map[string]float64{"GB": 1e9, "MB": 1e6, "kB": 1e3, "B": 1, "": 1}[amount[len(number):]]
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if bytes := math.Round(v * scale); err == nil && bytes >= 1 && bytes < math.MaxInt64 {
		return int64(bytes), nil
	}
	return 0, fmt.Errorf("reader's rate %q: want %s, or bytes a second such as 200MB/s", text, fullSpeed)
}
