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
	err := s.run(ctx)
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
	points  []*point
	variant int // the chunk size that variants are tried with; 0 while they are not
	begun   bool
	late    bool
}

// A point is a cell and what is known of it.
type point struct {
	results.Tune
	compared int64
	frame    int // that the sender had come to
	dropped  bool
}

// Rounds that are taken whatever comes of them.
const (
	coarseRounds  = 2
	variantRounds = 3
	minSamples    = stat.LeastSamples
)

func (s *search) run(ctx context.Context) error {
	var coarse []results.Cell // where the search begins
	for _, drain := range s.Drains {
		for _, chunk := range s.coarse() {
			coarse = append(coarse, s.plain(chunk, drain))
		}
		coarse = append(coarse, s.baseline(drain))
	}
	for range coarseRounds {
		if err := s.round(ctx, coarse); err != nil {
			return err
		}
	}
	for tried := 0; !s.timeUp(ctx); {
		// Variants are tried when half of the time is over at the latest: until then the size that
		// they are tried with may change.
		halfway := s.MaxTime > 0 && time.Since(s.started) > s.MaxTime/2
		d := s.decide()
		cells := s.wanted(d)
		if tried < variantRounds && (len(cells) == 0 || halfway) {
			cells = append(cells, s.variantCells(d)...)
			tried++
		}
		if len(cells) == 0 {
			return nil
		}
		if err := s.round(ctx, cells); err != nil {
			return err
		}
	}
	return nil
}

// variantCells returns the variants, with the size that was best when the first was tried.
func (s *search) variantCells(d Decision) []results.Cell {
	if s.variant == 0 {
		s.variant = d.Best
	}
	if s.variant == 0 {
		return nil
	}
	return slices.DeleteFunc(s.variants(s.variant), func(c results.Cell) bool { return s.point(c).dropped })
}

// maxContenders is how many contenders a round refines at most: more are better told apart by
// knowing the likeliest ones first.
const maxContenders = 5

// wanted returns the cells that may change the decision; none when it stands.
func (s *search) wanted(d Decision) []results.Cell {
	sizes := slices.Concat(s.neighbours(d.Best), s.neighbours(d.Top), s.frontier(d), s.conflicting(d))
	if !d.Converged() || !s.known(d.Best) {
		likely := d.Contenders()
		sizes = append(sizes, likely[:min(maxContenders, len(likely))]...)
	}
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	var out []results.Cell
	for _, drain := range s.Drains {
		for _, chunk := range sizes {
			if c := s.plain(chunk, drain); s.wants(c, d) {
				out = append(out, c)
			}
		}
		if c := s.baseline(drain); d.Unchunked && len(s.point(c).Samples) < minSamples {
			out = append(out, c)
		}
	}
	return out
}

// frontier returns the sizes beside those that may be recommended and not measured yet. Who does
// not know where a plateau begins cannot recommend its beginning.
func (s *search) frontier(d Decision) []int {
	var out []int
	for _, c := range d.Possible {
		for _, near := range s.neighbours(c) {
			if len(s.point(s.plain(near, d.Fast)).Samples) < coarseRounds {
				out = append(out, near)
			}
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
		share = weights[d.Objective] / float64(max(1, len(d.Slow)))
	}
	return d.halfWidthOf(s.point(c))*share > convergedMargin/4
}

// halfWidthOf returns how far a point's figure that counts may be off.
func (d Decision) halfWidthOf(p *point) float64 {
	if p.Cell.Drain == d.Fast {
		return halfWidth(d.Cost, p.Samples)
	}
	return halfWidth(view.TuneWaitMetric(p.Samples), p.Samples)
}

// conflicting returns the sizes of which two samples contradict each other by more than a factor of
// two: a third tells which of them the machine disturbed.
func (s *search) conflicting(d Decision) []int {
	var out []int
	for _, p := range s.points {
		if !s.isVariant(p.Cell) && chunkOf(p.Cell) > 0 && s.contradicts(p, d) {
			out = append(out, chunkOf(p.Cell))
		}
	}
	return out
}

func (s *search) contradicts(p *point, d Decision) bool {
	return len(p.Samples) == coarseRounds && d.halfWidthOf(p) > math.Ln2/2
}

// known reports whether all of a size's figures have an interval.
func (s *search) known(chunk int) bool {
	for _, drain := range s.Drains {
		if len(s.point(s.plain(chunk, drain)).Samples) < minSamples {
			return false
		}
	}
	return true
}

// point is a cell's, made when it is first asked for.
func (s *search) point(c results.Cell) *point {
	for _, p := range s.points {
		if p.Cell == c {
			return p
		}
	}
	p := &point{Tune: results.Tune{Kind: results.KindTune, Run: s.Run, Cell: c}}
	s.points = append(s.points, p)
	return p
}

// timeUp reports whether no further sample is to be begun. The first one is, however little time
// there was: without it there is nothing to show.
func (s *search) timeUp(ctx context.Context) bool {
	s.late = s.late || s.begun && s.MaxTime > 0 && time.Since(s.started) > s.MaxTime
	return s.late || ctx.Err() != nil
}

// round takes a sample of each cell, in an order shuffled anew.
func (s *search) round(ctx context.Context, cells []results.Cell) error {
	for _, i := range s.random.Perm(len(cells)) {
		if s.timeUp(ctx) {
			return nil
		}
		if err := s.sampleCell(cells[i]); err != nil {
			return err
		}
	}
	return nil
}

// sampleCell takes one sample. A variant that this system does not have is dropped and its record
// says why; a candidate that cannot be measured ends the search.
func (s *search) sampleCell(c results.Cell) error {
	p := s.point(c)
	if p.dropped {
		return nil
	}
	s.begun = true
	got, err := s.sample(c)
	if err != nil && bench.IsUnsupported(err) && s.isVariant(c) {
		p.dropped = true
		p.Warnings = append(p.Warnings, "unsupported: "+err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	p.Samples = append(p.Samples, got.Sample)
	p.compared += got.compared
	p.frame = got.frame
	if s.Observe != nil {
		s.Observe(Progress{Cell: c, Sample: len(p.Samples), Decision: s.decide(), Elapsed: time.Since(s.started)})
	}
	return nil
}

func (s *search) isVariant(c results.Cell) bool {
	return c.Sender != "" || c.Capacity != s.Cell.Capacity || c.Size != s.Cell.Size
}

func (s *search) decide() Decision { return Decide(s.records(), s.Objective) }

func (s *search) records() []results.Tune {
	var out []results.Tune
	for _, p := range s.points {
		if !s.isVariant(p.Cell) {
			out = append(out, p.Tune)
		}
	}
	return out
}

// keep hands over the records, the recommended ones marked.
func (s *search) keep(keep func(results.Tune) error) error {
	d := s.decide()
	slices.SortStableFunc(s.points, func(a, b *point) int { return s.order(a.Cell, b.Cell) })
	for _, p := range s.points {
		if len(p.Samples) == 0 && !p.dropped {
			continue
		}
		if err := keep(s.recordOf(p, d)); err != nil {
			return fmt.Errorf("keep the record of %s: %w", bench.Label(p.Cell), err)
		}
	}
	return nil
}

// order puts candidates first, since the first record says what they share.
func (s *search) order(a, b results.Cell) int {
	rank := func(c results.Cell) int {
		switch {
		case s.isVariant(c):
			return 2
		case chunkOf(c) == 0:
			return 1
		}
		return 0
	}
	return cmp.Or(rank(a)-rank(b), faster(a.Drain, b.Drain), chunkOf(a)-chunkOf(b))
}

// recordOf returns a point's record.
func (s *search) recordOf(p *point, d Decision) results.Tune {
	t := p.Tune
	t.Time = time.Now().UTC()
	t.Evidence = results.TuneEvidence{Compared: p.compared}
	if ns, ok := Predicted(t); ok {
		t.Evidence.PredictedNS = int64(ns)
	}
	if p.frame > 0 && p.Cell.Sender != "" {
		t.Evidence.Frame = p.frame
	}
	recommended := d.Best
	if d.Unchunked {
		recommended = 0
	}
	if !d.Inconclusive() && !s.isVariant(p.Cell) && chunkOf(p.Cell) == recommended {
		t.Recommended = true
		t.Evidence.RecommendationEvidence = &results.RecommendationEvidence{
			Objective: string(d.Objective), Margin: float64(int(d.Margin*1e4)) / 1e4,
			Cost: d.Cost, Alike: d.Alike, Possible: d.Possible, Flat: d.Flat,
		}
	}
	if warning, late := view.LateWarning(t.Samples); late {
		t.Warnings = append(t.Warnings, warning)
	}
	return t
}
