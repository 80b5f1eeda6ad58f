package view

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// changeTables shows the changes of measured cells ([results.Cell]). There is a table for each
// placement and pattern, with a row for each framing and a column for each size. The last column is
// about a framing as a whole.
func changeTables(changes []stat.Change) []Table {
	type group struct{ placement, pattern string }
	var tables []Table
	for _, own := range grouped(changes, func(ch stat.Change) group {
		return group{placement: ch.Cell.Placement, pattern: patternAmong(changes, ch)}
	}) {
		tables = append(tables, changeTable(own))
	}
	return tables
}

// patternAmong returns the pattern of a change. The change of a framing as a whole has no pattern.
// It gets the pattern of the framing's cells, so that all of them are in one table.
func patternAmong(changes []stat.Change, ch stat.Change) string {
	if ch.IsWhole() {
		for _, other := range changes {
			if !other.IsWhole() && other.Cell.Placement == ch.Cell.Placement &&
				other.Cell.Framing == ch.Cell.Framing {
				return cmp.Or(other.Cell.Pattern, patternStream)
			}
		}
	}
	return cmp.Or(ch.Cell.Pattern, patternStream)
}

// changeTable shows the changes of one placement and pattern.
func changeTable(changes []stat.Change) Table {
	sorted := slices.SortedStableFunc(slices.Values(changes), func(a, b stat.Change) int {
		switch {
		case a.IsWhole() && !b.IsWhole():
			return 1
		case b.IsWhole() && !a.IsWhole():
			return -1
		}
		return cmp.Compare(a.Cell.Size, b.Cell.Size)
	})
	first := sorted[0]
	metric := first.Metric
	if metric == "to-raw" {
		metric = "CPU time per message" // the title says "beside raw"
	}
	differ := results.DifferingFields(cellsOf(changes), "framing", "size", "placement", "pattern")
	heads := []Column{{Title: "framing", Key: true}}
	for _, name := range differ {
		heads = append(heads, Column{Title: fieldTitle(name), Key: true})
	}
	return pivot[stat.Change]{
		title: fmt.Sprintf("%s, beside raw: %s, ends %s", metric,
			cmp.Or(first.Cell.Pattern, patternStream), PlacementPhrase(first.Cell.Placement)),
		heads: heads,
		line: func(ch stat.Change) []string {
			texts := []string{ch.Cell.Framing}
			for _, name := range differ {
				texts = append(texts, fieldText(*ch.Cell, name))
			}
			return texts
		},
		across: func(ch stat.Change) string {
			if ch.IsWhole() {
				return "all sizes"
			}
			return SizeTitle(ch.Cell.Size)
		},
		value: briefChange,
	}.table(sorted)
}

// cellsOf lists the cells of changes. It leaves out changes that are not about a single cell.
func cellsOf(changes []stat.Change) []results.Cell {
	var cells []results.Cell
	for _, ch := range changes {
		if ch.Cell != nil && !ch.IsWhole() {
			cells = append(cells, *ch.Cell)
		}
	}
	return cells
}

// briefChange shows a change in percent. It adds "!" if the change is established, and "?" if it is
// too noisy to tell.
func briefChange(ch stat.Change) Value {
	text := signedPercent(*ch.Ratio) + " %"
	switch {
	case ch.Established():
		text += " !"
	case ch.Verdict == stat.TooNoisy:
		text += " ?"
	}
	tone := changeVerdict(ch).Tone
	return Value{Text: text, Base: fmt.Sprintf("%.6g", *ch.Ratio-1), Tone: tone}
}

func comparisonTable(title string, changes []stat.Change) Table {
	differ := results.DifferingFields(cellsOf(changes), "framing", "size", "placement", "pattern")
	t := Table{Title: title, Columns: []Column{
		{Title: "case", Key: true},
		{Title: "metric", Key: true},
		{Title: "old", Right: true, Spare: true},
		{Title: "new", Right: true},
		{Title: "unit", Detail: true},
		{Title: "change", Right: true, Key: true},
		{Title: "verdict", Style: Verdict, Key: true},
	}}
	for _, ch := range changes {
		change := Value{Text: changeSize(ch)}
		if ch.Ratio != nil {
			change.Base = fmt.Sprintf("%.6g", *ch.Ratio-1)
		}
		t.AppendValues(
			textValue(changeLabel(ch, differ)),
			textValue(ch.Metric),
			sideValue(ch.Before, ch.Old),
			sideValue(ch.After, ch.New),
			textValue(ch.Before.Metric.Unit),
			change,
			changeVerdict(ch),
		)
	}
	return t
}

// changeVerdict shows the verdict on a change. The tone is good or bad only if the change is
// established.
func changeVerdict(ch stat.Change) Value {
	v := Value{Text: VerdictText(string(ch.Verdict)), Base: string(ch.Verdict), Tone: Mixed}
	if ch.Verdict == stat.TooNoisy && ch.Interval == nil {
		v.Text = "too few pairs"
	} else if ch.HasFewLines() {
		v.Text = "too few lines"
	}
	switch {
	case isInformation(ch):
		v.Text = "(" + v.Text + ")"
		v.Tone = Neutral
	case ch.Verdict == stat.NoChange:
		v.Tone = Neutral
	case ch.Established() && ch.Worse() > 0:
		v.Tone = Bad
	case ch.Established():
		v.Tone = Good
	}
	return v
}

// sideValue shows one side of a change by its median. For a count that may vary it shows the range
// instead.
func sideValue(s stat.Series, e stat.Estimate) Value {
	if e.N == 0 {
		return Value{}
	}
	text := s.Metric.Format(e.Median)
	if s.Metric.ByRange {
		least := slices.Min(s.Values)
		most := slices.Max(s.Values)
		if least < most {
			text = s.Metric.Format(least) + " to " + s.Metric.Format(most)
		}
	}
	return Value{Text: text, Base: fmt.Sprintf("%.10g", e.Median)}
}

// ChangeText describes a change in one line: the figure, the case and the size of the change.
func ChangeText(c stat.Change) string {
	if c.Before.Metric.Name == "to-raw" {
		return changeLabel(c, nil) + " " + changeSize(c)
	}
	if c.Name == "" { // of two programs
		return c.Metric + " " + changeSize(c)
	}
	return fmt.Sprintf("%s of %s, %s", c.Metric, changeLabel(c, nil), changeSize(c))
}

// changeLabel names the case of a change. If the case is a cell, the label has the fields that are
// named in differ.
func changeLabel(c stat.Change, differ []string) string {
	if c.Cell == nil {
		return c.Name
	}
	if c.IsWhole() {
		return "all of " + c.Cell.Framing + " " + c.Cell.Placement
	}
	return results.CellLabel(*c.Cell, differ)
}

// leapRatio is the largest ratio that is written in percent. A change exceeds it, for example, if
// the limit of a server disappears.
const leapRatio = 1e4

// changeSize returns "+10.2 % (+8.1 to +12.0)", or "from … to …" if the ratio is unknown or very
// large.
func changeSize(c stat.Change) string {
	if c.Ratio == nil || *c.Ratio > leapRatio {
		m := c.Before.Metric
		return "from " + m.Format(c.Old.Median) + " to " + m.Format(c.New.Median)
	}
	text := signedPercent(*c.Ratio) + " %"
	if c.Interval != nil {
		text += fmt.Sprintf(" (%s to %s)", signedPercent(c.Interval.Lo),
			signedPercent(c.Interval.Hi))
	}
	return text
}

// signedPercent writes a ratio as a change in percent, with a plus sign if it is an increase. It
// has enough digits to show a small change.
func signedPercent(ratio float64) string {
	text := results.FormatNumber(100*(ratio-1), 3)
	if ratio > 1 {
		return "+" + text
	}
	return text
}
