package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A series is a group of measurements that differ only in framing and message size.
type series struct {
	cell  results.Cell // without framing and size
	where string       // the placement, and what differs from other series: "on one CPU"
	short string       // the same in the few words of a title: "one CPU"
	size  int          // the message size that stands for the series in sentences
	rows  []stat.Row
}

// seriesIn selects the measurements with this pattern, and groups measurements that differ only in
// framing and message size.
func seriesIn(rows []stat.Row, pattern string) []series {
	matching := selected(rows, func(r stat.Row) bool { return r.Cell.Pattern == pattern })
	cellOf := func(r stat.Row) results.Cell { return stat.SeriesCell(r.Cell) }
	var all []series
	var cells []results.Cell
	for _, own := range grouped(matching, cellOf) {
		all = append(all, series{cell: cellOf(own[0]), rows: own})
		cells = append(cells, cellOf(own[0]))
	}
	differ := results.DifferingFields(cells, "placement", "framing", "size", "pattern")
	for i := range all {
		one := &all[i]
		one.size = sizeForSentences(one.rows)
		one.where = results.PlacementPhrase(one.cell.Placement)
		one.short = results.ShortPlacement(one.cell.Placement)
		for _, name := range differ {
			value := one.cell.Field(name)
			switch {
			case name == "capacity":
				one.where += " with " + pipePhrase(one.cell.Capacity)
				one.short += ", " + pipePhrase(one.cell.Capacity)
			case value != "": // a field that is not set needs no word
				one.where += " with " + name + " " + FieldValue(name, value)
				one.short += ", " + FieldPhrase(name, value)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b series) int {
		return results.ComparePlacements(a.cell.Placement, b.cell.Placement)
	})
	return all
}

// usualSize is the usual capacity of a pipe on Linux, in bytes.
const usualSize = 65_536

// sizeForSentences returns the message size nearest to usualSize. It prefers rows that are compared
// with raw bytes and, of several near sizes, as 65,000 and 65,536 of two runs, those of little
// noise.
func sizeForSentences(rows []stat.Row) int {
	best := rows[0]
	isNear := func(r stat.Row) bool { return sizeDistance(r.Cell.Size) < math.Ln2 }
	isClear := func(r stat.Row) bool { return isCompared(r) && !isBlurred(r) }
	for _, r := range rows {
		better := sizeDistance(r.Cell.Size) < sizeDistance(best.Cell.Size)
		switch {
		case isCompared(r) != isCompared(best):
			better = isCompared(r)
		case isNear(r) && isNear(best) && isClear(r) != isClear(best):
			better = isClear(r)
		}
		if better {
			best = r
		}
	}
	return best.Cell.Size
}

// sizeDistance is how far a size is from usualSize, as the logarithm of their ratio.
func sizeDistance(size int) float64 { return math.Abs(math.Log(float64(size+1) / usualSize)) }

// isCompared reports whether a measurement has a ratio to raw bytes, and the ratio has an interval.
func isCompared(r stat.Row) bool { return r.ToRaw != nil && r.ToRaw.Interval != nil }

// about names the place and the message size that a sentence is about. It leaves out a size that
// the sentence before has told, and sets told.
func (s series) about(told *int) string {
	if s.size == *told {
		return s.where
	}
	*told = s.size
	return s.where + " (messages of " + SizeTitle(s.size) + ")"
}

// comparedRows returns the measurements of size s.size that are compared with raw bytes.
func (s series) comparedRows() []stat.Row {
	return selected(s.rows, func(r stat.Row) bool { return r.Cell.Size == s.size && isCompared(r) })
}

// toldRows divides the measurements that are compared with raw bytes. The first result begins with
// the largest ratio to raw bytes, the second has those that are too noisy to tell framings apart.
func (s series) toldRows() (known, noisy []stat.Row) {
	for _, r := range s.comparedRows() {
		if isBlurred(r) {
			noisy = append(noisy, r)
		} else {
			known = append(known, r)
		}
	}
	slices.SortStableFunc(known, func(a, b stat.Row) int { return compareShares(b, a) })
	return known, noisy
}

func compareShares(a, b stat.Row) int { return cmp.Compare(a.ToRaw.Median, b.ToRaw.Median) }

// alikeShare is the gap between two intervals that still counts as none: one percentage point.
const alikeShare = 0.01

// sharesAlike reports whether two shares of raw's speed may be the same: their intervals overlap or
// nearly do.
func sharesAlike(a, b stat.Estimate) bool {
	return a.Interval.Lo <= b.Interval.Hi+alikeShare && b.Interval.Lo <= a.Interval.Hi+alikeShare
}

// sharesText lists framings with their shares of the goodput of raw bytes: "ndjson 95 %, 60 KiB
// chunks 83 % (each ±5 % or less)". It returns "" if nothing was compared.
func (s series) sharesText() string {
	known, noisy := s.toldRows()
	isHidden := func(r stat.Row) bool { return Judge(*r.ToRaw, 1) == Unclear }
	switch {
	case len(known) == 0 && len(noisy) > 0 && len(selected(noisy, isHidden)) == len(noisy):
		return tooNoisyToTell
	case len(known) == 0:
		return noisyText(noisy)
	}
	text := framingNames(known) + " " + rangeText(known) + " (" + noiseText(known) + ")"
	switch {
	case len(known) == 1:
		text += notFasterText(known)
	case sharesAlike(*known[0].ToRaw, *known[len(known)-1].ToRaw):
		who := "every framing "
		if len(noisy) > 0 {
			who = noisyText(noisy) + "; the others "
		}
		return who + rangeText(known) + " (" + noiseText(known) + ")" + s.certainText(known)
	default:
		var parts []string
		for _, r := range known {
			parts = append(parts, framingNames([]stat.Row{r})+" "+rangeText([]stat.Row{r}))
		}
		text = strings.Join(parts, ", ") + " (each " + noiseText(known) + " or less)" +
			notFasterText(known)
	}
	if len(noisy) == 0 {
		return text
	}
	return text + "; " + noisyText(noisy)
}

// sharesTitle says in a few words what share of the goodput of raw bytes framings reach, or returns
// "" if noise hides that of each.
func (s series) sharesTitle() string {
	known, noisy := s.toldRows()
	if len(known) == 0 {
		return ""
	}
	who := "Framings reach "
	if len(known) == 1 {
		who = framingNames(known) + " reaches "
	}
	text := fmt.Sprintf("%s%s of raw's speed %s at %s (%s or less)", who, rangeText(known), s.where,
		SizeTitle(s.size), noiseText(known))
	if len(noisy) > 0 {
		text += "; " + results.FormatCount(len(noisy), "framing") + " too noisy for a figure"
	}
	return text
}

// noisyText names framings whose shares noise hides. It says which are certainly slower or faster
// than raw all the same.
func noisyText(noisy []stat.Row) string {
	slices.SortStableFunc(noisy, func(a, b stat.Row) int {
		return results.ChunkSize(a.Cell.Framing) - results.ChunkSize(b.Cell.Framing)
	})
	var parts []string
	for _, effect := range []Effect{Unclear, Loss, Gain} {
		own := selected(noisy, func(r stat.Row) bool {
			return Judge(*r.ToRaw, 1) == effect
		})
		if len(own) == 0 {
			continue
		}
		text := framingNames(own) + " " + tooNoisyToTell
		switch effect {
		case Loss:
			text = framingNames(own) + " certainly slower than raw; " + noiseHides
		case Gain:
			text = framingNames(own) + " certainly faster than raw; " + noiseHides
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// certainText ends a sentence about framings that cannot be told apart. It names those that are
// certainly slower than raw bytes.
func (s series) certainText(known []stat.Row) string {
	slower := selected(known, isSlower)
	switch {
	case len(slower) == len(known):
		return ", all certainly slower than raw"
	case len(slower) > 0:
		return ", " + framingNames(slower) + " certainly slower than raw"
	case slices.ContainsFunc(known, isFaster):
		return notFasterText(known)
	case slices.ContainsFunc(s.rows, isSlower):
		return ", none certainly slower or faster than raw at this size, some at others"
	}
	return ", none certainly slower or faster than raw"
}

// notFasterText names the framings whose shares look like a gain that noise may explain.
func notFasterText(known []stat.Row) string {
	own := selected(known, func(r stat.Row) bool {
		return r.ToRaw.Median > GainThatCounts && !isFaster(r)
	})
	switch len(own) {
	case 0:
		return ""
	case len(known):
		return ", not certainly faster than raw"
	}
	return ", " + framingNames(own) + " not certainly faster than raw"
}

// isFaster reports whether a measurement is certainly faster than raw bytes.
func isFaster(r stat.Row) bool { return Judge(*r.ToRaw, 1) == Gain }

// isSlower reports whether a measurement is certainly slower than raw bytes.
func isSlower(r stat.Row) bool { return isBelow(r, 1) }

// isBelow reports whether a measurement certainly reaches less than this share of raw's speed. The
// noise that is shown beside it must allow that too: it is the wider half of the interval.
func isBelow(r stat.Row, share float64) bool {
	if !isCompared(r) || Judge(*r.ToRaw, 1/share) != Loss {
		return false
	}
	percent, _ := r.ToRaw.Spread()
	return r.ToRaw.Median*(1+percent/100) < share
}

// framingNames lists the framings of rows: "ndjson and 60 KiB chunks".
func framingNames(rows []stat.Row) string {
	var names []string
	for _, r := range rows {
		names = append(names, results.FramingPhrase(r.Cell.Framing))
	}
	return joinAnd(names)
}

// rangeText writes the range of the ratios to raw bytes, such as "93 to 104 %". The largest ratio
// must come first.
func rangeText(all []stat.Row) string {
	return PercentRange(all[len(all)-1].ToRaw.Median, all[0].ToRaw.Median)
}

// PercentRange writes two shares as percent: "88 to 92 %", or "90 %" if they are equal.
func PercentRange(low, high float64) string { return FromTo(percentText(low), percentText(high)) }

func percentText(share float64) string {
	if share < 0.01 {
		return results.FormatPercent(100 * share)
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// noiseText returns the half-width of the widest interval among the ratios to raw bytes: "±33 %".
func noiseText(all []stat.Row) string {
	most := 0.0
	for _, r := range all {
		percent, _ := r.ToRaw.Spread()
		most = max(most, percent)
	}
	return fmt.Sprintf("±%.0f %%", most)
}
