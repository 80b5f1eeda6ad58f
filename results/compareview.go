package results

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// note says what a reader of the comparison has to know.
func (c *Comparison) note(matches []match) {
	if n := len(filter(matches, match.elsewhere)); n > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%d of %d figures were measured on different machines", n, len(matches)))
	}
	if n := len(filter(c.Changes, func(ch Change) bool { return ch.Exact && ch.Verdict == NoChange })); n > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%d exact counters (calls, wire bytes, allocations a message) are the same", n))
	}
	varying := len(filter(matches, func(m match) bool { return m.old.Metric.Counter && !(exact(m.old) && exact(m.new)) }))
	if varying > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%s from sample to sample: no evidence by itself", map[bool]string{true: "one counter varies", false: fmt.Sprintf("%d counters vary", varying)}[varying == 1]))
	}
	for _, only := range []struct {
		side  string
		names []string
	}{{"old", c.OnlyOld}, {"new", c.OnlyNew}} {
		if len(only.names) > 0 {
			c.Notes = append(c.Notes, fmt.Sprintf("in %s alone: %s", only.side, shortList(only.names)))
		}
	}
}

// shortList names three and counts the rest.
func shortList(names []string) string {
	if len(names) <= 3 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
}

// Write writes the comparison. In the bench format each sample of every
// figure is a line with side=old or side=new, for benchstat -col /side. A
// comparison without a common case is [ErrNothing].
func (c *Comparison) Write(w io.Writer, format Format, o ViewOptions) error {
	if len(c.Changes) == 0 {
		return fmt.Errorf("compare %s and %s: %w: no case is in both", c.Old, c.New, ErrNothing)
	}
	switch format {
	case FormatJSON:
		return writeIndented(w, c)
	case FormatCSV:
		return c.table(c.Changes, plainFigures).Write(w, FormatCSV)
	case FormatBench:
		return c.writeBench(w)
	case FormatTable, FormatMarkdown:
		return writeText(w, format, o, c.page())
	}
	_, err := ParseFormat(string(format))
	return err
}

// page shows counters that changed and every time.
func (c *Comparison) page() page {
	p := page{header: []string{c.title()}, footnote: slices.Clone(c.Notes)}
	counters := filter(c.Changes, func(ch Change) bool { return ch.metric.Counter && ch.Verdict != NoChange })
	times := filter(c.Changes, func(ch Change) bool { return !ch.metric.Counter })
	for _, part := range []struct {
		title   string
		changes []Change
	}{{"What is counted, and changed", counters}, {"What is timed", times}} {
		if len(part.changes) > 0 {
			t := c.table(part.changes, readableFigures).dropEmpty()
			t.Title = part.title
			p.tables = append(p.tables, t)
		}
	}
	p.meaning = c.meaning()
	p.footnote = append(p.footnote, c.bases(times)...)
	if slices.ContainsFunc(times, func(ch Change) bool { return ch.Detectable != nil }) {
		p.footnote = append(p.footnote, c.detectableNote())
	}
	return p
}

func (c *Comparison) title() string {
	if c.Pairs > 0 {
		return fmt.Sprintf("%s against %s: %s, signed-rank test, Holm's correction", c.New, c.Old, countLabel(c.Pairs, "interleaved pair"))
	}
	return fmt.Sprintf("%s against %s: measured one after the other", c.New, c.Old)
}

// bases are what verdicts rest on, each once.
func (c *Comparison) bases(times []Change) []string {
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

// meaning is the comparison in a sentence.
func (c *Comparison) meaning() []string {
	count := make(map[Verdict]int)
	var worst Change
	for _, ch := range c.Changes {
		count[ch.Verdict]++
		if ch.Established() && (worst.Verdict == "" || ch.Worse() > worst.Worse()) {
			worst = ch
		}
	}
	var parts []string
	for _, v := range []Verdict{Slower, Faster, More, Fewer, NoChange, TooNoisy, Indicative, Elsewhere} {
		if count[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[v], v))
		}
	}
	text := fmt.Sprintf("Of %d figures: %s.", len(c.Changes), strings.Join(parts, ", "))
	if worst.Worse() > 0 {
		text += fmt.Sprintf(" The worst: %s.", worst)
	}
	return []string{text}
}

// caseWidth leaves the figures of pairs room in 120 columns.
const caseWidth = 28

// figures writes the numbers of a change, for people or for programs.
type figures func(Change) []string

func (c *Comparison) table(changes []Change, f figures) Table {
	t := Table{Columns: Columns("case", "metric", ">old", ">new", ">change", ">p", ">least", "verdict")}
	t.Columns[0].Width = caseWidth
	var cells []Cell
	for _, ch := range changes {
		if ch.Cell != nil {
			cells = append(cells, *ch.Cell)
		}
	}
	differ := varying(cells, "framing", "size", "placement", "pattern")
	for _, ch := range changes {
		t.Rows = append(t.Rows, slices.Concat([]string{ch.label(differ), ch.Metric}, f(ch), []string{string(ch.Verdict)}))
	}
	return t
}

// String is the change in a line: what of which case, and by how much.
func (c Change) String() string {
	return fmt.Sprintf("%s of %s, %s", c.Metric, c.label(nil), changeText(c))
}

// label names a case so that a person finds it.
func (c Change) label(differ []string) string {
	if c.Cell == nil {
		return c.Name
	}
	return cellLabel(*c.Cell, differ)
}

// cellLabel is "ndjson 64 KiB stream same", and then the fields named.
func cellLabel(c Cell, differ []string) string {
	words := []string{c.Framing, FormatSize(int64(c.Size)), c.Pattern, c.Placement}
	for _, name := range differ {
		words = append(words, name+"="+shortValue(name, fieldOf(c, name)))
	}
	return strings.Join(words, " ")
}

func readableFigures(c Change) []string {
	p, least := "-", "-"
	if c.P != nil {
		p = pText(*c.P)
	}
	if c.Detectable != nil {
		least = FormatPercent(100 * *c.Detectable)
	}
	return []string{c.metric.Format(c.Old.Median) + spreadText(c.Old), c.metric.Format(c.New.Median) + spreadText(c.New), changeText(c), p, least}
}

// leastShown is the smallest p that three digits show.
const leastShown = 0.001

func pText(p float64) string {
	if p < leastShown {
		return fmt.Sprintf("<%.3f", leastShown)
	}
	return fmt.Sprintf("%.3f", p)
}

func plainFigures(c Change) []string {
	out := []string{fmt.Sprintf("%.10g", c.Old.Median), fmt.Sprintf("%.10g", c.New.Median), "", "", ""}
	if c.Ratio != nil {
		out[2] = fmt.Sprintf("%.6g", *c.Ratio-1)
	}
	if c.P != nil {
		out[3] = fmt.Sprintf("%.6g", *c.P)
	}
	if c.Detectable != nil {
		out[4] = fmt.Sprintf("%.6g", *c.Detectable)
	}
	return out
}

// changeText is "+10.2 % [+8.1, +12.0]", or what came from nothing.
func changeText(c Change) string {
	if c.Ratio == nil {
		return "from " + significant(c.Old.Median, 3) + " to " + significant(c.New.Median, 3)
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
		return "+" + significant(percent, 3)
	}
	return significant(percent, 3)
}

func (c *Comparison) writeBench(w io.Writer) error {
	out := benchfmt.NewWriter(w)
	said := make(map[string]bool)
	for _, ch := range c.Changes {
		unit, _ := ch.benchUnit()
		if better := ch.better.String(); better != "" && !said[unit] {
			said[unit] = true
			if _, err := fmt.Fprintf(w, "Unit %s better=%s\n", unit, better); err != nil {
				return fmt.Errorf("write benchmark text: %w", err)
			}
		}
		if err := errors.Join(ch.writeSide(out, "old", ch.sides.old), ch.writeSide(out, "new", ch.sides.new)); err != nil {
			return err
		}
	}
	return nil
}

// writeSide writes the samples of one side, a line each.
func (c Change) writeSide(out *benchfmt.Writer, side string, s Series) error {
	unit, scale := c.benchUnit()
	for _, v := range s.Values {
		res := benchfmt.Result{
			Name: benchfmt.Name(benchCase(c.Name, side)), Iters: int(s.Messages),
			Values: []benchfmt.Value{{Value: rounded(v * scale), Unit: unit}},
		}
		if err := out.Write(&res); err != nil {
			return fmt.Errorf("write benchmark text: %w", err)
		}
	}
	return nil
}

// benchCase puts the side into a name, before the GOMAXPROCS that go test
// leaves at its end.
func benchCase(name, side string) string {
	base := trailingNumber.ReplaceAllString(name, "")
	return base + "/side=" + side + strings.TrimPrefix(name, base)
}

// benchUnit is the unit that a figure has in Go benchmark text.
func (c Change) benchUnit() (unit string, scale float64) {
	for _, u := range benchUnits {
		if u.metric == c.Metric {
			return u.name, u.scale
		}
	}
	if c.Cell == nil {
		return c.Metric, 1
	}
	return c.Metric + "/op", 1
}
