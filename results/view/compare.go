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

// mostChanges is how many rows of figures the screen of a comparison has, beside the table of
// framings and sizes.
const mostChanges = 12

// comparisonPage says first what changed. Then come the times: of files a table of framings and
// sizes, of pairs and benchmark text a row for each; then the counts that changed. Without
// detail a terminal has what fits it.
func comparisonPage(c *stat.Comparison, format Format, o Options) Page {
	how := "measured one after the other"
	if c.Pairs > 0 {
		how = results.FormatCount(c.Pairs, "interleaved pair")
	}
	var p Page
	p.Tone, p.Verdict = comparisonVerdict(c)
	p.Header = []string{fmt.Sprintf("%s against %s: %s", c.New, c.Old, how)}
	var counters, times, relative []stat.Change
	for _, ch := range c.Changes {
		switch {
		case ch.Before.Metric.Counter && ch.Verdict != stat.NoChange:
			counters = append(counters, ch)
		case ch.Before.Metric.Counter:
		case c.Pairs == 0 && ch.Cell != nil && ch.Interval == nil: // a note says why
		case c.Pairs == 0 && ch.Cell != nil:
			relative = append(relative, ch)
		default:
			times = append(times, ch)
		}
	}
	p.Tables = append(p.Tables, changeTables(relative)...)
	if o.Detail {
		times = append(relative, times...)
	}
	judged := times
	left := 0
	if format == FormatTable && !o.Detail {
		all := len(counters) + len(times)
		counters = mostSignificant(counters, mostChanges/2)
		times = mostSignificant(times, mostChanges-len(counters))
		left = all - len(counters) - len(times)
	}
	if len(times) > 0 {
		p.Tables = append(p.Tables, comparisonTable("Times", times).dropEmpty())
	}
	if len(counters) > 0 {
		p.Tables = append(p.Tables, comparisonTable("Counts that changed", counters).dropEmpty())
	}
	p.Notes = append(slices.Clone(c.Notes), basisNotes(judged)...)
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

// basisNotes say what the verdicts on times rest on, or why there is none: each basis once, with
// the number of its times.
func basisNotes(times []stat.Change) []string {
	var order []string
	count := make(map[string]int)
	for _, ch := range times {
		if ch.Basis == "" {
			continue
		}
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

// mostWorse is how many changes for the worse the first line names.
const mostWorse = 3

// comparisonVerdict answers in a sentence: what became worse, what better, and within what the rest
// did not change. It is good where something is known and nothing is worse.
func comparisonVerdict(c *stat.Comparison) (tone Tone, text string) {
	var a tally
	for _, ch := range c.Changes {
		a.add(ch)
	}
	switch {
	case len(a.worse) > 0:
		tone = Bad
		text = fmt.Sprintf("%d of %d got %s: %s",
			len(a.worse), len(c.Changes), worseWord(a.worse), namedChanges(a.worse, mostWorse))
	case len(a.better)+a.times > 0, a.counts > 0 && a.noisy+a.open == 0:
		tone = Good
		text = "Nothing got slower"
	default:
		text = "No verdict"
	}
	return tone, strings.Join(append([]string{text}, a.rest()...), "; ") + "."
}

// A tally is what a comparison comes to.
type tally struct {
	worse, better       []stat.Change
	times, counts       int // that did not change
	noisy, open         int // times that moved too much; figures that cannot be judged
	within, wholeWithin float64
	wholes              int // framings as a whole that did not change beyond chance
}

func (a *tally) add(ch stat.Change) {
	widest := 0.0
	if ch.Interval != nil {
		widest = max(1-ch.Interval.Lo, ch.Interval.Hi-1)
	}
	switch {
	case ch.Established() && ch.Worse() > 0:
		a.worse = append(a.worse, ch)
		return
	case ch.Established():
		a.better = append(a.better, ch)
		return
	case ch.IsWhole():
		a.wholes++
		a.wholeWithin = max(a.wholeWithin, widest)
	case ch.Verdict == stat.NoChange && ch.Before.Metric.Counter:
		a.counts++
	case ch.Verdict == stat.NoChange:
		a.times++
		a.within = max(a.within, widest)
	case ch.Verdict == stat.TooNoisy:
		a.noisy++
	default:
		a.open++
	}
}

// rest says what did not get worse.
func (a *tally) rest() []string {
	var parts []string
	if len(a.better) > 0 {
		parts = append(parts, fmt.Sprintf("%d got better: %s",
			len(a.better), namedChanges(a.better, 1)))
	}
	if a.wholes > 0 {
		none := "no framing"
		if len(a.worse)+len(a.better) > 0 {
			none = "no other framing"
		}
		parts = append(parts, fmt.Sprintf("%s as a whole changed by more than %s",
			none, results.FormatPercent(100*a.wholeWithin)))
	}
	if a.times > 0 {
		parts = append(parts, fmt.Sprintf("%s did not change by more than %s",
			results.FormatCount(a.times, "time"), results.FormatPercent(100*a.within)))
	}
	if a.noisy > 0 {
		parts = append(parts, fmt.Sprintf("%s too noisy to tell %s",
			results.FormatCount(a.noisy, "time"), results.FormatPercent(100*stat.Tolerance)))
	}
	if a.counts > 0 {
		parts = append(parts, results.FormatCount(a.counts, "count")+" did not change")
	}
	if a.open > 0 {
		parts = append(parts, results.FormatCount(a.open, "figure")+" without a verdict")
	}
	return parts
}

// worseWord is "slower" where nothing that is counted changed, else "worse".
func worseWord(worse []stat.Change) string {
	for _, ch := range worse {
		if ch.Verdict != stat.Slower {
			return "worse"
		}
	}
	return "slower"
}

// namedChanges names the largest of changes, and counts the others.
func namedChanges(changes []stat.Change, most int) string {
	shown := mostSignificant(changes, most)
	var names []string
	for _, ch := range shown {
		names = append(names, ChangeText(ch))
	}
	text := strings.Join(names, ", ")
	if more := len(changes) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// changeTables shows the changes of cells: a table for each placement and pattern, with a row for
// each framing and a column for each size. What a framing as a whole changed by is in the last
// column of its streams.
func changeTables(changes []stat.Change) []Table {
	type group struct{ placement, pattern string }
	var order []group
	groups := make(map[group][]stat.Change)
	whole := make(map[string]stat.Change) // by placement and framing
	for _, ch := range changes {
		if ch.IsWhole() {
			whole[ch.Cell.Placement+" "+ch.Cell.Framing] = ch
			continue
		}
		g := group{ch.Cell.Placement, ch.Cell.Pattern}
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], ch)
	}
	var tables []Table
	for _, g := range order {
		t := changeTable(groups[g], whole)
		t.Title = fmt.Sprintf("%s, beside raw: %s, ends %s",
			shownTitle(groups[g][0]), g.pattern, PlacementPhrase(g.placement))
		tables = append(tables, t)
	}
	return tables
}

func shownTitle(ch stat.Change) string {
	if ch.Metric == "to-raw" {
		return "CPU time per message"
	}
	return ch.Metric
}

func changeTable(changes []stat.Change, whole map[string]stat.Change) Table {
	var cells []results.Cell
	var sizes []int
	for _, ch := range changes {
		cells = append(cells, *ch.Cell)
		if !slices.Contains(sizes, ch.Cell.Size) {
			sizes = append(sizes, ch.Cell.Size)
		}
	}
	slices.Sort(sizes)
	differ := results.DifferingFields(cells, "framing", "size", "placement", "pattern")
	t := Table{Columns: []Column{{Title: "framing", Key: true}}}
	for _, name := range differ {
		t.Columns = append(t.Columns, Column{Title: name, Key: true})
	}
	for _, size := range sizes {
		t.Columns = append(t.Columns, Column{Title: SizeText(size), Right: true, Style: Verdict})
	}
	t.Columns = append(t.Columns, Column{Title: "all", Right: true, Style: Verdict})
	index := make(map[results.Cell]int)
	for _, ch := range changes {
		key := *ch.Cell
		key.Size = 0
		at, known := index[key]
		if !known {
			at = len(t.Rows)
			index[key] = at
			row := []Value{textValue(key.Framing)}
			for _, name := range differ {
				row = append(row, textValue(fieldText(*ch.Cell, name)))
			}
			row = append(row, make([]Value, len(sizes)+1)...)
			if all, ok := whole[key.Placement+" "+key.Framing]; ok {
				row[len(row)-1] = briefChange(all)
				delete(whole, key.Placement+" "+key.Framing)
			}
			t.AppendValues(row...)
		}
		t.Rows[at][1+len(differ)+slices.Index(sizes, ch.Cell.Size)] = briefChange(ch)
	}
	return t.dropEmpty()
}

// briefChange is a change in a table of many: established ones are marked.
func briefChange(ch stat.Change) Value {
	v := changeVerdict(ch)
	text := signedPercent(*ch.Ratio) + " %"
	switch {
	case ch.Established():
		text += " !"
	case ch.Verdict == stat.TooNoisy:
		text = "(" + text + ")"
	}
	return Value{Text: text, Base: fmt.Sprintf("%.6g", *ch.Ratio-1), Tone: v.Tone}
}

// comparisonTable has a row for each change.
func comparisonTable(title string, changes []stat.Change) Table {
	var cells []results.Cell
	for _, ch := range changes {
		if ch.Cell != nil && !ch.IsWhole() {
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
		{Title: "verdict", Style: Verdict, Key: true},
	}}
	for _, ch := range changes {
		change := Value{Text: changeText(ch)}
		if ch.Ratio != nil {
			change.Base = fmt.Sprintf("%.6g", *ch.Ratio-1)
		}
		t.AppendValues(
			textValue(changeLabel(ch, differ)),
			textValue(ch.Metric),
			medianValue(ch, ch.Old),
			medianValue(ch, ch.New),
			textValue(ch.Before.Metric.Unit),
			change,
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
	if e.N == 0 {
		return Value{}
	}
	text := withSpread(ch.Before.Metric.Format(e.Median), e)
	return Value{Text: text, Base: fmt.Sprintf("%.10g", e.Median)}
}

// ChangeText writes a change in a line: the figure, the case and the size of the change.
func ChangeText(c stat.Change) string {
	if c.Before.Metric.Name == "to-raw" {
		return changeLabel(c, nil) + " " + changeText(c)
	}
	return fmt.Sprintf("%s of %s, %s", c.Metric, changeLabel(c, nil), changeText(c))
}

// changeLabel names a case so that a person finds it.
func changeLabel(c stat.Change, differ []string) string {
	if c.Cell == nil {
		return c.Name
	}
	if c.IsWhole() {
		return "all of " + c.Cell.Framing + " " + c.Cell.Placement
	}
	return results.CellLabel(*c.Cell, differ)
}

// A change by more than leapRatio is written as "from … to …" instead of in percent: a limit that
// has gone, for example.
const leapRatio = 1e4

// changeText is "+10.2 % [+8.1, +12.0]", or what came from nothing.
func changeText(c stat.Change) string {
	if c.Ratio == nil || *c.Ratio > leapRatio {
		m := c.Before.Metric
		return "from " + m.Format(c.Old.Median) + " to " + m.Format(c.New.Median)
	}
	text := signedPercent(*c.Ratio) + " %"
	if c.Interval != nil {
		lo, hi := signedPercent(c.Interval.Lo), signedPercent(c.Interval.Hi)
		text += fmt.Sprintf(" (%s to %s)", lo, hi)
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
