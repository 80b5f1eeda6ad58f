package stat

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/pipebench/pipebench/results"
)

// An Outlier is a machine on which at least two figures of a framing are far from those of similar
// machines. One is enough if it differs by [OutlierFactor]. Figures count only if they are not
// noisy, and if [results.Cell.IsBare] holds for their settings.
type Outlier struct {
	Member   int          // in the list of members
	Cells    int          // number of the framing's cells in which it is far off
	Compared int          // number of the framing's cells that were compared
	Cell     results.Cell // the cell in which it is furthest off
	Figures  [2]float64   // in Cell: its own figure, and the usual one
	RawAlone bool         // Cell is of raw, and most framings are as fast as usual there
}

const (
	// LeastPeers is how many machines must have the same system and processor to be compared only
	// with each other. If they are fewer, they are compared with all machines.
	LeastPeers = 8
	// OutlierDeviations is an outlier's least distance from the median, in standard deviations.
	OutlierDeviations = 6
	// OutlierFactor is the ratio to the usual figure from which one figure makes an outlier.
	OutlierFactor = 1.25
	// SlowFactor is the ratio from which the speeds of raw on two machines are worth telling.
	SlowFactor = 1.5
	// MostSpread is the largest half-width of an interval, in percent of the median. Figures with
	// a wider interval are rough, and too noisy to compare machines.
	MostSpread = 50

	leastOfKind     = 4    // machines of a kind that may be usual for it, though not for all
	mostChance      = 0.05 // above it, a difference between groups is not worth telling
	outlierDistance = 1.1  // as a ratio: less is not worth a look
)

// peersOf groups the indices of members by kind of machine. It also returns the indices of all
// members.
func peersOf(members []Member) (byKind map[string][]int, all []int) {
	byKind = make(map[string][]int)
	for i, m := range members {
		all = append(all, i)
		e := m.Environment()
		kind := fmt.Sprintf("%q %q %q %q %q %q %d %d", e.OS, e.Kernel, e.Arch, e.CPU,
			e.Virtualisation, e.Imitation, e.CPUs, e.PageSize)
		byKind[kind] = append(byKind[kind], i)
	}
	return byKind, all
}

// FleetOutliers finds the outliers of a fleet, the furthest machine first. Of each machine, raw
// comes before the framings, whose figures are relative to raw. compared is how many machines have
// a figure that was compared with those of others.
func FleetOutliers(members []Member) (found []Outlier, compared int) {
	groups, all := peersOf(members)
	for _, own := range groups {
		peers := own
		if len(own) < LeastPeers {
			peers = all
		}
		odd, n := outliersAmong(members, own, peers)
		found = append(found, odd...)
		compared += n
	}
	furthest := make(map[int]float64) // by member
	for _, o := range found {
		furthest[o.Member] = max(furthest[o.Member], distance(o.Figures))
	}
	isFraming := func(o Outlier) int {
		if o.Cell.Framing == results.FramingRaw {
			return 0
		}
		return 1
	}
	slices.SortFunc(found, func(a, b Outlier) int {
		return cmp.Or(cmp.Compare(furthest[b.Member], furthest[a.Member]),
			cmp.Compare(a.Member, b.Member), isFraming(a)-isFraming(b),
			cmp.Compare(distance(b.Figures), distance(a.Figures)),
			cmp.Compare(a.Cell.Framing, b.Cell.Framing))
	})
	return found, compared
}

// WithoutOutliers returns the members without the figures of those framings by which they stand
// out, as [FleetOutliers] found them.
func WithoutOutliers(members []Member, found []Outlier) []Member {
	usual := slices.Clone(members)
	for _, o := range found {
		m := &usual[o.Member]
		m.Figures = slices.DeleteFunc(slices.Clone(m.Figures), func(f Figure) bool {
			return f.Cell.Framing == o.Cell.Framing
		})
	}
	return usual
}

// distance returns how far two figures are apart, as the logarithm of their ratio.
func distance(figures [2]float64) float64 { return math.Abs(math.Log(figures[0] / figures[1])) }

// A usualFigure describes one figure of several machines, as logarithms: their median, and how far
// from the median a machine may be.
type usualFigure struct{ centre, limit float64 }

// usualFigures returns the usual figure of each combination of settings that so many of the peers
// measured, or more. The peers are indices in members.
func usualFigures(members []Member, peers []int, least int) map[results.Cell]usualFigure {
	values := make(map[results.Cell][]float64)
	without := make(map[results.Cell]int) // number of machines whose raw alone is far off
	for _, i := range peers {
		for _, f := range members[i].Figures {
			if f.RawAlone > 0 && f.Cell.Framing != results.FramingRaw {
				without[f.Cell]++
			}
			if e, ok := f.toCompare(); ok {
				values[f.Cell] = append(values[f.Cell], math.Log(e.Median))
			}
		}
	}
	usual := make(map[results.Cell]usualFigure)
	for cell, logs := range values {
		if len(logs)+without[cell] < least {
			continue
		}
		centre := medianOf(logs)
		limit := OutlierDeviations * deviation(logs, centre)
		usual[cell] = usualFigure{centre, max(limit, math.Log(outlierDistance))}
	}
	return usual
}

// outliersAmong compares the machines in own with the machines in peers. It returns the outliers,
// and how many machines could be compared. The two lists have indices of members.
func outliersAmong(members []Member, own, peers []int) (found []Outlier, compared int) {
	usual := usualFigures(members, peers, LeastPeers)
	ofKind := usualFigures(members, own, leastOfKind)
	for _, i := range own {
		byFraming := make(map[string]Outlier)
		for _, f := range members[i].Figures {
			u, known := usual[f.Cell]
			e, ok := f.toCompare()
			if !known || !ok || !f.Cell.IsBare() {
				continue
			}
			o := byFraming[f.Cell.Framing]
			o.Compared++
			isBelow := math.Log(e.Interval.Hi) < u.centre-u.limit
			isAbove := math.Log(e.Interval.Lo) > u.centre+u.limit
			kind, isKnown := ofKind[f.Cell]
			fromKind := math.Abs(math.Log(e.Median) - kind.centre)
			isOfKind := isKnown && fromKind < math.Log(outlierDistance)
			if (isBelow || isAbove) && !isOfKind {
				o.Cells++
				figures := [2]float64{e.Median, math.Exp(u.centre)}
				if o.Cells == 1 || distance(figures) > distance(o.Figures) {
					o.Cell = f.Cell
					o.Figures = figures
					o.RawAlone = f.RawAlone > 0
				}
			}
			byFraming[f.Cell.Framing] = o
		}
		if len(byFraming) > 0 {
			compared++
		}
		for _, framing := range slices.Sorted(maps.Keys(byFraming)) {
			o := byFraming[framing]
			o.Member = i
			if o.Cells >= 2 || o.Cells > 0 && distance(o.Figures) >= math.Log(OutlierFactor) {
				found = append(found, o)
			}
		}
	}
	return found, compared
}

// Compared returns the estimate by which machines are compared: the ratio to the framing raw or,
// for raw itself, the speed. Its N is 0 if there is none, or if no run has this figure.
func (f Figure) Compared() Estimate {
	switch {
	case f.RunsDiffer:
		return Estimate{}
	case f.Cell.Framing == results.FramingRaw:
		return f.Speed
	case f.RawAlone > 0:
		return Estimate{}
	}
	return f.ToRaw
}

// toCompare is Compared. The second result is false if the estimate is too noisy.
func (f Figure) toCompare() (e Estimate, ok bool) {
	e = f.Compared()
	percent, known := e.Spread()
	return e, known && percent <= MostSpread
}

// Differ reports whether groups of values differ by more than chance explains, with more than a
// tenth between their medians. likely is set from a larger chance on than certain.
func Differ(groups [][]float64) (certain, likely bool) {
	n := 0
	least, most := math.Inf(1), math.Inf(-1)
	for _, group := range groups {
		n += len(group)
		least = min(least, medianOf(group))
		most = max(most, medianOf(group))
	}
	if len(groups) < 2 || n < LeastPeers || most <= outlierDistance*least {
		return false, false
	}
	chance := kruskalWallis(groups)
	return chance < forkLevel, chance < mostChance
}

// A Spread says how far a figure differs between machines.
type Spread struct {
	N                int
	Median, P10, P90 float64
	Between          bool // no value is near the median, which lies between two of them
}

// SpreadOf returns the spread of values.
func SpreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	at := func(share float64) float64 { return sorted[int(math.Round(share*float64(n-1)))] }
	return Spread{
		N: n, Median: medianOf(sorted), P10: at(0.1), P90: at(0.9),
		Between: sorted[n/2] > outlierDistance*sorted[(n-1)/2],
	}
}
