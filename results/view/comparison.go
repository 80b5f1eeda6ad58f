package view

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// WriteComparison writes the comparison. In the bench format each sample of every figure is a line with
// side=old or side=new, for benchstat -col /side. A comparison without a common case is
// [ErrNothing].
func WriteComparison(w io.Writer, c *stat.Comparison, format Format, o Options) error {
	if len(c.Changes) == 0 {
		return fmt.Errorf("compare %s and %s: %w: no case is in both", c.Old, c.New, ErrNothing)
	}
	switch format {
	case FormatJSON:
		return writeIndented(w, c)
	case FormatCSV:
		return comparisonTable("", c.Changes).Write(w, FormatCSV)
	case FormatBench:
		return writeComparedBench(w, c)
	}
	return comparisonPage(c).Write(w, format)
}

// comparisonPage shows counters that changed and every time, and what verdicts rest on.
func comparisonPage(c *stat.Comparison) Page {
	p := Page{Wide: true, Notes: slices.Clone(c.Notes), Conclusions: comparisonConclusions(c)}
	how := "measured one after the other"
	if c.Pairs > 0 {
		how = results.FormatCount(c.Pairs, "interleaved pair") + ", signed-rank test, Holm's correction"
	}
	p.Header = []string{fmt.Sprintf("%s against %s: %s", c.New, c.Old, how)}
	counters := stat.Filter(c.Changes, func(ch stat.Change) bool { return ch.Before.Metric.Counter && ch.Verdict != stat.NoChange })
	times := stat.Filter(c.Changes, func(ch stat.Change) bool { return !ch.Before.Metric.Counter })
	both := []Table{comparisonTable("What is counted, and changed", counters), comparisonTable("What is timed", times)}
	p.Tables = stat.Map(stat.Filter(both, Table.hasRows), Table.dropEmpty)
	for _, alike := range stat.GroupBy(times, func(ch stat.Change) string { return ch.Basis }) {
		p.Notes = append(p.Notes, fmt.Sprintf("%d of %d times: %s", len(alike), len(times), alike[0].Basis))
	}
	if slices.ContainsFunc(times, func(ch stat.Change) bool { return ch.MinDetectableEffect != nil }) {
		p.Notes = append(p.Notes, detectableNote(c))
	}
	return p
}

// comparisonConclusions says in a sentence what changed.
func comparisonConclusions(c *stat.Comparison) []string {
	count := make(map[stat.Verdict]int)
	var worst stat.Change
	for _, ch := range c.Changes {
		count[ch.Verdict]++
		if ch.Established() && (worst.Verdict == "" || ch.Worse() > worst.Worse()) {
			worst = ch
		}
	}
	var parts []string
	for _, v := range []stat.Verdict{
		stat.Slower, stat.Faster, stat.More, stat.Fewer,
		stat.NoChange, stat.TooNoisy, stat.Indicative, stat.DifferentMachines,
	} {
		parts = append(parts, when(count[v] > 0, fmt.Sprint(count[v], " ", VerdictText(string(v)))))
	}
	text := fmt.Sprintf("Of %s: %s.", results.FormatCount(len(c.Changes), "figure"), strings.Join(nonEmpty(parts), ", "))
	if worst.Worse() > 0 {
		text += fmt.Sprintf(" The worst: %s.", ChangeText(worst))
	}
	return []string{text}
}

// caseWidth leaves the figures of pairs room in 120 columns.
const caseWidth = 28

func comparisonTable(title string, changes []stat.Change) Table {
	type change = stat.Change
	ofCells := stat.Filter(changes, func(c change) bool { return c.Cell != nil })
	cells := stat.Map(ofCells, func(c change) results.Cell { return *c.Cell })
	differ := results.DifferingFields(cells, "framing", "size", "placement", "pattern")
	// figure shows a number that a change may not have.
	figure := func(v *float64, less float64, text func(v float64) string) Cell {
		if v == nil {
			return Cell{}
		}
		return Cell{Text: text(*v), Base: fmt.Sprintf("%.6g", *v-less)}
	}
	median := func(c change, e stat.Estimate) Cell {
		return Cell{Text: withSpread(c.Before.Metric.Format(e.Median), e), Base: fmt.Sprintf("%.10g", e.Median)}
	}
	t := tableOf(title, changes, []columnOf[change]{
		{"case", func(c change) Cell { return textCell(changeLabel(c, differ)) }},
		{"metric", func(c change) Cell { return textCell(c.Metric) }},
		{">old", func(c change) Cell { return median(c, c.Old) }},
		{">new", func(c change) Cell { return median(c, c.New) }},
		{"#unit", func(c change) Cell { return textCell(c.Before.Metric.Unit) }},
		{">change", func(c change) Cell {
			return Cell{Text: changeText(c), Base: figure(c.Ratio, 1, func(float64) string { return "" }).Base}
		}},
		{">p", func(c change) Cell {
			return figure(c.P, 0, func(p float64) string {
				return when(p < minShownP, "<") + fmt.Sprintf("%.3f", max(p, minShownP))
			})
		}},
		{">min. detectable", func(c change) Cell {
			return figure(c.MinDetectableEffect, 0, func(v float64) string { return results.FormatPercent(100 * v) })
		}},
		{"!verdict", func(c change) Cell { return verdictCell(string(c.Verdict)) }},
	}...)
	t.Columns[0].Width = caseWidth
	return t
}

// ChangeText is the change in a line: what of which case, and by how much.
func ChangeText(c stat.Change) string {
	return fmt.Sprintf("%s of %s, %s", c.Metric, changeLabel(c, nil), changeText(c))
}

// changeLabel names a case so that a person finds it.
func changeLabel(c stat.Change, differ []string) string {
	if c.Cell == nil {
		return c.Name
	}
	return results.CellLabel(*c.Cell, differ)
}

// minShownP is the smallest p that three digits show.
const minShownP = 0.001

// changeText is "+10.2 % [+8.1, +12.0]", or what came from nothing.
func changeText(c stat.Change) string {
	if c.Ratio == nil {
		return "from " + c.Before.Metric.Format(c.Old.Median) + " to " + c.Before.Metric.Format(c.New.Median)
	}
	text := signedPercent(*c.Ratio) + " %"
	if c.Interval != nil {
		text += fmt.Sprintf(" [%s, %s]", signedPercent(c.Interval.Lo), signedPercent(c.Interval.Hi))
	}
	return text
}

// signedPercent is a ratio as a change, with enough digits to see a small one.
func signedPercent(ratio float64) string {
	return when(ratio > 1, "+") + results.FormatNumber(100*(ratio-1), 3)
}

// detectableNote says what the column means, and of all figures without a change how large a one
// would have been found.
func detectableNote(c *stat.Comparison) string {
	var most float64
	n := 0
	for _, ch := range c.Changes {
		if ch.Verdict == stat.NoChange && ch.MinDetectableEffect != nil {
			most, n = max(most, *ch.MinDetectableEffect), n+1
		}
	}
	text := "min. detectable is the change that so many pairs, scattered like these, establish four times out of five"
	if n > 0 {
		text += fmt.Sprintf(": %s at most of the %d times without a change", results.FormatPercent(100*most), n)
	}
	return text
}
