package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// FleetStreams lists the measurements by which machines are compared. Their messages go one way,
// each written at once, and they have a ratio to raw bytes. Measurements that only few machines
// made are left out.
func FleetStreams(members []stat.Member) []results.Cell {
	var all []results.Cell
	for _, p := range placements {
		all = append(all, fleetCells(members, patternStream, p.name)...)
	}
	return all
}

// fleetCells does what FleetStreams does, for one placement and any pattern of messages.
func fleetCells(members []stat.Member, pattern, placement string) []results.Cell {
	count := make(map[results.Cell]int)
	most := 0
	for _, m := range members {
		for _, f := range m.Figures {
			c := f.Cell
			isWanted := c.Placement == placement && c.Pattern == pattern && c.IsBare()
			if isWanted && f.ToRaw.N > 0 {
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
}

// isTrips reports whether the messages go there and back. A ratio to raw is then one of times.
func (v fleetStream) isTrips() bool { return v.cell.Pattern == results.PatternRoundtrip }

// where says which messages these are, and which settings are not the usual ones.
func (v fleetStream) where() string {
	c := v.cell
	text := "messages of " + SizeTitle(c.Size) + ", " + PlacementPhrase(c.Placement)
	usual := results.UsualCell(c.Framing, c.Pattern, c.Placement, c.Size)
	for _, name := range results.DifferingFields([]results.Cell{usual, c}) {
		if value := c.Field(name); value != "" {
			text += ", " + FieldPhrase(name, value)
		}
	}
	return " (" + text + ")"
}

// streamsToCompare returns a group of measurements for each placement, at the message size that
// most machines measured there. Of several such sizes, it takes the one at which a few machines
// differ most; the other sizes at which they differ follow. Groups of round trips follow if a few
// machines differ in them.
func streamsToCompare(members []stat.Member) []fleetStream {
	out := comparedStreams(members, patternStream)
	for _, trips := range comparedStreams(members, results.PatternRoundtrip) {
		if len(out) > 0 && trips.largestDistance(members) > 0 {
			out = append(out, trips)
		}
	}
	return out
}

func comparedStreams(members []stat.Member, pattern string) []fleetStream {
	var out []fleetStream
	for _, p := range placements {
		streams := streamsOf(fleetCells(members, pattern, p.name))
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
func streamsOf(cells []results.Cell) []fleetStream {
	var out []fleetStream
	for _, c := range cells {
		framing := c.Framing
		c.Framing = ""
		i := slices.IndexFunc(out, func(v fleetStream) bool { return v.cell == c })
		if i < 0 {
			i = len(out)
			out = append(out, fleetStream{cell: c})
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

// share returns the goodput of a framing on a machine as a share of that of raw bytes or, for round
// trips, its time as a share of theirs. For raw itself, it returns the goodput or the time. The
// estimate has N = 0 if the machine did not measure it.
func (v fleetStream) share(m stat.Member, framing string) stat.Estimate {
	cell := v.cell
	cell.Framing = framing
	for _, f := range m.Figures {
		if f.Cell == cell && framing == results.FramingRaw {
			return f.Speed
		}
		if f.Cell == cell {
			return f.ToRaw
		}
	}
	return stat.Estimate{}
}

// measured returns the machines on which at least one framing was compared with raw bytes.
func (v fleetStream) measured(members []stat.Member) []stat.Member {
	return slices.DeleteFunc(slices.Clone(members), func(m stat.Member) bool {
		return !slices.ContainsFunc(v.framings, func(framing string) bool {
			return v.share(m, framing).N > 0
		})
	})
}

// sentence says what share of the goodput of raw bytes each framing keeps on a machine, or on most
// of several machines.
func (v fleetStream) sentence(members []stat.Member) string {
	where := members[0].Name
	if len(members) > 1 {
		least := len(members)
		for _, framing := range v.framings {
			least = min(least, len(v.sharesOf(members, framing).most()))
		}
		where = fmt.Sprintf("at least %d of %d machines", least, len(members))
	}
	return fmt.Sprintf("Messages of %s, %s: framings keep this much of raw's goodput on %s: %s.",
		SizeTitle(v.cell.Size), PlacementPhrase(v.cell.Placement), where, v.sharesText(members))
}

// sharesText lists the framings, each with the range of its share of the goodput of raw bytes on
// most machines. It leaves out shares that are too noisy to tell.
func (v fleetStream) sharesText(members []stat.Member) string {
	var parts, noisy []string
	for _, framing := range v.framings {
		all := v.sharesOf(members, framing).most()
		if len(all) == 0 {
			noisy = append(noisy, results.FramingPhrase(framing))
			continue
		}
		text := percentRange(all[0].Median, all[len(all)-1].Median)
		parts = append(parts, results.FramingPhrase(framing)+" "+text)
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
// which the speed of a framing depends. A sentence for each such property says how. Those in
// perhaps may be chance.
func (v fleetStream) groups(members []stat.Member) (all []group, sure, perhaps []string) {
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
		switch {
		case text == "":
			continue
		case isCertain:
			sure = append(sure, text)
		default:
			perhaps = append(perhaps, text)
		}
		for _, own := range byValue[:min(len(byValue), mostGroups)] {
			all = append(all, group{factorPhrase(own[0], factor), own})
		}
	}
	return all, sure, perhaps
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
			all := v.sharesOf(own, framing)
			if len(all.known) == 0 {
				continue
			}
			shares = append(shares, all.medians())
			ranges = append(ranges, rangeOf(all.most(), factorPhrase(own[0], factor)))
		}
		slices.SortFunc(ranges, func(a, b shareRange) int { return cmp.Compare(a.least, b.least) })
		text := framingShares{stream: v, framing: framing}.say(ranges)
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
		row := []Value{textValue(g.title), number}
		for _, framing := range slices.Concat([]string{results.FramingRaw}, v.framings) {
			row = append(row, v.sharesOf(g.members, framing).value())
		}
		t.AppendValues(row...)
	}
	return t.dropEmpty()
}

// value shows one share of the goodput of raw bytes with its interval, or the median of several
// shares with their 10th and 90th percentile. For raw, it shows the goodput alone.
func (s framingShares) value() Value {
	metric := stat.RelativeMetric(s.stream.cell)
	isRaw := s.framing == results.FramingRaw
	spread := stat.SpreadOf(s.medians())
	switch all := slices.Concat(s.known, s.noisy); {
	case len(all) == 1 && isRaw:
		return figureValue(all[0].Median, RoughText(metric.Name, all[0].Estimate))
	case len(all) == 1:
		return figureValue(all[0].Median, ratioText(&all[0].Estimate))
	case len(s.known) == 0:
		return Value{}
	case isRaw:
		return figureValue(spread.Median, metric.Format(spread.Median))
	}
	text := fmt.Sprintf("%.2f (%.2f–%.2f)", spread.Median, spread.P10, spread.P90)
	return figureValue(spread.Median, text)
}
