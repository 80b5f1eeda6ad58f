package measure

import (
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

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

// LargestSize is that of the messages that a run streams where it has time left, in bytes. There
// are largeSamples of each cell.
const (
	LargestSize  = 16 << 20
	largeSamples = 12
)

// WithFurther returns the plans of a run for which nothing in particular was asked, p and what
// follows it: what writers meet that do not block, against a reader that is fast, slow, and one that
// leaves; and messages of [LargestSize], which a machine measures that is quick enough. The last
// may take until p's MaxTime; the others leave a share of it to those behind them.
func (s Sweep) WithFurther(p bench.Plan) ([]bench.Plan, error) {
	waiting, large := p, p
	s.Patterns, s.Sizes = []string{"stream"}, []int{LargestSize}
	var err error
	if large.Cells, err = s.Cells(); err != nil {
		return nil, err
	}
	large.Samples = min(p.Samples, largeSamples)
	waiting.Cells, waiting.Precision, large.Precision = nil, 0, 0
	waiting.Samples, waiting.Forks = min(p.Samples, waitingSamples), waitingForks
	s.Sizes, s.Placements, s.IOs = waitingSizes, s.Placements[:1], nil
	for _, io := range []syspipe.IO{syspipe.Poll, syspipe.Poller, syspipe.Sleep(syspipe.DefaultPause)} {
		s.IOs = append(s.IOs, io.String()+"/"+syspipe.Blocking.String())
	}
	for _, s.Further = range []results.Cell{{}, {Drain: slowReader}, {Leave: 1}} {
		cells, err := s.Cells()
		if err != nil {
			return nil, err
		}
		waiting.Cells = append(waiting.Cells, cells...)
	}
	p.MaxTime -= p.MaxTime / 4
	return []bench.Plan{p, waiting, large}, nil
}

// Fits reports whether a plan of large messages would end within the time left, at the least goodput
// that a megabyte or more was seen to have.
func Fits(p bench.Plan, measured []results.Record, left time.Duration) bool {
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
	p.Duration = max(p.Duration, time.Duration(sent*LargestSize*slowest))
	return slowest > 0 && p.Estimate() <= left
}
