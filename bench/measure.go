package bench

import (
	"context"
	"fmt"

	"github.com/pipebench/pipebench/results"
)

// Measure takes one sample of n messages of a cell, without rehearsal: for a
// caller that decides itself how many messages a sample has, as go test -bench
// does. The plan's cells are not used.
func (p Plan) Measure(ctx context.Context, c results.Cell, n int64) (results.Sample, error) {
	if err := p.validate(c); err != nil {
		return results.Sample{}, err
	}
	if err := Unsupported(c); err != nil {
		return results.Sample{}, err
	}
	r, err := newRunner(p, nil)
	if err != nil {
		return results.Sample{}, err
	}
	cpus, err := r.topology.Choose(c.Placement)
	if err != nil {
		return results.Sample{}, err
	}
	s, _, err := r.measureOnce(ctx, &cellRun{record: results.Record{Cell: c}, cpus: cpus}, n)
	if err != nil {
		return s, fmt.Errorf("%s: %w", Label(c), err)
	}
	return s, nil
}
