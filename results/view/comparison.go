package view

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"

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
		return WriteJSON(w, c)
	case FormatCSV:
		return comparisonTable("", c.Changes).Write(w, FormatCSV, o)
	case FormatBench:
		return writeComparedBench(w, c)
	}
	return comparisonPage(c, format, o).Write(w, format, o)
}

// mostChanges is how many figures the screen of a comparison has.
const mostChanges = 12

// comparisonPage says what changed, and shows counters that changed and times, what was established
// first, and what verdicts rest on. Without detail a terminal has what fits it.
func comparisonPage(c *stat.Comparison, format Format, o Options) Page {
	p := Page{Notes: slices.Clone(c.Notes)}
	how := "measured one after the other"
	if c.Pairs > 0 {
		how = results.FormatCount(c.Pairs, "interleaved pair") + ", signed-rank test, Holm's correction"
	}
	colour, verdict := comparisonVerdict(c)
	p.headline(format, o, colour, verdict, fmt.Sprintf("%s against %s: %s", c.New, c.Old, how))
	counters := stat.Filter(c.Changes, func(ch stat.Change) bool { return ch.Before.Metric.Counter && ch.Verdict != stat.NoChange })
	times := stat.Filter(c.Changes, func(ch stat.Change) bool { return !ch.Before.Metric.Counter })
	left := 0
	shown := func(changes []stat.Change, room int) []stat.Change {
		if format != FormatTable || o.Detail {
			return changes
		}
		changes = slices.SortedStableFunc(slices.Values(changes), bySignificance)
		left += max(0, len(changes)-room)
		return changes[:min(len(changes), room)]
	}
	counted := shown(counters, mostChanges/2)
	both := []Table{
		comparisonTable("What is counted, and changed", counted),
		comparisonTable("What is timed", shown(times, mostChanges-len(counted))),
	}
	p.Tables = stat.Map(stat.Filter(both, Table.hasRows), Table.dropEmpty)
	for _, alike := range stat.GroupBy(times, func(ch stat.Change) string { return ch.Basis }) {
		p.Notes = append(p.Notes, fmt.Sprintf("%d of %d times: %s", len(alike), len(times), alike[0].Basis))
	}
	if slices.ContainsFunc(times, func(ch stat.Change) bool { return ch.MinDetectableEffect != nil }) {
		unchanged := stat.Filter(c.Changes, func(ch stat.Change) bool { return ch.Verdict == stat.NoChange && ch.MinDetectableEffect != nil })
		text := "min. detectable is the change that so many pairs, scattered like these, establish four times out of five"
		if n := len(unchanged); n > 0 {
			most := slices.Max(stat.Map(unchanged, func(ch stat.Change) float64 { return *ch.MinDetectableEffect }))
			text = fmt.Sprintf("so many pairs, scattered like these, establish a change of %s four times out of five (the largest min. detectable of %s without a change)",
				results.FormatPercent(100*most), results.FormatCount(n, "time"))
		}
		p.Notes = append(p.Notes, text)
	}
	if left > 0 {
		p.Notes = append(p.Notes, results.FormatCount(left, "figure")+" more with --detail")
	}
	return p
}

// bySignificance sorts what was established first, what is worse before what is better, and then by
// how far figures moved.
func bySignificance(a, b stat.Change) int {
	rank := func(ch stat.Change) float64 {
		moved := math.Abs(math.Log(*cmp.Or(ch.Ratio, new(math.MaxFloat64))))
		switch {
		case ch.Established() && ch.Worse() > 0:
			moved += 1e6
		case ch.Established():
			moved += 1e3
		}
		return moved
	}
	return cmp.Compare(rank(b), rank(a))
}

// comparisonVerdict says in a sentence what changed, and in which colour: green where something is
// known and nothing is worse.
func comparisonVerdict(c *stat.Comparison) (colour, text string) {
	count := make(map[stat.Verdict]int)
	var worst stat.Change
	for _, ch := range c.Changes {
		count[ch.Verdict]++
		if ch.Established() && (worst.Verdict == "" || ch.Worse() > worst.Worse()) {
			worst = ch
		}
	}
	parts := stat.Map([]stat.Verdict{
		stat.Slower, stat.Faster, stat.More, stat.Fewer,
		stat.NoChange, stat.TooNoisy, stat.Indicative, stat.DifferentMachines,
	}, func(v stat.Verdict) string {
		return when(count[v] > 0, fmt.Sprint(count[v], " ", VerdictText(string(v))))
	})
	text = fmt.Sprintf("Of %s: %s.", results.FormatCount(len(c.Changes), "figure"), strings.Join(nonEmpty(parts), ", "))
	switch {
	case worst.Worse() > 0:
		return red, text + fmt.Sprintf(" The worst: %s.", ChangeText(worst))
	case worst.Verdict != "" || c.Conclusive():
		return green, text
	}
	return "", text
}

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
	return tableOf(title, changes, []columnOf[change]{
		{"case", func(c change) Cell { return textCell(changeLabel(c, differ)) }},
		{"metric", func(c change) Cell { return textCell(c.Metric) }},
		{"?>old", func(c change) Cell { return median(c, c.Old) }},
		{"?>new", func(c change) Cell { return median(c, c.New) }},
		{"#unit", func(c change) Cell { return textCell(c.Before.Metric.Unit) }},
		{">change", func(c change) Cell {
			return Cell{Text: changeText(c), Base: figure(c.Ratio, 1, func(float64) string { return "" }).Base}
		}},
		{"?>p", func(c change) Cell {
			return figure(c.P, 0, func(p float64) string {
				return when(p < minShownP, "<") + fmt.Sprintf("%.3f", max(p, minShownP))
			})
		}},
		{"?>min. detectable", func(c change) Cell {
			return figure(c.MinDetectableEffect, 0, func(v float64) string { return results.FormatPercent(100 * v) })
		}},
		{"!verdict", func(c change) Cell { return verdictCell(string(c.Verdict)) }},
	}...)
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

// leapRatio is that from which a change is told by what it came from: a limit that is none any more.
const leapRatio = 1e4

// changeText is "+10.2 % [+8.1, +12.0]", or what came from nothing.
func changeText(c stat.Change) string {
	if c.Ratio == nil || *c.Ratio > leapRatio {
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

func writeComparedBench(w io.Writer, c *stat.Comparison) error {
	var lines []benchfmt.Record
	said := make(map[string]bool)
	for _, ch := range c.Changes {
		unit, scale := ch.BenchUnit()
		if better := ch.Before.Metric.Better.String(); better != "" && !said[unit] {
			said[unit] = true
			lines = append(lines, &benchfmt.UnitMetadata{UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: unit, Key: "better"}, OrigUnit: unit, Value: better})
		}
		for _, side := range []struct {
			name string
			stat.Series
		}{{"old", ch.Before}, {"new", ch.After}} {
			name := benchfmt.Name(stat.BenchCase(ch.Name, side.name))
			for _, v := range side.Values {
				values := []benchfmt.Value{{Value: stat.RoundFigure(v * scale), Unit: unit}}
				lines = append(lines, &benchfmt.Result{Name: name, Iters: int(side.Messages), Values: values})
			}
		}
	}
	return writeBenchLines(w, lines, nil)
}
