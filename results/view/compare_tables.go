package view

import (
	"fmt"
	"math"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// comparisonTable has a row for each change. A worsening by more than limit, a share, matters.
func comparisonTable(title string, changes []stat.Change, limit float64) Table {
	var cells []results.Cell // of the single measurements
	for _, ch := range changes {
		if ch.Cell != nil && !ch.IsWhole() {
			cells = append(cells, *ch.Cell)
		}
	}
	differ := results.DifferingFields(cells, "framing", "size", "placement", "pattern")
	t := Table{Title: title, Columns: []Column{
		{Title: "case", Key: true},
		{Title: "metric", Key: true},
		{Title: "old", Right: true, Key: true},
		{Title: "new", Right: true, Key: true},
		{Title: "unit", Detail: true},
		{Title: "change", Right: true, Key: true},
		{Title: "verdict", Style: Verdict, Key: true},
	}}
	isOther := func(ch stat.Change) bool { return ch.Metric != changes[0].Metric }
	if len(changes) > 0 && changes[0].Name != "" && !slices.ContainsFunc(changes, isOther) {
		metric := changes[0].Metric
		if metric == "to-raw" {
			metric = "CPU time per message, compared with raw"
		}
		t.Title += ": " + metric
		t.Columns[1].Detail = true // only CSV, which has no title, needs the column
	}
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
			changeVerdict(ch, limit),
		)
	}
	return t
}

// changeVerdict shows the verdict on a change. The tone is Good or Bad only if the change is
// established. A worsening by more than limit, a share, matters.
func changeVerdict(ch stat.Change, limit float64) Value {
	v := Value{Text: VerdictText(string(ch.Verdict)), Base: string(ch.Verdict), Tone: Mixed}
	isBehaviour := ch.Before.Metric.IsBehaviour() && ch.Established()
	switch {
	case isByChance(ch):
		v.Text = "may be chance"
	case ch.Verdict == stat.TooNoisy && ch.Interval == nil:
		v.Text = "too few"
	case isNotWorse(ch, limit) && ch.WorstCase() < 0:
		v.Text = "likely better"
	case isNotWorse(ch, limit):
		v.Text = "not " + results.FormatPercent(100*limit) + " worse"
	case isBehaviour && ch.Worse() > 0:
		v.Text = "worse"
	case isBehaviour:
		v.Text = "better"
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

func sideValue(s stat.Series, e stat.Estimate) Value {
	if e.N == 0 {
		return Value{}
	}
	v := Value{Text: s.Metric.Format(e.Median), Base: fmt.Sprintf("%.10g", e.Median)}
	if e.AtLeast {
		v.Text = s.Limit()
		v.Base = ">=" + v.Base
	}
	return v
}

// changeText describes a change in one line: which figure changed, in which measurement, and by how
// much.
func changeText(c stat.Change) string {
	if c.Before.Metric.Name == "to-raw" {
		return changeLabel(c, nil) + " " + changeSize(c)
	}
	if c.Name == "" { // of two programs
		return c.Metric + " " + changeSize(c)
	}
	return figureName(c) + ", " + changeSize(c)
}

// figureName returns "writes" of two programs, or "limit of Drive/requests".
func figureName(c stat.Change) string {
	if c.Name == "" {
		return c.Metric
	}
	return c.Metric + " of " + changeLabel(c, nil)
}

// changeLabel names the benchmark, server or measurement that changed. To the label of a
// measurement, it adds the settings listed in fields.
func changeLabel(c stat.Change, fields []string) string {
	if c.Cell == nil {
		return c.Name
	}
	if c.IsWhole() {
		return "all of " + fieldText(*c.Cell, "framing") + " " + c.Cell.Pattern + " " +
			results.PlacementPhrase(c.Cell.Placement)
	}
	return results.CellLabel(*c.Cell, fields)
}

// leapRatio is the largest ratio, and the divisor of the smallest, that is written in percent.
const leapRatio = 1e4

// changeSize returns "+10.2 % (+8.1 to +12.0)", with the interval in parentheses. If the ratio of
// new to old is unknown, very large or very small, it returns "from … to …".
func changeSize(c stat.Change) string {
	if c.Ratio == nil && c.Old.Median == c.New.Median {
		return "0 %"
	}
	if c.Ratio == nil || *c.Ratio > leapRatio || *c.Ratio < 1/leapRatio {
		return "from " + sideValue(c.Before, c.Old).Text + " to " + sideValue(c.After, c.New).Text
	}
	text := signedPercent(*c.Ratio) + " %"
	if c.Interval != nil {
		text += fmt.Sprintf(" (%s to %s)", signedPercent(c.Interval.Lo),
			signedPercent(c.Interval.Hi))
	}
	return text
}

// signedPercent writes the ratio 1.102 as "+10.2".
func signedPercent(ratio float64) string {
	if math.Abs(ratio-1) < 1e-9 { // what rounding leaves
		return "0"
	}
	text := results.FormatNumber(100*(ratio-1), 3)
	if ratio > 1 {
		return "+" + text
	}
	return text
}
