package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A Result is the record of a cell that was measured.
type Result struct{ results.Record }

// Goodput returns payload bytes per second: the median of the samples.
func (r Result) Goodput() float64 { return r.median("goodput") }

// Time returns how long a message takes: the median of the samples.
func (r Result) Time() time.Duration { return time.Duration(r.median("time")) }

func (r Result) median(metric string) float64 {
	return stat.MustMetric(metric).Estimate(r.Record).Median
}

// Measure measures one cell as a plan of nothing else would. What the cell does not say is as
// usual: Cell{Framing: "ndjson", Size: 4096} is enough.
func Measure(ctx context.Context, c results.Cell) (Result, error) {
	var result Result
	plan := Plan{Cells: []results.Cell{c}}
	err := Run(ctx, plan, func(r results.Record) error {
		result.Record = r
		return nil
	})
	if err == nil && result.Unsupported != "" {
		err = errors.New(result.Unsupported)
	}
	return result, err
}

// SliceTime is how long a slice is if nobody says otherwise: long beside an error of the clock, and
// short enough that most slices lie between two disturbances.
const SliceTime = 3 * time.Millisecond

// usualSamples is how many slices a cell takes if nobody says otherwise.
const usualSamples = 24

// withDefaults fills in what the plan and its cells do not say.
func (p Plan) withDefaults() Plan {
	if p.Samples == 0 {
		p.Samples = usualSamples
	}
	if p.Duration == 0 {
		p.Duration = SliceTime
	}
	p.Cells = slices.Clone(p.Cells)
	for i, c := range p.Cells {
		p.Cells[i] = withDefaults(c)
	}
	return p
}

// withDefaults fills in what a cell does not say.
func withDefaults(c results.Cell) results.Cell {
	usual := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	usual(&c.Framing, results.FramingRaw)
	usual(&c.Pipe, "anonymous")
	usual(&c.IO, "blocking")
	usual(&c.Pattern, "stream")
	usual(&c.Payload, "json")
	if c.Placement == "" {
		c.Placement = Placed(c)[0].Placement
	}
	if c.Source == results.SourceHot {
		c.Source = ""
	}
	return c
}

// Placed gives a cell each of the placements that are worth comparing on this machine, see
// [placement.Topology.Best].
func Placed(c results.Cell) []results.Cell {
	topology, err := placement.Read()
	if err != nil {
		topology = placement.Topology{} // which offers free
	}
	var cells []results.Cell
	for _, place := range topology.Best() {
		c.Placement = place
		cells = append(cells, c)
	}
	return cells
}

// A Session takes slices of one cell, for a caller that decides itself how many. It belongs to one
// goroutine.
type Session struct {
	ctx  context.Context
	plan Plan
	cpus placement.CPUs
	run  cellRun
	fork *fork // nil if the next slice needs new workers
}

// OpenSession starts the workers of a cell.
func OpenSession(ctx context.Context, c results.Cell) (*Session, error) {
	p := Plan{Cells: []results.Cell{c}, Seed: 1}
	p, err := p.Checked()
	if err != nil {
		return nil, err
	}
	if why := p.placed[0].unsupported; why != nil {
		return nil, why
	}
	s := &Session{ctx: ctx, plan: p, cpus: p.placed[0].cpus}
	s.run.record.Cell = p.Cells[0]
	s.run.rate = s.run.record.Cell.Rate
	if err := s.start(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Session) start() error {
	limit := func() time.Duration { return grace + 20*s.plan.Duration }
	f, err := startFork(s.ctx, s.plan.jobOf(s.run.record.Cell), s.cpus, limit)
	if err != nil {
		return fmt.Errorf("%s: %w", Label(s.run.record.Cell), err)
	}
	s.fork = f
	return nil
}

// Slice moves n messages of the cell. Workers that do one job alone, as those of a reader that
// closes its end, are started anew.
func (s *Session) Slice(n int64) (results.Sample, error) {
	c := s.run.record.Cell
	if s.fork == nil {
		if err := s.start(); err != nil {
			return results.Sample{}, err
		}
	}
	got, err := s.fork.run(s.plan.jobOf(c).of(n))
	if err == nil {
		var sample results.Sample
		if sample, err = got.sample(); err == nil {
			s.learn(sample)
			if takesOneJob(c) {
				s.Close()
			}
			return sample, nil
		}
	}
	return results.Sample{}, fmt.Errorf("%s: %w", Label(c), err)
}

// learn takes from a sample how many messages the next slice can hold.
func (s *Session) learn(sample results.Sample) {
	s.run.rate = max(s.run.rate, rate(sample.Messages, sample.ElapsedNS))
	s.run.size = float64(sample.PayloadBytes) / float64(max(1, sample.Messages))
	s.run.capacity = sample.Capacity
}

// mostJobs is how many slices a benchmark takes of a cell whose workers do one job alone.
const mostJobs = 5

// Median moves n messages in slices of some milliseconds, and returns the sample of median time
// with the latencies of all. Of a cell whose workers do one job alone it takes a few slices,
// whatever n is.
func (s *Session) Median(n int64) (results.Sample, error) {
	var samples []results.Sample
	for left := n; left > 0; {
		wanted := s.run.messagesFor(s.plan.Duration)
		if !takesOneJob(s.run.record.Cell) {
			wanted = min(left, wanted)
		}
		sample, err := s.Slice(wanted)
		if err != nil {
			return sample, err
		}
		samples = append(samples, sample)
		left -= max(1, sample.Messages)
		if takesOneJob(s.run.record.Cell) && len(samples) == mostJobs {
			break
		}
	}
	return medianOf(samples)
}

// medianOf returns the sample of median time with the latencies of all.
func medianOf(samples []results.Sample) (results.Sample, error) {
	sorted := slices.SortedFunc(slices.Values(samples), compareRates)
	median := sorted[len(sorted)/2]
	for key := range median.Latency {
		merged, err := results.MergeLatencies(samples, key)
		if err != nil {
			return median, err
		}
		median.Latency[key] = merged
	}
	return median, nil
}

func compareRates(a, b results.Sample) int {
	difference := rate(a.Messages, a.ElapsedNS) - rate(b.Messages, b.ElapsedNS)
	switch {
	case difference < 0:
		return -1
	case difference > 0:
		return 1
	}
	return 0
}

// Close ends the workers. A slice that is taken afterwards starts new ones.
func (s *Session) Close() {
	if s.fork != nil {
		s.fork.close()
		s.fork = nil
	}
}
