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
	"github.com/pipebench/pipebench/results/stat/benchtext"
)

// WriteComparison writes the comparison. In the bench format each sample of every figure is a line
// with side=old or side=new, for benchstat -col /side. A comparison without a common case is
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
	how := "measured one after the other"
	if c.Pairs > 0 {
		how = results.FormatCount(c.Pairs, "interleaved pair") +
			", signed-rank test, Holm's correction"
	}
	var p Page
	p.Tone, p.Verdict = comparisonVerdict(c)
	p.Header = []string{fmt.Sprintf("%s against %s: %s", c.New, c.Old, how)}
	var counters, times []stat.Change
	for _, ch := range c.Changes {
		switch {
		case !ch.Before.Metric.Counter:
			times = append(times, ch)
		case ch.Verdict != stat.NoChange:
			counters = append(counters, ch)
		}
	}
	shownCounters, shownTimes := counters, times
	if format == FormatTable && !o.Detail {
		shownCounters = mostSignificant(counters, mostChanges/2)
		shownTimes = mostSignificant(times, mostChanges-len(shownCounters))
	}
	if len(shownCounters) > 0 {
		t := comparisonTable("What is counted, and changed", shownCounters)
		p.Tables = append(p.Tables, t.dropEmpty())
	}
	if len(shownTimes) > 0 {
		p.Tables = append(p.Tables, comparisonTable("What is timed", shownTimes).dropEmpty())
	}
	p.Notes = append(slices.Clone(c.Notes), basisNotes(times)...)
	if text := detectableNote(c, times); text != "" {
		p.Notes = append(p.Notes, text)
	}
	left := len(counters) + len(times) - len(shownCounters) - len(shownTimes)
	if left > 0 {
		p.Notes = append(p.Notes, results.FormatCount(left, "figure")+" more with --detail")
	}
	return p
}

// mostSignificant returns the first of changes by significance, as many as have room.
func mostSignificant(changes []stat.Change, room int) []stat.Change {
	sorted := slices.Clone(changes)
	slices.SortStableFunc(sorted, bySignificance)
	return sorted[:min(len(sorted), room)]
}

// basisNotes say what the verdicts on times rest on: each basis once, with the number of its times.
func basisNotes(times []stat.Change) []string {
	var order []string
	count := make(map[string]int)
	for _, ch := range times {
		if count[ch.Basis] == 0 {
			order = append(order, ch.Basis)
		}
		count[ch.Basis]++
	}
	var out []string
	for _, basis := range order {
		out = append(out, fmt.Sprintf("%d of %d times: %s", count[basis], len(times), basis))
	}
	return out
}

// detectableNote says what change the pairs would have found, "" if nothing is known of that.
func detectableNote(c *stat.Comparison, times []stat.Change) string {
	known := false
	for _, ch := range times {
		known = known || ch.MinDetectableEffect != nil
	}
	if !known {
		return ""
	}
	unchanged := 0
	most := 0.0
	for _, ch := range c.Changes {
		if ch.Verdict == stat.NoChange && ch.MinDetectableEffect != nil {
			unchanged++
			most = max(most, *ch.MinDetectableEffect)
		}
	}
	if unchanged == 0 {
		return "min. detectable is the change that so many pairs, scattered like these, " +
			"establish four times out of five"
	}
	return fmt.Sprintf("so many pairs, scattered like these, establish a change of %s four times "+
		"out of five (the largest min. detectable of %s without a change)",
		results.FormatPercent(100*most), results.FormatCount(unchanged, "time"))
}

// bySignificance sorts what was established first, what is worse before what is better, and then by
// how far figures moved.
func bySignificance(a, b stat.Change) int {
	return cmp.Compare(significance(b), significance(a))
}

func significance(ch stat.Change) float64 {
	moved := math.Log(math.MaxFloat64) // from nothing, or to nothing
	if ch.Ratio != nil {
		moved = math.Abs(math.Log(*ch.Ratio))
	}
	switch {
	case ch.Established() && ch.Worse() > 0:
		moved += 1e6
	case ch.Established():
		moved += 1e3
	}
	return moved
}

// comparisonVerdict says in a sentence what changed, and what that means: good where something is
// known and nothing is worse.
func comparisonVerdict(c *stat.Comparison) (tone Tone, text string) {
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
		if count[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[v], VerdictText(string(v))))
		}
	}
	figures := results.FormatCount(len(c.Changes), "figure")
	text = fmt.Sprintf("Of %s: %s.", figures, strings.Join(parts, ", "))
	switch {
	case worst.Worse() > 0:
		return Bad, text + fmt.Sprintf(" The worst: %s.", ChangeText(worst))
	case worst.Verdict != "" || c.Conclusive():
		return Good, text
	}
	return Neutral, text
}

// comparisonTable has a row for each change.
func comparisonTable(title string, changes []stat.Change) Table {
	var cells []results.Cell
	for _, ch := range changes {
		if ch.Cell != nil {
			cells = append(cells, *ch.Cell)
		}
	}
	differ := results.DifferingFields(cells, "framing", "size", "placement", "pattern")
	t := Table{Title: title, Columns: []Column{
		{Title: "case", Key: true},
		{Title: "metric", Key: true},
		{Title: "old", Right: true},
		{Title: "new", Right: true},
		{Title: "unit", Detail: true},
		{Title: "change", Right: true, Key: true},
		{Title: "p", Right: true},
		{Title: "min. detectable", Right: true},
		{Title: "verdict", Style: Verdict, Key: true},
	}}
	for _, ch := range changes {
		change := Value{Text: changeText(ch)}
		if ch.Ratio != nil {
			change.Base = fmt.Sprintf("%.6g", *ch.Ratio-1)
		}
		var p, detectable Value
		if ch.P != nil {
			p = Value{Text: pText(*ch.P), Base: fmt.Sprintf("%.6g", *ch.P)}
		}
		if share := ch.MinDetectableEffect; share != nil {
			detectable = Value{
				Text: results.FormatPercent(100 * *share),
				Base: fmt.Sprintf("%.6g", *share),
			}
		}
		t.AppendValues(
			textValue(changeLabel(ch, differ)),
			textValue(ch.Metric),
			medianValue(ch, ch.Old),
			medianValue(ch, ch.New),
			textValue(ch.Before.Metric.Unit),
			change,
			p,
			detectable,
			changeVerdict(ch),
		)
	}
	return t
}

// changeVerdict shows the verdict on a change: bad is only what is established and worse.
func changeVerdict(ch stat.Change) Value {
	v := Value{Text: VerdictText(string(ch.Verdict)), Base: string(ch.Verdict), Tone: Mixed}
	switch {
	case ch.Verdict == stat.NoChange:
		v.Tone = Neutral
	case ch.Established() && ch.Worse() > 0:
		v.Tone = Bad
	case ch.Established():
		v.Tone = Good
	}
	return v
}

// medianValue is one side of a change.
func medianValue(ch stat.Change, e stat.Estimate) Value {
	text := withSpread(ch.Before.Metric.Format(e.Median), e)
	return Value{Text: text, Base: fmt.Sprintf("%.10g", e.Median)}
}

// minShownP is the smallest p that three digits show.
const minShownP = 0.001

func pText(p float64) string {
	if p < minShownP {
		return fmt.Sprintf("<%.3f", minShownP)
	}
	return fmt.Sprintf("%.3f", p)
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

// leapRatio is that from which a change is told by what it came from: a limit that is none any
// more.
const leapRatio = 1e4

// changeText is "+10.2 % [+8.1, +12.0]", or what came from nothing.
func changeText(c stat.Change) string {
	if c.Ratio == nil || *c.Ratio > leapRatio {
		m := c.Before.Metric
		return "from " + m.Format(c.Old.Median) + " to " + m.Format(c.New.Median)
	}
	text := signedPercent(*c.Ratio) + " %"
	if c.Interval != nil {
		text += fmt.Sprintf(" [%s, %s]", signedPercent(c.Interval.Lo), signedPercent(c.Interval.Hi))
	}
	return text
}

// signedPercent is a ratio as a change, with enough digits to see a small one.
func signedPercent(ratio float64) string {
	text := results.FormatNumber(100*(ratio-1), 3)
	if ratio > 1 {
		return "+" + text
	}
	return text
}

// writeComparedBench writes a line for each value of both sides.
func writeComparedBench(w io.Writer, c *stat.Comparison) error {
	var lines []benchfmt.Record
	said := make(map[string]bool)
	for _, ch := range c.Changes {
		unit, scale := ch.BenchUnit()
		better := ch.Before.Metric.Better.String()
		if better != "" && !said[unit] {
			said[unit] = true
			key := benchfmt.UnitMetadataKey{Unit: unit, Key: "better"}
			lines = append(lines, &benchfmt.UnitMetadata{
				UnitMetadataKey: key, OrigUnit: unit, Value: better,
			})
		}
		lines = append(lines, sideLines(ch.Name, "old", ch.Before, unit, scale)...)
		lines = append(lines, sideLines(ch.Name, "new", ch.After, unit, scale)...)
	}
	return writeBenchLines(w, lines)
}

func sideLines(name, side string, s stat.Series, unit string, scale float64) []benchfmt.Record {
	var lines []benchfmt.Record
	for _, v := range s.Values {
		lines = append(lines, &benchfmt.Result{
			Name:   benchfmt.Name(benchtext.WithSide(name, side)),
			Iters:  int(s.Messages),
			Values: []benchfmt.Value{{Value: benchtext.Round(v * scale), Unit: unit}},
		})
	}
	return lines
}
