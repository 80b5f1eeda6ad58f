package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/syspipe/script"
)

// Run searches for the best chunk size: a coarse grid first, then the sizes that may yet be the
// best and their neighbours, in rounds of one sample each in shuffled order, until the margin is
// below 5 % or the time is up. It gives all records to keep when it knows which of them to
// recommend, also when ctx ends before that.
func Run(ctx context.Context, o Options, keep func(results.Tune) error) error {
	if err := o.Validate(); err != nil {
		return err
	}
	s := &search{Options: o, started: time.Now(), random: rand.New(rand.NewPCG(uint64(o.Seed), 9))}
	s.sample = func(c results.Cell) (tuneSample, error) { return takeSample(ctx, o.plan(c), c) }
	err := script.Run(func() { s.run(ctx) })
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return errors.Join(err, s.keep(keep))
}

// A search is a run under way.
type search struct {
	Options
	started time.Time
	random  *rand.Rand
	sample  func(results.Cell) (tuneSample, error)
	points  []*results.Tune // what is known of each cell, by which it is found
}

// Rounds that are taken whatever comes of them.
const (
	coarseRounds  = 2
	variantRounds = 3
	minSamples    = stat.LeastSamples
)

// run is a script, which a candidate ends that cannot be measured.
func (s *search) run(ctx context.Context) {
	var coarse []results.Cell // where the search begins
	for _, drain := range s.Drains {
		for _, chunk := range append(s.coarse(), 0) {
			coarse = append(coarse, plain(s.Cell, chunk, drain))
		}
	}
	for range coarseRounds {
		s.round(ctx, coarse)
	}
	variant := 0 // the chunk size that variants are tried with, the best by then; 0 while they are not
	for tried := 0; !s.timeUp(ctx); {
		// Variants are tried when half of the time is over at the latest: until then the size that
		// they are tried with may change.
		halfway := s.MaxTime > 0 && time.Since(s.started) > s.MaxTime/2
		d := s.decide()
		cells := s.wanted(d)
		if tried < variantRounds && (len(cells) == 0 || halfway) {
			if variant = cmp.Or(variant, d.Best); variant > 0 {
				lacking := func(c results.Cell) bool { return isDropped(s.point(c)) }
				cells = append(cells, slices.DeleteFunc(s.variants(variant), lacking)...)
			}
			tried++
		}
		if len(cells) == 0 {
			return
		}
		s.round(ctx, cells)
	}
}

// maxContenders is how many contenders a round refines at most: more are better told apart by
// knowing the likeliest ones first.
const maxContenders = 5

// wanted returns the cells that may change the decision; none when it stands.
func (s *search) wanted(d Decision) []results.Cell {
	// Of two samples that contradict each other, a third tells which of them the machine disturbed.
	contradicting := stat.Filter(s.points, func(p *results.Tune) bool {
		return !isVariant(p.Cell, s.Cell) && chunkOf(p.Cell) > 0 && s.contradicts(p, d)
	})
	// what is beside those that may be recommended, and not measured yet: who does not know where a
	// plateau begins cannot recommend its beginning
	var frontier []int
	for _, c := range d.Possible {
		for _, near := range s.neighbours(c) {
			if len(s.point(plain(s.Cell, near, d.Fast)).Samples) < coarseRounds {
				frontier = append(frontier, near)
			}
		}
	}
	sizes := slices.Concat(s.neighbours(d.Best), s.neighbours(d.Top), frontier,
		stat.Map(contradicting, func(p *results.Tune) int { return chunkOf(p.Cell) }))
	hasFew := func(drain int64) bool { return len(s.point(plain(s.Cell, d.Best, drain)).Samples) < minSamples }
	if !d.Converged() || slices.ContainsFunc(s.Drains, hasFew) {
		likely := d.Contenders()
		sizes = append(sizes, likely[:min(maxContenders, len(likely))]...)
	}
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	var out []results.Cell
	for _, drain := range s.Drains {
		for _, chunk := range sizes {
			if c := plain(s.Cell, chunk, drain); s.wants(c, d) {
				out = append(out, c)
			}
		}
		if c := plain(s.Cell, 0, drain); d.Unchunked && len(s.point(c).Samples) < minSamples {
			out = append(out, c)
		}
	}
	return out
}

// wants reports whether another sample of a cell helps: there are too few, or the decision does not
// stand and the cell is part of the reason.
func (s *search) wants(c results.Cell, d Decision) bool {
	n := len(s.point(c).Samples)
	switch {
	case n < coarseRounds, s.contradicts(s.point(c), d), (chunkOf(c) == d.Best || chunkOf(c) == d.Top) && n < minSamples:
		return true
	case d.Converged():
		return false
	case n < minSamples && c.Drain == d.Fast:
		return true
	}
	share := 1.0 // of the score, that the figure weighs
	if c.Drain != d.Fast {
		share = weights[Objective(d.Objective)] / float64(max(1, len(d.Slow)))
	}
	return d.halfWidthOf(s.point(c))*share > convergedMargin/4
}

// halfWidthOf returns how far a point's figure that counts may be off.
func (d Decision) halfWidthOf(p *results.Tune) float64 {
	if p.Cell.Drain == d.Fast {
		return figureOf(d.Cost, p.Samples).halfWidth
	}
	return waitOf(p.Samples).halfWidth
}

// contradicts reports whether the two samples of a cell differ by more than a factor of two.
func (s *search) contradicts(p *results.Tune, d Decision) bool {
	return len(p.Samples) == coarseRounds && d.halfWidthOf(p) > math.Ln2/2
}

// point is a cell's, made when it is first asked for.
func (s *search) point(c results.Cell) *results.Tune {
	for _, p := range s.points {
		if p.Cell == c {
			return p
		}
	}
	p := &results.Tune{Kind: results.KindTune, Run: s.Run, Cell: c}
	s.points = append(s.points, p)
	return p
}

// isDropped reports whether this system does not have what a variant asks for, as its record says.
func isDropped(p *results.Tune) bool { return len(p.Warnings) > 0 }

// timeUp reports whether no further sample is to be begun. The first one is, however little time
// there was: without it there is nothing to show.
func (s *search) timeUp(ctx context.Context) bool {
	return ctx.Err() != nil || len(s.points) > 0 && s.MaxTime > 0 && time.Since(s.started) > s.MaxTime
}

// round takes a sample of each cell, in an order shuffled anew. A variant that this system does not
// have is dropped and its record says why; a candidate that cannot be measured ends the search.
func (s *search) round(ctx context.Context, cells []results.Cell) {
	for _, i := range s.random.Perm(len(cells)) {
		if s.timeUp(ctx) {
			return
		}
		c := cells[i]
		p := s.point(c)
		got, err := s.sample(c)
		if err != nil && bench.IsUnsupported(err) && isVariant(c, s.Cell) {
			p.Warnings = append(p.Warnings, "unsupported: "+err.Error())
			continue
		}
		script.Check(err)
		p.Samples = append(p.Samples, got.Sample)
		p.Evidence.Compared += got.Compared
		if c.Sender != "" {
			p.Evidence.Frame = got.Frame
		}
		if s.Observe != nil {
			s.Observe(Progress{Cell: c, Sample: len(p.Samples), Decision: s.decide(), Elapsed: time.Since(s.started)})
		}
	}
}

func (s *search) decide() Decision {
	return Decide(stat.Map(s.points, func(p *results.Tune) results.Tune { return *p }), s.Objective)
}

// keep hands over the records, the recommended ones marked.
func (s *search) keep(keep func(results.Tune) error) error {
	d := s.decide()
	rank := func(c results.Cell) int { // candidates first, since the first record says what they share
		switch {
		case isVariant(c, s.Cell):
			return 2
		case chunkOf(c) == 0:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(s.points, func(p, q *results.Tune) int {
		a, b := p.Cell, q.Cell
		return cmp.Or(rank(a)-rank(b), faster(a.Drain, b.Drain), chunkOf(a)-chunkOf(b))
	})
	for _, p := range s.points {
		if len(p.Samples) == 0 && !isDropped(p) {
			continue
		}
		if err := keep(s.recordOf(*p, d)); err != nil {
			return fmt.Errorf("keep the record of %s: %w", bench.Label(p.Cell), err)
		}
	}
	return nil
}

// recordOf completes the record of a cell by what was decided.
func (s *search) recordOf(t results.Tune, d Decision) results.Tune {
	t.Time = time.Now().UTC()
	if ns, ok := Predicted(t); ok {
		t.Evidence.PredictedNS = int64(ns)
	}
	recommended := d.Best
	if d.Unchunked {
		recommended = 0
	}
	if !d.Inconclusive() && !isVariant(t.Cell, s.Cell) && chunkOf(t.Cell) == recommended {
		t.Recommended = true
		d.Margin = float64(int(d.Margin*1e4)) / 1e4
		t.Evidence.RecommendationEvidence = &d.RecommendationEvidence
	}
	if warning, late := view.LateWarning(t.Samples); late {
		t.Warnings = append(t.Warnings, warning)
	}
	return t
}
