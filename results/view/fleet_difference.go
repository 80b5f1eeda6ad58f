package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// framingShares says how fast a framing is on each machine. A share is the framing's goodput
// divided by that of raw bytes, or the time of a round trip divided by raw's. The share of raw
// itself is its goodput, or its time.
type framingShares struct {
	stream  fleetStream
	framing string
	known   []memberShare // those that are not too noisy to compare; the smallest share first
	noisy   []memberShare
}

// A memberShare is the share of a framing on one machine.
type memberShare struct {
	stat.Member
	stat.Estimate
	place int // of the machine in the list of all
}

func (v fleetStream) sharesOf(members []stat.Member, framing string) framingShares {
	out := framingShares{stream: v, framing: framing}
	for i, m := range members {
		e := v.share(m, framing)
		if e.N == 0 {
			continue
		}
		if percent, known := e.Spread(); known && percent <= maxBlur {
			out.known = append(out.known, memberShare{m, e, i})
		} else {
			out.noisy = append(out.noisy, memberShare{m, e, i})
		}
	}
	slices.SortStableFunc(out.known, func(a, b memberShare) int {
		return cmp.Compare(a.Median, b.Median)
	})
	return out
}

func (s framingShares) medians() []float64 {
	var out []float64
	for _, m := range s.known {
		out = append(out, m.Median)
	}
	return out
}

// most returns all shares of a few machines. Of many, it returns those from the 10th to the 90th
// percentile.
func (s framingShares) most() []memberShare {
	if len(s.known) <= FewMachines {
		return s.known
	}
	spread := stat.SpreadOf(s.medians())
	return slices.DeleteFunc(slices.Clone(s.known), func(m memberShare) bool {
		return m.Median < spread.P10 || m.Median > spread.P90
	})
}

// alike reports whether two shares may be the same, or whether their difference is not worth
// telling. The speed of raw depends on load and clock, too.
func (s framingShares) alike(a, b memberShare) bool {
	if s.framing == results.FramingRaw && b.Median < stat.SlowFactor*a.Median {
		return true
	}
	return sharesAlike(a.Estimate, b.Estimate)
}

// groups puts machines into one group if their shares of the speed of raw bytes may be equal to the
// smallest one in the group.
func (s framingShares) groups() [][]memberShare {
	var out [][]memberShare
	for rest := s.known; len(rest) > 0; {
		n := 1
		for n < len(rest) && s.alike(rest[0], rest[n]) {
			n++
		}
		out = append(out, rest[:n])
		rest = rest[n:]
	}
	return out
}

// differs reports whether the intervals show that the machines differ.
func (s framingShares) differs() bool { return len(s.groups()) > 1 }

// distance returns the difference between the largest and the smallest share.
func (s framingShares) distance() float64 {
	return s.known[len(s.known)-1].Median - s.known[0].Median
}

// phrase returns the framing with its verb: "60 KiB chunks keep".
func (s framingShares) phrase() string {
	name := results.FramingPhrase(s.framing)
	isRaw := s.framing == results.FramingRaw
	switch {
	case s.stream.isTrips() && isRaw:
		return "round trips of raw take"
	case s.stream.isTrips():
		return "round trips of " + name + " take"
	case isRaw:
		return "raw reaches"
	case strings.HasSuffix(name, " chunks"):
		return name + " keep"
	}
	return name + " keeps"
}

// A shareRange is the smallest and the largest share of a framing on some machines.
type shareRange struct {
	least, most float64
	where       string
}

func rangeOf(all []memberShare, where string) shareRange {
	return shareRange{all[0].Median, all[len(all)-1].Median, where}
}

// share says what share of the speed of raw bytes the framing keeps or, for raw, its speed.
func (s framingShares) share(least, most float64) string {
	switch {
	case s.framing == results.FramingRaw:
		metric := stat.RelativeMetric(s.stream.cell)
		return FromTo(metric.Format(least), metric.Format(most))
	case s.stream.isTrips():
		return FromTo(fmt.Sprintf("%.2f times", least), fmt.Sprintf("%.2f times", most))
	}
	return percentRange(least, most)
}

// ofRaw ends a phrase that begins with what share returns.
func (s framingShares) ofRaw() string {
	switch {
	case s.framing == results.FramingRaw:
		return ""
	case s.stream.isTrips():
		return " as long as raw's"
	}
	return " of raw's speed"
}

// say says what share of the speed of raw bytes the framing keeps where.
func (s framingShares) say(ranges []shareRange) string {
	var parts []string
	for i, r := range ranges {
		share := s.share(r.least, r.most)
		if i == 0 {
			share += s.ofRaw()
		}
		parts = append(parts, share+" on "+r.where)
	}
	return s.phrase() + " " + nameSome(parts)
}

// tell makes a sentence of what say returns. Names of framings keep their small letters.
func (s framingShares) tell(ranges []shareRange, where string) string {
	text := s.say(ranges) + where + "."
	if s.stream.isTrips() {
		return capitalised(text)
	}
	return text
}

// ranges names the machines on which the framing keeps a share of the speed of raw bytes: "laptop"
// and "the 3 others measured". If the shares go with a property of the machines, it names that.
func (s framingShares) ranges() []shareRange {
	groups := s.groups()
	factor := s.commonFactor(groups)
	slices.SortStableFunc(groups, func(a, b []memberShare) int {
		// groups of one machine and of two machines keep their order
		return max(len(a), 2) - max(len(b), 2)
	})
	var ranges []shareRange
	for i, group := range groups {
		r := rangeOf(group, "")
		slices.SortFunc(group, func(a, b memberShare) int { return a.place - b.place })
		var names []string
		for _, m := range group {
			names = append(names, m.Name)
		}
		r.where = nameSome(names)
		isLast := i > 0 && i == len(groups)-1
		switch {
		case factor != "":
			r.where = factorPhrase(group[0].Member, factor) + " (" + r.where + ")"
		case isLast && len(group) > 2 && len(s.noisy) == 0:
			r.where = fmt.Sprintf("the %d others measured", len(group))
		}
		ranges = append(ranges, r)
	}
	return ranges
}

// commonFactor returns the one property that is the same in each group of machines, and another in
// each. It returns "" if there is none or several, or if no group has two machines.
func (s framingShares) commonFactor(groups [][]memberShare) string {
	common := ""
	for _, factor := range factors {
		values := make(map[string]bool)
		both := make(map[string]bool) // the values, each with its group
		for i, group := range groups {
			for _, m := range group {
				value := factorOf(m.Member, factor)
				values[value] = true
				both[fmt.Sprint(i, value)] = true
			}
		}
		if len(values) != len(groups) || len(both) != len(groups) {
			continue
		}
		if common != "" || len(groups) == len(s.known) {
			return ""
		}
		common = factor
	}
	return common
}

// differing splits the framings by whether their speed relative to raw bytes surely differs between
// machines, may be the same, or is too noisy on one of them. The largest difference comes first.
func (v fleetStream) differing(members []stat.Member) (differ, alike, noisy []framingShares) {
	for _, framing := range v.framings {
		s := v.sharesOf(members, framing)
		switch {
		case s.differs():
			differ = append(differ, s)
		case len(s.noisy) > 0:
			noisy = append(noisy, s)
		case len(s.known) > 1:
			alike = append(alike, s)
		}
	}
	slices.SortStableFunc(differ, func(a, b framingShares) int {
		return cmp.Compare(b.distance(), a.distance())
	})
	return differ, alike, noisy
}

// A difference says that a framing differs between the same machines in one stream or several.
type difference struct {
	framingShares // in the first of these streams
	ranges        []shareRange
	streams       int
}

// add adds what differs in another stream, if it is the same framing between the same machines.
func (d *difference) add(other difference) bool {
	if d.framing != other.framing || d.stream.isTrips() != other.stream.isTrips() ||
		len(d.ranges) != len(other.ranges) {
		return false
	}
	var both []shareRange
	for i, r := range other.ranges {
		own := d.ranges[i]
		if r.where != own.where {
			return false
		}
		r.least = min(r.least, own.least)
		r.most = max(r.most, own.most)
		for _, b := range both {
			if r.least <= b.most && b.least <= r.most {
				return false
			}
		}
		both = append(both, r)
	}
	d.ranges = both
	d.streams++
	return true
}

// differences says for which framings the speed relative to raw bytes differs between a few
// machines: all of them in the first stream, and those that differ most in the others. The streams
// in told are those from which a sentence takes its first figures.
func differences(streams []fleetStream, members []stat.Member) (
	texts []string, told []fleetStream,
) {
	var all []difference
	for i, v := range streams {
		differ, _, _ := v.differing(members)
		if i > 0 {
			differ = differ[:min(1, len(differ))]
		}
		for _, s := range differ {
			d := difference{s, s.ranges(), 1}
			at := 0
			for at < len(all) && !all[at].add(d) {
				at++
			}
			if at == len(all) {
				all = append(all, d)
				told = append(told, v)
			}
		}
	}
	for _, d := range all {
		where := d.stream.where()
		if d.streams > 1 {
			where = fmt.Sprintf(", at %d sizes and placements", d.streams)
		}
		texts = append(texts, d.tell(d.ranges, where))
	}
	return texts, told
}

// rawDifferences says between which machines the goodput and the round trips of raw certainly
// differ, by a factor of at least [stat.SlowFactor]. Shares of raw's speed hide this.
func rawDifferences(members []stat.Member) []string {
	var texts []string
	for _, pattern := range []string{patternStream, results.PatternRoundtrip} {
		streams := comparedStreams(members, pattern)
		if len(streams) == 0 {
			continue
		}
		raw := streams[0].sharesOf(members, results.FramingRaw)
		if raw.differs() {
			texts = append(texts, raw.tell(raw.ranges(), streams[0].where()))
		}
	}
	return texts
}

// difference says of the framings that do not surely differ whether they are alike or too noisy.
func (v fleetStream) difference(members []stat.Member) []string {
	differ, alike, noisy := v.differing(members)
	where := v.where() + "."
	beyond := fmt.Sprintf("beyond the noise of ±%.0f %%", widest(alike))
	if len(differ)+len(noisy) == 0 && len(alike) > 0 {
		machines := results.FormatCount(v.mostShares(members), "machine")
		return []string{
			"Compared with raw, no framing differs in goodput between " + machines + " " +
				beyond + where,
			"They keep this much of raw's speed: " + v.sharesText(members) + ".",
		}
	}
	var texts, doubts []string
	for _, s := range noisy {
		doubts = append(doubts, s.doubt())
	}
	if len(doubts) > 0 {
		texts = append(texts, capitalised(tooNoisyToTell)+": "+strings.Join(doubts, "; ")+where)
	}
	if len(alike) > 0 {
		texts = append(texts, "No other framing differs "+beyond+where)
	}
	return texts
}

// doubt names the framing and the machines on which noise hides its share: "ndjson on m1 (~48 %)".
func (s framingShares) doubt() string {
	var names []string
	for _, m := range s.noisy {
		names = append(names, m.Name)
	}
	text := results.FramingPhrase(s.framing) + " on " + joinAnd(names)
	if len(names) == 1 {
		share := s.noisy[0].Median
		text += " (" + markRough(s.share(share, share), s.noisy[0].Estimate) + ")"
	}
	return text
}

// widest returns the half-width of the widest interval, in percent.
func widest(all []framingShares) float64 {
	noise := 0.0
	for _, s := range all {
		for _, m := range s.known {
			percent, _ := m.Spread()
			noise = max(noise, percent)
		}
	}
	return noise
}

// MachinesDiffer reports whether the goodput of a measured combination, relative to that of raw
// bytes, surely differs between machines.
func MachinesDiffer(members []stat.Member, cell results.Cell) bool {
	framing := cell.Framing
	cell.Framing = ""
	return fleetStream{cell: cell}.sharesOf(members, framing).differs()
}
