package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// FleetStreams lists the measurements by which machines are compared, at one placement of the
// pipe's ends. Their messages go one way, each written at once, and they have a ratio to raw bytes.
// Measurements that only few machines made, or that have too few samples, are left out.
func FleetStreams(members []stat.Member, placement string) []results.Cell {
	return fleetCells(members, patternStream, placement, false)
}

// fleetCells does what FleetStreams does, for any pattern of messages. If rough is set, ratios need
// no interval.
func fleetCells(members []stat.Member, pattern, placement string, rough bool) []results.Cell {
	count := make(map[results.Cell]int)
	most := 0
	for _, m := range members {
		for _, f := range m.Figures {
			c := f.Cell
			isWanted := c.Placement == placement && c.Pattern == pattern && c.WriteSize == 0
			isProgram := c.Source != "" || c.Touch || c.Work != 0
			if isWanted && !isProgram && isShare(f, rough) {
				count[c]++
				most = max(most, count[c])
			}
		}
	}
	var cells []results.Cell
	for c, n := range count {
		if 2*n >= most {
			cells = append(cells, c)
		}
	}
	slices.SortFunc(cells, func(a, b results.Cell) int {
		return cmp.Or(cmp.Compare(a.Framing, b.Framing), cmp.Compare(a.Size, b.Size),
			cmp.Compare(a.Key(), b.Key()))
	})
	return cells
}

// A fleetStream is a group of measurements that differ only in their framing.
type fleetStream struct {
	cell     results.Cell // of all these streams, without the framing
	framings []string
	rough    bool // the ratios to raw bytes have too few samples for an interval
}

// isTrips reports whether the messages go there and back. A ratio to raw is then one of times.
func (v fleetStream) isTrips() bool { return v.cell.Pattern == results.PatternRoundtrip }

// where says which messages these are.
func (v fleetStream) where() string {
	return fmt.Sprintf(" (messages of %s, %s)", SizeTitle(v.cell.Size),
		PlacementPhrase(v.cell.Placement))
}

// isShare reports whether a figure is a share of the goodput of raw bytes. If rough is set, it may
// have no interval.
func isShare(f stat.Figure, rough bool) bool {
	return f.ToRaw.Interval != nil || rough && f.ToRaw.N > 0
}

// streamsToCompare returns a group of measurements for each placement, at the message size that
// most machines measured there. Of several such sizes, it takes the one at which a few machines
// differ most; the other sizes at which they differ follow. If a few machines have too few samples
// for any interval, the groups are rough. Groups of round trips follow if a few machines differ in
// them.
func streamsToCompare(members []stat.Member) []fleetStream {
	out := comparedStreams(members, patternStream, false)
	if len(members) > FewMachines {
		return out
	}
	if len(out) == 0 {
		out = comparedStreams(members, patternStream, true)
	}
	for _, trips := range comparedStreams(members, results.PatternRoundtrip, false) {
		if len(out) > 0 && trips.largestDistance(members) > 0 {
			out = append(out, trips)
		}
	}
	return out
}

func comparedStreams(members []stat.Member, pattern string, rough bool) []fleetStream {
	var out []fleetStream
	for _, p := range placements {
		streams := streamsOf(fleetCells(members, pattern, p.name, rough), rough)
		if len(streams) == 0 {
			continue
		}
		slices.SortFunc(streams, func(a, b fleetStream) int {
			return cmp.Or(cmp.Compare(b.mostShares(members), a.mostShares(members)),
				cmp.Compare(b.largestDistance(members), a.largestDistance(members)),
				cmp.Compare(sizeDistance(a.cell.Size), sizeDistance(b.cell.Size)))
		})
		for i, stream := range streams {
			if i == 0 || stream.largestDistance(members) > 0 {
				out = append(out, stream)
			}
		}
	}
	sortFramings(out, members)
	return out
}

// streamsOf puts measurements that differ only in their framing into one stream.
func streamsOf(cells []results.Cell, rough bool) []fleetStream {
	var out []fleetStream
	for _, c := range cells {
		framing := c.Framing
		c.Framing = ""
		i := slices.IndexFunc(out, func(v fleetStream) bool { return v.cell == c })
		if i < 0 {
			i = len(out)
			out = append(out, fleetStream{cell: c, rough: rough})
		}
		out[i].framings = append(out[i].framings, framing)
	}
	return out
}

// mostShares returns how many machines measured the framing that most of them measured well enough.
func (v fleetStream) mostShares(members []stat.Member) int {
	most := 0
	for _, framing := range v.framings {
		most = max(most, len(v.sharesOf(members, framing).known))
	}
	return most
}

// largestDistance returns by how much a framing's share of raw's speed differs between a few
// machines. It returns 0 if no difference is certain, and for many machines.
func (v fleetStream) largestDistance(members []stat.Member) float64 {
	if len(members) > FewMachines {
		return 0
	}
	differ, _, _ := v.differing(members)
	if len(differ) == 0 {
		return 0
	}
	return differ[0].distance()
}

// sortFramings gives the framings of all streams the same order. Framings whose speed differs
// between machines come first.
func sortFramings(streams []fleetStream, members []stat.Member) {
	var order, others []string
	for _, v := range streams {
		differ, alike, noisy := v.differing(members)
		for _, s := range differ {
			order = append(order, s.framing)
		}
		for _, s := range slices.Concat(alike, noisy) {
			others = append(others, s.framing)
		}
	}
	order = append(order, others...)
	for _, v := range streams {
		slices.SortFunc(v.framings, func(a, b string) int {
			return slices.Index(order, a) - slices.Index(order, b)
		})
	}
}

// shares returns the goodput of a framing as a share of that of raw bytes, for each machine on
// which the interval of the share is known. A rough stream has shares without an interval, too.
func (v fleetStream) shares(members []stat.Member, framing string) []stat.Estimate {
	cell := v.cell
	cell.Framing = framing
	var all []stat.Estimate
	for _, m := range members {
		for _, f := range m.Figures {
			if f.Cell == cell && isShare(f, v.rough) {
				all = append(all, f.ToRaw)
			}
		}
	}
	return all
}

// measured returns the machines on which at least one framing was compared with raw bytes.
func (v fleetStream) measured(members []stat.Member) []stat.Member {
	return slices.DeleteFunc(slices.Clone(members), func(m stat.Member) bool {
		return !slices.ContainsFunc(v.framings, func(framing string) bool {
			return len(v.shares([]stat.Member{m}, framing)) > 0
		})
	})
}

// isCertain reports whether a machine has a share of at least one framing that is not too noisy.
func (v fleetStream) isCertain(m stat.Member) bool {
	return slices.ContainsFunc(v.framings, func(framing string) bool {
		return len(v.sharesOf([]stat.Member{m}, framing).known) > 0
	})
}

func mediansOf(all []stat.Estimate) []float64 {
	var out []float64
	for _, e := range all {
		out = append(out, e.Median)
	}
	return out
}

// sentence says what share of the goodput of raw bytes each framing keeps on most of the machines.
func (v fleetStream) sentence(members []stat.Member) string {
	where := "on " + members[0].Name
	if len(members) > 1 {
		where = "on most machines"
	}
	return fmt.Sprintf("Messages of %s, %s: framings keep this much of raw's goodput %s: %s.",
		SizeTitle(v.cell.Size), PlacementPhrase(v.cell.Placement), where, v.sharesText(members))
}

// sharesText lists the framings, each with the range of its share of the goodput of raw bytes on
// most machines. For a few machines, it leaves out shares that are too noisy to tell.
func (v fleetStream) sharesText(members []stat.Member) string {
	var parts, noisy []string
	for _, framing := range v.framings {
		medians := mediansOf(v.shares(members, framing))
		if len(members) <= FewMachines {
			medians = nil
			for _, m := range v.sharesOf(members, framing).known {
				medians = append(medians, m.Median)
			}
		}
		if len(medians) == 0 {
			noisy = append(noisy, results.FramingPhrase(framing))
			continue
		}
		s := stat.SpreadOf(medians)
		parts = append(parts, results.FramingPhrase(framing)+" "+percentRange(s.P10, s.P90))
	}
	if len(noisy) > 0 {
		return joinAnd(parts) + "; " + joinAnd(noisy) + ": " + tooNoisyToTell
	}
	return joinAnd(parts)
}

// A group is a set of machines that share a row of a table.
type group struct {
	title   string
	members []stat.Member
}

// groups returns a group of all machines, then groups by each property, such as the processor, on
// which the speed of a framing depends. A sentence for each such property says how; those that may
// be chance come last. certain is how many are not.
func (v fleetStream) groups(members []stat.Member) (all []group, sentences []string, certain int) {
	all = []group{{"all", members}}
	for _, factor := range factors {
		byValue := grouped(members, func(m stat.Member) string { return factorOf(m, factor) })
		// true if at least two machines have the same value, but not all do
		isShared := len(byValue) > 1 && len(byValue) < len(members)
		if !isShared {
			continue
		}
		slices.SortStableFunc(byValue, func(a, b []stat.Member) int { return len(b) - len(a) })
		text, isCertain := v.dependence(factor, byValue)
		if text == "" {
			continue
		}
		if isCertain {
			sentences = slices.Insert(sentences, certain, text)
			certain++
		} else {
			sentences = append(sentences, text)
		}
		for _, own := range byValue[:min(len(byValue), mostGroups)] {
			all = append(all, group{factorPhrase(own[0], factor), own})
		}
	}
	return all, sentences, certain
}

// mostGroups is how many groups of machines by one property, such as the processor, a table may
// have.
const mostGroups = 12

// dependence says which framings' speed, relative to raw bytes, differs between groups of machines
// by one property: "ndjson keeps 60 % of raw's speed on linux 6.1 and 84 % on linux 6.18". If no
// such difference is certain, it says those that may be chance.
func (v fleetStream) dependence(
	factor string, byValue [][]stat.Member,
) (text string, isCertain bool) {
	var sure, perhaps []string
	for _, framing := range v.framings {
		var shares [][]float64
		var ranges []shareRange
		for _, own := range byValue {
			medians := mediansOf(v.shares(own, framing))
			if len(medians) == 0 {
				continue
			}
			shares = append(shares, medians)
			s := stat.SpreadOf(medians)
			ranges = append(ranges, shareRange{s.P10, s.P90, factorPhrase(own[0], factor)})
		}
		slices.SortFunc(ranges, func(a, b shareRange) int { return cmp.Compare(a.least, b.least) })
		text := framingShares{framing: framing}.say(ranges)
		switch certain, likely := stat.Differ(shares); {
		case certain:
			sure = append(sure, text)
		case likely:
			perhaps = append(perhaps, text)
		}
	}
	switch {
	case len(sure) > 0:
		return strings.Join(sure, "; ") + v.where() + ".", true
	case len(perhaps) > 0:
		return strings.Join(perhaps, "; ") + v.where() +
			": too few machines to rule out chance.", false
	}
	return "", false
}

// table returns a table with a row for each group of machines and a column for each framing. The
// first column has the title in firstTitle.
func (v fleetStream) table(firstTitle string, groups []group) Table {
	metric := "Goodput"
	if v.isTrips() {
		metric = "Time of a round trip"
	}
	t := Table{
		Title: fmt.Sprintf("%s vs raw, messages of %s, %s", metric,
			SizeTitle(v.cell.Size), ShortPlacement(v.cell.Placement)),
		Columns: []Column{
			{Title: firstTitle, Key: true},
			{Title: "number", Right: true},
			{Title: "raw", Right: true},
		},
	}
	for i, framing := range v.framings {
		title := results.FramingPhrase(framing)
		t.Columns = append(t.Columns, Column{Title: title, Right: true, Key: i == 0})
	}
	for _, g := range groups {
		number := Value{}
		if len(g.members) > 1 {
			number = countValue(int64(len(g.members)))
		}
		row := []Value{textValue(g.title), number, rawValue(g.members, v.cell)}
		for _, framing := range v.framings {
			row = append(row, sharesValue(v.shares(g.members, framing)))
		}
		t.AppendValues(row...)
	}
	return t.dropEmpty()
}

// rawValue shows the goodput of messages without a framing, or the time of a round trip. For
// several machines, it shows the median.
func rawValue(members []stat.Member, cell results.Cell) Value {
	cell.Framing = results.FramingRaw
	metric := stat.RelativeMetric(cell)
	var all []stat.Estimate
	for _, m := range members {
		for _, f := range m.Figures {
			if f.Cell == cell {
				all = append(all, f.Speed)
			}
		}
	}
	switch len(all) {
	case 0:
		return Value{}
	case 1:
		return figureValue(all[0].Median, RoughText(metric.Name, all[0]))
	}
	median := stat.SpreadOf(mediansOf(all)).Median
	return figureValue(median, metric.Format(median))
}

// sharesValue shows one share of the goodput of raw bytes with its interval, or the median of
// several shares with their 10th and 90th percentile.
func sharesValue(all []stat.Estimate) Value {
	switch len(all) {
	case 0:
		return Value{}
	case 1:
		return figureValue(all[0].Median, ratioText(&all[0]))
	}
	s := stat.SpreadOf(mediansOf(all))
	text := fmt.Sprintf("%.2f (%.2f–%.2f)", s.Median, s.P10, s.P90)
	return figureValue(s.Median, text)
}
