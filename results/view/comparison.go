package view

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// Write writes the comparison. In the bench format each sample of every figure is a line with
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
		return comparisonTable(c.Changes, plainFigures).Write(w, FormatCSV)
	case FormatBench:
		return writeComparedBench(w, c)
	case FormatTable, FormatMarkdown:
		return writeText(w, format, o, comparisonPage(c))
	}
	_, err := ParseFormat(string(format))
	return err
}

// page shows counters that changed and every time.
func comparisonPage(c *stat.Comparison) Page {
	p := Page{Header: []string{comparisonTitle(c)}, Notes: slices.Clone(c.Notes)}
	counters := stat.Filter(c.Changes, func(ch stat.Change) bool { return ch.Before.Metric.Counter && ch.Verdict != stat.NoChange })
	times := stat.Filter(c.Changes, func(ch stat.Change) bool { return !ch.Before.Metric.Counter })
	for _, part := range []struct {
		title   string
		changes []stat.Change
	}{{"What is counted, and changed", counters}, {"What is timed", times}} {
		if len(part.changes) > 0 {
			t := comparisonTable(part.changes, readableFigures).dropEmpty()
			t.Title = part.title
			p.Tables = append(p.Tables, t)
		}
	}
	p.Conclusions = comparisonConclusions(c)
	p.Notes = append(p.Notes, bases(times)...)
	if slices.ContainsFunc(times, func(ch stat.Change) bool { return ch.MinDetectableEffect != nil }) {
		p.Notes = append(p.Notes, detectableNote(c))
	}
	return p
}

func comparisonTitle(c *stat.Comparison) string {
	if c.Pairs > 0 {
		return fmt.Sprintf("%s against %s: %s, signed-rank test, Holm's correction", c.New, c.Old, results.FormatCount(c.Pairs, "interleaved pair"))
	}
	return fmt.Sprintf("%s against %s: measured one after the other", c.New, c.Old)
}

// bases are what verdicts rest on, each once.
func bases(times []stat.Change) []string {
	count := make(map[string]int)
	var out []string
	for _, ch := range times {
		if count[ch.Basis]++; count[ch.Basis] == 1 {
			out = append(out, ch.Basis)
		}
	}
	for i, b := range out {
		out[i] = fmt.Sprintf("%d of %d times: %s", count[b], len(times), b)
	}
	return out
}

// conclusions is the comparison in a sentence.
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
	for _, v := range []stat.Verdict{stat.Slower, stat.Faster, stat.More, stat.Fewer, stat.NoChange, stat.TooNoisy, stat.Indicative, stat.DifferentMachines} {
		if count[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[v], v))
		}
	}
	text := fmt.Sprintf("Of %d figures: %s.", len(c.Changes), strings.Join(parts, ", "))
	if worst.Worse() > 0 {
		text += fmt.Sprintf(" The worst: %s.", ChangeText(worst))
	}
	return []string{text}
}

// caseWidth leaves the figures of pairs room in 120 columns.
const caseWidth = 28

// figures writes the numbers of a change, for people or for programs.
type figures func(stat.Change) []string

func comparisonTable(changes []stat.Change, f figures) Table {
	t := Table{Columns: Columns("case", "metric", ">old", ">new", ">change", ">p", ">min. detectable", "verdict")}
	t.Columns[0].Width = caseWidth
	var cells []results.Cell
	for _, ch := range changes {
		if ch.Cell != nil {
			cells = append(cells, *ch.Cell)
		}
	}
	differ := results.DifferingFields(cells, "framing", "size", "placement", "pattern")
	for _, ch := range changes {
		t.Rows = append(t.Rows, slices.Concat([]string{changeLabel(ch, differ), ch.Metric}, f(ch), []string{string(ch.Verdict)}))
	}
	return t
}

// ChangeText is the change in a line: what of which case, and by how much.
func ChangeText(c stat.Change) string {
	return fmt.Sprintf("%s of %s, %s", c.Metric, changeLabel(c, nil), changeText(c))
}

// label names a case so that a person finds it.
func changeLabel(c stat.Change, differ []string) string {
	if c.Cell == nil {
		return c.Name
	}
	return results.CellLabel(*c.Cell, differ)
}

func readableFigures(c stat.Change) []string {
	p, least := "-", "-"
	if c.P != nil {
		p = pText(*c.P)
	}
	if c.MinDetectableEffect != nil {
		least = results.FormatPercent(100 * *c.MinDetectableEffect)
	}
	return []string{c.Before.Metric.Format(c.Old.Median) + spreadText(c.Old), c.Before.Metric.Format(c.New.Median) + spreadText(c.New), changeText(c), p, least}
}

// minShownP is the smallest p that three digits show.
const minShownP = 0.001

func pText(p float64) string {
	if p < minShownP {
		return fmt.Sprintf("<%.3f", minShownP)
	}
	return fmt.Sprintf("%.3f", p)
}

func plainFigures(c stat.Change) []string {
	out := []string{fmt.Sprintf("%.10g", c.Old.Median), fmt.Sprintf("%.10g", c.New.Median), "", "", ""}
	if c.Ratio != nil {
		out[2] = fmt.Sprintf("%.6g", *c.Ratio-1)
	}
	if c.P != nil {
		out[3] = fmt.Sprintf("%.6g", *c.P)
	}
	if c.MinDetectableEffect != nil {
		out[4] = fmt.Sprintf("%.6g", *c.MinDetectableEffect)
	}
	return out
}

// changeText is "+10.2 % [+8.1, +12.0]", or what came from nothing.
func changeText(c stat.Change) string {
	if c.Ratio == nil {
		return "from " + results.FormatNumber(c.Old.Median, 3) + " to " + results.FormatNumber(c.New.Median, 3)
	}
	text := signedPercent(*c.Ratio) + " %"
	if c.Interval != nil {
		text += fmt.Sprintf(" [%s, %s]", signedPercent(c.Interval.Lo), signedPercent(c.Interval.Hi))
	}
	return text
}

// signedPercent is a ratio as a change, with enough digits to see a small one.
func signedPercent(ratio float64) string {
	percent := 100 * (ratio - 1)
	if percent > 0 {
		return "+" + results.FormatNumber(percent, 3)
	}
	return results.FormatNumber(percent, 3)
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
