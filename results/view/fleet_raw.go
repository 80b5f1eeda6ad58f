package view

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// slowMachines says on which machines raw bytes, or raw round trips, certainly take longer than on
// the others, by a factor of at least [stat.SlowFactor]. Ratios to raw hide this.
func slowMachines(members []stat.Member, streams []fleetStream) []string {
	var texts, slow []string
	trips := comparedStreams(members, results.PatternRoundtrip, false)
	for _, same := range [][]fleetStream{streams, trips} {
		if len(same) == 0 {
			continue
		}
		names, text := slowMachinesAt(members, same[0].cell)
		if text != "" && !slices.Equal(names, slow) {
			texts = append(texts, text)
			slow = names
		}
	}
	return texts
}

// rawTimes returns the times of raw with the settings in cell, the slowest machine first. It leaves
// out machines that are too noisy.
func rawTimes(members []stat.Member, cell results.Cell) []memberShare {
	var all []memberShare
	for i, m := range members {
		for _, f := range m.Figures {
			percent, known := f.Speed.Spread()
			if f.Cell != cell || !known || percent > maxBlur {
				continue
			}
			time := f.Speed
			if stat.RelativeMetric(cell).Better == stat.Higher {
				time = time.Inverse()
			}
			all = append(all, memberShare{m, time, i})
		}
	}
	slices.SortStableFunc(all, func(a, b memberShare) int {
		return cmp.Compare(b.Median, a.Median)
	})
	return all
}

// atWidestGap splits times at the widest gap between them. It returns nothing if the gap is below
// [stat.SlowFactor], or if noise may explain it.
func atWidestGap(all []memberShare) (slow, others []memberShare) {
	at := 0
	widest := stat.SlowFactor
	for i := 1; i < len(all); i++ {
		if factor := all[i-1].Median / all[i].Median; factor >= widest {
			at = i
			widest = factor
		}
	}
	slow, others = all[:at], all[at:]
	for _, a := range slow {
		for _, b := range others {
			if a.Interval.Lo <= b.Interval.Hi {
				return nil, nil
			}
		}
	}
	return slow, others
}

// slowMachinesAt names the machines on which raw takes longer in one combination of settings.
func slowMachinesAt(members []stat.Member, cell results.Cell) (names []string, text string) {
	isTrips := fleetStream{cell: cell}.isTrips()
	cell.Framing = results.FramingRaw
	slow, others := atWidestGap(rawTimes(members, cell))
	if len(slow) == 0 {
		return nil, ""
	}
	for _, m := range slow {
		names = append(names, m.Name)
	}
	verb, where := "takes", others[0].Name
	if len(slow) > 1 {
		verb = "take"
	}
	if len(others) > 1 {
		where = fmt.Sprintf("the %d others", len(others))
	}
	what := "bytes"
	if isTrips {
		what = "round trips"
	}
	factor := medianTime(slow) / medianTime(others)
	text = fmt.Sprintf("%s %s %.1f times as long: raw %s %s, on %s %s (%s, %s).",
		nameSome(names), verb, factor, what, rawRange(slow, cell), where, rawRange(others, cell),
		SizeTitle(cell.Size), PlacementPhrase(cell.Placement))
	return names, text
}

func medianTime(all []memberShare) float64 {
	var times []float64
	for _, m := range all {
		times = append(times, m.Median)
	}
	return stat.SpreadOf(times).Median
}

// rawRange shows the least and the largest speed, or time of a round trip, of machines in the order
// of their times.
func rawRange(all []memberShare, cell results.Cell) string {
	metric := stat.RelativeMetric(cell)
	least, most := all[0].Median, all[len(all)-1].Median
	if metric.Better == stat.Higher {
		return FromTo(metric.Format(1/least), metric.Format(1/most))
	}
	return FromTo(metric.Format(most), metric.Format(least))
}
