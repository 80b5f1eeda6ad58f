package claims

import (
	"context"
	"fmt"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/syspipe"
)

// A session is one run: evidence that several claims rest on is gathered once in it.
type session struct {
	Options
	keep     func(results.Line) error
	progress Progress
	shared   map[string]shared // by what was done
}

// shared is evidence that several claims may ask for, or the error of gathering it.
type shared struct {
	evidence any
	err      error
}

func newSession(o Options, keep func(results.Line) error) *session {
	return &session{Options: o, keep: keep, shared: make(map[string]shared)}
}

// begin says that the steps which follow are for that claim.
func (s *session) begin(c Claim) {
	s.progress.Claim = c
	s.progress.Step = ""
	s.progress.Record = nil
}

// step tells the observer what is done next.
func (s *session) step(what string) {
	s.progress.Step = what
	s.tell()
}

// finish tells the observer of a verdict.
func (s *session) finish(record results.Claim) {
	s.progress.Done++
	s.progress.Step = ""
	s.progress.Record = &record
	s.tell()
}

func (s *session) tell() {
	if s.Observe != nil {
		s.Observe(s.progress)
	}
}

// once gathers evidence that several claims share. It gathers once in a run, and returns the same
// evidence, or error, from then on.
func once[E any](s *session, what string, gather func() (E, error)) (E, error) {
	had, done := s.shared[what]
	if !done {
		s.step(what)
		evidence, err := gather()
		had = shared{evidence, err}
		s.shared[what] = had
	}
	return had.evidence.(E), had.err
}

// faults runs a scenario and returns its fault records.
func (s *session) faults(ctx context.Context, name string) ([]results.Fault, error) {
	return once(s, "scenario "+name, func() ([]results.Fault, error) {
		scenario, err := faults.Find(name)
		if err != nil {
			return nil, err
		}
		var found []results.Fault
		keep := func(line results.Line) error {
			if f, ok := line.(results.Fault); ok {
				found = append(found, f)
			}
			return s.keep(line)
		}
		err = scenario.Run(ctx, faults.Options{Run: s.Run, Seed: s.Seed}, keep)
		return found, err
	})
}

// decodeFault reads the evidence of one fault of a scenario into e.
func decodeFault(all []results.Fault, id string, e any) error {
	for _, f := range all {
		if f.ID == id {
			return f.Evidence.Decode(e)
		}
	}
	return fmt.Errorf("scenario has no fault %s", id)
}

// measure runs a plan, and returns its records.
func (s *session) measure(ctx context.Context, p bench.Plan) ([]results.Record, error) {
	o := faults.Options{Run: s.Run, Seed: s.Seed, Observe: s.step}
	return o.MeasurePlan(ctx, p, s.keep)
}

// Settings of the measurements. Streams have messages below the chunk size, about it, and well
// above. Readers' growth is measured with messages from growthFrom to growthTo. Sizes are in bytes,
// samples per cell, and durations per sample.
var (
	streamSizes = []int{4000, 65_000, 1_000_000}
	tripSizes   = []int{256, 4 << 10, 32 << 10}

	costSamples    = 18
	costDuration   = 25 * time.Millisecond
	growthFrom     = 256 << 10
	growthTo       = 4 << 20
	growthDuration = 15 * time.Millisecond
)

// Sizes of the large messages that experiments send, in bytes.
var (
	anySize             = 64 << 20
	memorySizes         = []int{4 << 20, 16 << 20, 64 << 20}
	oversized           = 64 << 20
	allocated     int64 = 100 << 20
	unendingBytes int64 = 16 << 20
)

// compared are the framings whose cost is compared: nothing but the bytes, which is what a framing
// costs against; chunks as printed; the sender that chunks large messages alone; and lines.
var compared = []string{baseline, "ndjson", "chunked:61440", "adaptive:61440"}

// baseline is what costs are held against: the same bytes without a framing. Payloads begin at
// offsets that are drawn, so that none lies in the slow zone of copies in every sample.
const baseline = "raw"

// costs measures framings beside each other, streams and round trips, samples of all cells
// interleaved.
func (s *session) costs(ctx context.Context) ([]results.Record, error) {
	return once(s, "framings beside each other", func() ([]results.Record, error) {
		topology, err := placement.Read()
		if err != nil {
			return nil, err
		}
		p := bench.Plan{
			Cells: costCells(topology.Best()), Samples: costSamples, Duration: costDuration,
		}
		return s.measure(ctx, p)
	})
}

// costCells are streams of every framing at every placement and size, and round trips at the first
// placement.
func costCells(places []string) []results.Cell {
	var cells []results.Cell
	for _, framing := range compared {
		c := results.Cell{
			Framing: framing, Pipe: string(syspipe.Anonymous), IO: "blocking", Payload: "json",
		}
		c.Pattern = "stream"
		for _, place := range places {
			for _, size := range streamSizes {
				c.Placement = place
				c.Size = size
				cells = append(cells, c)
			}
		}
		c.Pattern = "roundtrip"
		c.Placement = places[0]
		for _, size := range tripSizes {
			c.Size = size
			cells = append(cells, c)
		}
	}
	return cells
}

// readersGrowth measures readers of lines with messages of growing size.
func (s *session) readersGrowth(ctx context.Context) ([]results.Record, error) {
	return once(s, "readers of growing lines", func() ([]results.Record, error) {
		p, err := faults.PlanGrowth(growthFrom, growthTo)
		if err != nil {
			return nil, err
		}
		p.Duration = growthDuration
		return s.measure(ctx, p)
	})
}
