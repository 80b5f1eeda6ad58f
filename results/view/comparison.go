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

func noiseTable(s *results.Set) Table {
	type noise = results.Noise
	return tableOf("How far figures move between runs that nothing distinguishes", s.Noise, []columnOf[noise]{
		{"machine", func(n noise) Cell { return machineCell(s, n.Machine) }},
		{"`framing", func(n noise) Cell { return textCell(n.Cell.Framing) }},
		{">message|message (B)", func(n noise) Cell { return bytesCell(int64(n.Cell.Size)) }},
		{"placement", func(n noise) Cell { return textCell(n.Cell.Placement) }},
		{"?pattern", func(n noise) Cell { return textCell(n.Cell.Pattern) }},
		{"metric", func(n noise) Cell { return textCell(n.Metric) }},
		{">median", func(n noise) Cell {
			e := stat.Median(n.Values)
			m, _ := stat.MetricByName(n.Metric) // one of another version has no unit
			return when(e.N > 0, figureCell(e.Median, m.Format(e.Median)))
		}},
		{"?>runs", func(n noise) Cell { return textCell(fmt.Sprint(len(n.Values))) }},
		{">spread|spread (%)", func(n noise) Cell { return figureCell(100*n.Spread, results.FormatPercent(100*n.Spread)) }},
		{">min. detectable change|min. detectable change (%)", func(n noise) Cell {
			share, ok := stat.NoiseBound(n, stat.DefaultAlpha)
			none := Cell{Text: "none"} // a comparison of this figure alone gets no verdict
			return cmp.Or(when(ok, figureCell(100*share, results.FormatPercent(100*share))), none)
		}},
	}...)
}

// maxDifferences is the number of cells of which sentences compare the machines.
const maxDifferences = 3

// machinesDiffer says in sentences what differs between several machines: what framings cost on them
// where the intervals lie apart, the widest difference first, then the machines themselves.
func machinesDiffer(s *results.Set, rows []stat.Row) []string {
	if len(s.Machines()) < 2 {
		return nil
	}
	var found [][2]stat.Row // the lowest and the highest of a cell
	factor := func(of [2]stat.Row) float64 { return of[1].ToRaw.Median / of[0].ToRaw.Median }
	rows = stat.Filter(rows, besideRaw)
	for _, alike := range stat.GroupBy(rows, cellOf) {
		slices.SortFunc(alike, func(a, b stat.Row) int { return cmp.Compare(a.ToRaw.Median, b.ToRaw.Median) })
		if low, high := alike[0], alike[len(alike)-1]; low.ToRaw.Interval.Hi < high.ToRaw.Interval.Lo {
			found = append(found, [2]stat.Row{low, high})
		}
	}
	slices.SortStableFunc(found, func(a, b [2]stat.Row) int { return cmp.Compare(factor(b), factor(a)) })
	var out []string
	for _, of := range found[:min(len(found), maxDifferences)] {
		c, on := of[0].Cell, func(r stat.Row) string { return " on " + s.MachineName(r.Machine) }
		out = append(out, fmt.Sprintf("%s at %s %s has %s of raw's %s%s, %s%s.",
			c.Framing, fieldText(c, "size"), PlacementPhrase(c.Placement),
			ratioText(of[0].ToRaw), relativeWord(c), on(of[0]), ratioText(of[1].ToRaw), on(of[1])))
	}
	if len(found) == 0 && len(rows) > 0 {
		out = append(out, "No framing costs significantly more on one of the machines than on another.")
	}
	var parts []string
	for _, f := range machineFields {
		values := stat.Map(FirstRuns(s), func(e results.Environment) string { return orDash(f.of(e)) })
		if !slices.Contains([]string{"host", "load", "clock"}, f.title) && len(stat.Distinct(values, stat.Itself)) > 1 {
			parts = append(parts, f.title+" ("+strings.Join(values, "; ")+")")
		}
	}
	if len(parts) > 0 {
		out = append(out, "The machines differ in "+strings.Join(parts, ", ")+".")
	}
	return out
}

// machineComparison has a row for each cell of a pattern that at least two machines measured.
func machineComparison(s *results.Set, rows []stat.Row, pattern, title string) Table {
	type alike = []stat.Row
	rows = stat.Filter(rows, func(r stat.Row) bool { return r.Cell.Pattern == pattern })
	differ := results.DifferingFields(stat.Distinct(rows, cellOf), "framing", "size", "pattern")
	columns := cellColumns(differ, nil, func(measured alike) stat.Row { return measured[0] })
	for _, id := range s.Machines() {
		columns = append(columns, columnOf[alike]{verbatim(">", s.MachineName(id)), func(measured alike) Cell {
			if i := slices.IndexFunc(measured, func(r stat.Row) bool { return r.Machine == id }); i >= 0 {
				return textCell(vsRawText(measured[i]))
			}
			return textCell("not measured")
		}})
	}
	several := stat.Filter(stat.GroupBy(rows, cellOf), func(measured alike) bool { return len(measured) > 1 })
	return tableOf(title, several, columns...)
}

func cellOf(r stat.Row) results.Cell { return r.Cell }

func machineOf(r stat.Row) string { return r.Machine }

// vsRawText is a cell relative to raw on the same machine, and behind it the absolute figure:
// goodput, or p50 of a round trip.
func vsRawText(r stat.Row) string {
	if r.Samples == 0 {
		return emptyWord(r)
	}
	absolute := results.FormatGoodput(r.Estimates["goodput"].Median)
	if r.Cell.Pattern == results.PatternRoundtrip {
		if l, ok := r.PrimaryLatency(); ok && l.P50NS != nil {
			absolute = "p50 " + results.FormatDuration(float64(*l.P50NS))
		}
	}
	switch {
	case r.Cell.Framing == results.FramingRaw:
		return "1 (" + absolute + ")"
	case r.ToRaw == nil:
		return absolute
	}
	return ratioText(r.ToRaw) + " (" + absolute + ")"
}

// machineLimits has the best figures of each machine and placement: raw goodput, and the shortest
// raw round trip.
func machineLimits(s *results.Set, rows []stat.Row) Table {
	t := Table{Title: "Limits of each machine", Columns: Columns("machine", "placement", ">best raw goodput", ">shortest raw round trip, p50")}
	raw := stat.Filter(rows, func(r stat.Row) bool { return r.Cell.Framing == results.FramingRaw })
	for _, alike := range stat.GroupBy(raw, func(r stat.Row) [2]string { return [2]string{r.Machine, r.Cell.Placement} }) {
		var most, least float64
		var goodput, trip string
		for _, r := range alike {
			at := " at " + fieldText(r.Cell, "size")
			if e := r.Estimates["goodput"]; r.Cell.Pattern != results.PatternRoundtrip && e.Median > most {
				most, goodput = e.Median, results.FormatGoodput(e.Median)+at
			}
			l, _ := r.PrimaryLatency()
			if r.Cell.Pattern == results.PatternRoundtrip && l.P50NS != nil && (least == 0 || float64(*l.P50NS) < least) {
				least = float64(*l.P50NS)
				trip = results.FormatDuration(least) + at
			}
		}
		if goodput+trip != "" {
			t.Append(s.MachineName(alike[0].Machine), alike[0].Cell.Placement, goodput, trip)
		}
	}
	return t
}
