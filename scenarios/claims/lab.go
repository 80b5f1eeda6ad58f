package claims

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/syspipe"
)

// A lab is where experiments are made: evidence that several claims rest on is
// gathered once.
type lab struct {
	Options
	keep     func(results.Line) error
	step     func(what string)
	gathered map[string]any
}

func newLab(o Options, keep func(results.Line) error) *lab {
	return &lab{Options: o, keep: keep, gathered: map[string]any{}}
}

// An attempt is how gathering went: a failure is not tried again.
type attempt[E any] struct {
	evidence E
	err      error
}

// shared gathers evidence of that name once.
func shared[E any](l *lab, name string, gather func() (E, error)) (E, error) {
	if known, ok := l.gathered[name]; ok {
		a := known.(attempt[E])
		return a.evidence, a.err
	}
	l.step(name)
	e, err := gather()
	l.gathered[name] = attempt[E]{e, err}
	return e, err
}

// fault runs a scenario and returns its fault records.
func (l *lab) fault(ctx context.Context, name string) ([]results.Fault, error) {
	return shared(l, "scenario "+name, func() ([]results.Fault, error) {
		s, err := faults.Find(name)
		if err != nil {
			return nil, err
		}
		var out []results.Fault
		err = s.Run(ctx, faults.Options{Run: l.Run, Seed: l.Seed}, func(line results.Line) error {
			if f, ok := line.(results.Fault); ok {
				out = append(out, f)
			}
			return l.keep(line)
		})
		return out, err
	})
}

// faultOf is the evidence of one fault of a scenario.
func faultOf[E any](all []results.Fault, id string) (E, error) {
	i := slices.IndexFunc(all, func(f results.Fault) bool { return f.ID == id })
	if i < 0 {
		var none E
		return none, fmt.Errorf("scenario has no fault %s", id)
	}
	return faults.Decode[E](all[i])
}

// measure runs a plan, once, and returns its records.
func (l *lab) measure(ctx context.Context, name string, p bench.Plan) ([]results.Record, error) {
	return shared(l, name, func() ([]results.Record, error) {
		p.Run, p.Seed = l.Run, l.Seed
		p.Observe = func(b bench.Progress) { l.step(bench.Label(b.Cell)) }
		var out []results.Record
		err := bench.Run(ctx, p, func(r results.Record) error {
			out = append(out, r)
			return l.keep(r)
		})
		return out, err
	})
}

// Sizes of the messages that framings are compared with: below the chunk size,
// about it, and well above.
var (
	streamSizes = []int{1 << 10, 32 << 10, 64 << 10, 1 << 20}
	tripSizes   = []int{256, 4 << 10, 32 << 10}
)

// compared are the framings whose cost is compared: as printed, the sender
// that chunks large messages alone, and lines as the measure of both.
var compared = []string{"ndjson", "chunked:61440", "adaptive:61440"}

// costs measures framings beside each other, streams and round trips, samples
// of all cells interleaved.
func (l *lab) costs(ctx context.Context) ([]results.Record, error) {
	topology, err := placement.Read()
	if err != nil {
		return nil, err
	}
	places := []string{"free"}
	if _, err := topology.Choose("same"); err == nil {
		places = []string{"same"}
	}
	if _, err := topology.Choose("apart"); err == nil {
		places = append(places, "apart")
	}
	p := bench.Plan{Samples: 18, Duration: 25 * time.Millisecond}
	cell := results.Cell{Pipe: string(syspipe.Anonymous), IO: "blocking", Peer: "process", Payload: "json"}
	for _, cell.Framing = range compared {
		cell.Pattern = "stream"
		for _, cell.Placement = range places {
			for _, cell.Size = range streamSizes {
				p.Cells = append(p.Cells, cell)
			}
		}
		cell.Pattern, cell.Placement = "roundtrip", places[0]
		for _, cell.Size = range tripSizes {
			p.Cells = append(p.Cells, cell)
		}
	}
	return l.measure(ctx, "framings beside each other", p)
}

// growings measures readers of lines with messages of growing size.
func (l *lab) growings(ctx context.Context) ([]faults.Growing, error) {
	records, err := l.measure(ctx, "readers of growing lines", faults.GrowthPlan(4<<20))
	return faults.Growings(records), err
}
