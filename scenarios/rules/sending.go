package rules

import (
	"fmt"
	"math"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// sentMessage is the size, in bytes, of the messages with which ways of sending are compared.
const sentMessage = 1_000_000

// A sending is one way to send large messages.
type sending struct {
	name, text string
	capacity   int // capacity to ask for, in bytes; 0 leaves the pipe's usual capacity
	write      int // largest number of bytes per write; 0 writes the whole message
}

// The first entry is the usual way of sending. The other ways are compared with it.
var sendings = []sending{
	{name: "whole"},
	{name: "8KiB", text: "writes of 8 KiB", write: 8 << 10},
	{name: "pipe-1MiB", text: "whole messages into a pipe of 1 MiB", capacity: 1 << 20},
	{name: "pipe-256KiB-64KiB", text: "writes of 64 KiB into a pipe of 256 KiB",
		capacity: 256 << 10, write: 64 << 10},
}

// cell describes a measurement in which raw bytes are sent in this way. The parameter place says on
// which CPUs the two processes run.
func (s sending) cell(place string) results.Cell {
	c := results.UsualCell(results.FramingRaw, "stream", place, sentMessage)
	c.Capacity = s.capacity
	c.WriteSize = s.write
	return c
}

// sendingForks is how many times a measurement starts its two processes anew. On two CPUs, one pair
// of processes may be several times as fast as the next.
const sendingForks = 4

// measure makes the measurements that the cells describe, and returns the record of each. The
// record has no samples if this system cannot make the measurement.
func (t *trial) measure(cells []results.Cell) map[results.Cell]results.Record {
	records := make(map[results.Cell]results.Record)
	plan := bench.Plan{
		Run: "rule", Cells: cells, Samples: 2 * sendingForks, Forks: sendingForks,
		Duration: 20 * time.Millisecond,
	}
	t.Check(bench.Run(t.Ctx, plan, func(r results.Record) error {
		records[r.Cell] = r
		return nil
	}))
	return records
}

// places returns where to run the two processes: both on one CPU and, if there are more, on two
// CPUs. On systems where a program cannot choose its CPUs, it returns only "free".
func (t *trial) places() []string {
	topology, err := placement.Read()
	if !t.Check(err) {
		return nil
	}
	return topology.Best()
}

// compareWriteSizes sends large messages in each of several ways, with the two processes on one CPU
// and on two.
func compareWriteSizes(t *trial) {
	goodput := stat.MustMetric("goodput")
	for _, place := range t.places() {
		var cells []results.Cell
		for _, s := range sendings {
			cells = append(cells, s.cell(place))
		}
		records := t.measure(cells)
		whole := records[sendings[0].cell(place)]
		rate := goodput.Estimate(whole).Median
		if rate == 0 {
			continue
		}
		how := fmt.Sprintf("goodput of messages of 1,000,000 B written whole, %s, "+
			"to a reader that only reads", place)
		t.found("write-size/"+place+"/whole", int64(rate), "B/s", how)
		for _, s := range sendings[1:] {
			pieces := records[s.cell(place)]
			gain := stat.PairedRatio(goodput, []results.Record{pieces}, []results.Record{whole})
			if gain.N == 0 {
				continue // this system cannot set the capacity that s asks for
			}
			how = fmt.Sprintf("goodput of %s over that of whole messages, %s", s.text, place)
			value, unit := gainOf(gain)
			t.found("write-size/"+place+"/"+s.name, value, unit, how)
		}
	}
}

// maxSpread is how uncertain a gain in speed may be if it is to be reported as a single number:
// half the width of its interval, in percent of the median.
const maxSpread = 25

// gainOf returns a gain in speed with its unit. If the interval of the gain is too wide for a
// single number, the value is a text with both ends of the interval.
func gainOf(gain stat.Estimate) (value any, unit string) {
	spread, ok := gain.Spread()
	if !ok || spread <= maxSpread {
		return math.Round(100*gain.Median) / 100, "times"
	}
	return fmt.Sprintf("%.2f to %.2f times", gain.Interval.Lo, gain.Interval.Hi), ""
}

// timeWakeUps measures round trips of one byte between two processes. Such a round trip takes two
// wake-ups, and hardly anything else.
func timeWakeUps(t *trial) {
	for _, place := range t.places() {
		c := results.UsualCell(results.FramingRaw, results.PatternRoundtrip, place, 1)
		records := t.measure([]results.Cell{c})
		trip := stat.MustMetric("time").Estimate(records[c]).Median
		if trip == 0 {
			continue
		}
		how := "half of the time in which a byte goes to another process and comes back, " + place
		t.found("wake-up/"+place, int64(trip/2), "ns", how)
	}
}
