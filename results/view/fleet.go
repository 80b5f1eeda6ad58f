package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// FleetSections lists what a page says about several machines: which of them differ and in what,
// which stand out and why, on which something went wrong, and on which answers they disagree. The
// full figures of each machine are on its own page.
func FleetSections(members []stat.Member) []Section {
	if isEmptyFleet(members) {
		return nil
	}
	outliers := stat.FleetOutliers(members)
	all := []Section{
		differenceSection(members),
		outlierSection(members, outliers),
		troubleSection(members),
	}
	for _, a := range areas {
		all = append(all, answerSection(members, a.area, a.title))
	}
	all = append(all,
		answerSection(members, stat.AreaServer, "How servers turned out"),
		spreadSection(members),
		memberSection(members))
	answer := Section{ID: "answer", Title: fleetTitle(members, outliers)}
	var shown []Section
	for _, s := range all {
		if s.ID != "machine-findings" { // it says why figures differ, and is asked for that
			answer.Lead = append(answer.Lead, s.Lead...)
		}
		s.Lead = nil
		s.Tables = slices.DeleteFunc(s.Tables, func(t Table) bool { return !t.hasRows() })
		if len(s.Tables) > 0 && s.ID != "machine-findings" {
			shown = append(shown, s)
		}
	}
	answer.Lead = nonEmpty(answer.Lead)
	answer.Notes = []string{"Everything about one machine: pipebench report FILE... --where " +
		"hostname=NAME, or any other condition on its environment or labels."}
	return append([]Section{answer}, shown...)
}

// fleetAnswer sums up the machines of a set in sentences.
func fleetAnswer(s *results.Set) []string {
	sections := FleetSections(stat.FleetOf(s).Members())
	if len(sections) == 0 {
		return nil
	}
	return sections[0].Lead
}

// isEmptyFleet reports whether nothing was measured or found.
func isEmptyFleet(members []stat.Member) bool {
	return !slices.ContainsFunc(members, func(m stat.Member) bool {
		return m.Cells+len(m.Answers)+m.Messages > 0
	})
}

// fleetTitle says how many machines there are, how many of them stand out, and on how many a
// measurement failed.
func fleetTitle(members []stat.Member, outliers []stat.Outlier) string {
	title := results.FormatCount(len(members), "machine")
	switch len(outliers) {
	case 0:
	case 1:
		title += ", 1 stands out"
	default:
		title += fmt.Sprintf(", %d stand out", len(outliers))
	}
	failed := 0
	for _, m := range members {
		if len(failuresOf(m)) > 0 {
			failed++
		}
	}
	if failed > 0 {
		title += fmt.Sprintf(", a measurement failed on %d", failed)
	}
	return title
}

// FleetLead says how many machines there are, of how many runs, and when they ran.
func FleetLead(members []stat.Member) string {
	var days []string
	runs := 0
	for _, m := range members {
		for _, e := range m.Runs {
			runs++
			days = append(days, dayOf(e)...)
		}
	}
	return JoinParts(results.FormatCount(len(members), "machine"),
		results.FormatCount(runs, "run"), daysText(days))
}

// WriteFleet writes for people what several machines measured and found, as text or markdown.
func WriteFleet(w io.Writer, members []stat.Member, format Format, o Options) error {
	sections := FleetSections(members)
	if len(sections) == 0 {
		return ErrNothing
	}
	answer := sections[0]
	p := Page{Header: []string{FleetLead(members)}, Answer: answer.Lead}
	for _, s := range sections[1:] {
		if s.Folded && !o.Detail {
			continue
		}
		for _, t := range s.Tables {
			t.Title = cmp.Or(t.Title, s.Title)
			p.Tables = append(p.Tables, t)
		}
		p.Notes = append(p.Notes, s.Notes...)
	}
	p.Notes = append(p.Notes, answer.Notes...)
	return p.Write(w, format, o)
}

// A factor is a property of machines, such as the kernel, on which figures may depend.
type factor struct {
	name string
	of   func(e results.Environment) string
}

// factors are those by which machines are grouped.
var factors = []factor{
	{"imitation", func(e results.Environment) string { return cmp.Or(e.Imitation, "none") }},
	{"kernel", func(e results.Environment) string {
		return strings.TrimSpace(e.OS + " " + kernelSeries(e.Kernel))
	}},
	{"processor", func(e results.Environment) string {
		return strings.TrimSpace(e.Arch + " " + e.CPU)
	}},
	{"virtualisation", func(e results.Environment) string {
		return cmp.Or(e.Virtualisation, "none")
	}},
	{"page size", func(e results.Environment) string {
		return results.FormatSize(int64(e.PageSize))
	}},
	{"CPUs", func(e results.Environment) string { return fmt.Sprint(e.CPUs) }},
	{"largest pipe", func(e results.Environment) string {
		return results.FormatSize(int64(e.PipeMaxSize))
	}},
	{"governor", func(e results.Environment) string { return cmp.Or(e.Governor, "unknown") }},
}

// kernelSeries returns the first two numbers of a kernel's version: "6.1" of "6.1.0-50-amd64".
func kernelSeries(version string) string {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return version
	}
	return parts[0] + "." + parts[1]
}

// A group is machines with the same value of a factor.
type group struct {
	title   string
	members []stat.Member
}

// groupsBy groups members by a factor, the largest group first.
func groupsBy(members []stat.Member, f factor) []group {
	var groups []group
	for _, alike := range grouped(members, func(m stat.Member) string {
		return f.of(m.Environment())
	}) {
		groups = append(groups, group{f.of(alike[0].Environment()), alike})
	}
	slices.SortStableFunc(groups, func(a, b group) int {
		return len(b.members) - len(a.members)
	})
	return groups
}

// FewMachines is up to how many machines a table has a line per machine.
const FewMachines = 6

// mostGroups is how many groups of machines a table has.
const mostGroups = 12

// differenceSection says in what machines differ. A few machines have a line each, with the ratio
// to raw of each framing. Many machines are grouped, in a table for each factor on which the ratios
// depend.
func differenceSection(members []stat.Member) Section {
	out := Section{ID: "differences", Title: "Which machines differ, and in what"}
	views := fleetCells(members)
	if len(views) == 0 {
		return out
	}
	first := views[0]
	measured := first.measured(members)
	if len(measured) < len(members) {
		out.Lead = append(out.Lead, fmt.Sprintf("%d of %d machines measured how framings "+
			"compare with raw.", len(measured), len(members)))
	}
	out.Lead = append(out.Lead, first.sentence(measured))
	if len(measured) <= FewMachines {
		for _, v := range views {
			shown := v.measured(members)
			if len(members) <= FewMachines {
				shown = members
			}
			var each []group
			for _, m := range shown {
				each = append(each, group{m.Name, []stat.Member{m}})
			}
			out.Tables = append(out.Tables, v.table("machine", each))
		}
		out.Lead = append(out.Lead, membersDiffer(measured))
	} else {
		tables, sentence := first.byFactors(measured)
		out.Tables = tables
		out.Lead = append(out.Lead, sentence)
	}
	out.Lead = nonEmpty(out.Lead)
	out.Notes = []string{"Shares of the goodput of raw messages of the same size on the same " +
		"machine. In a group of several machines: the median, and 10 to 90 of 100 of them."}
	return out
}

// fleetCellsAt are the streams of one placement and message size, which many machines measured.
type fleetCellsAt struct {
	cell     results.Cell // without the framing
	framings []string
}

// fleetCells picks, for each placement, the streams that most machines measured, at the message
// size nearest to the usual capacity of a pipe.
func fleetCells(members []stat.Member) []fleetCellsAt {
	count := make(map[results.Cell]int)
	framings := make(map[results.Cell][]string)
	var order []results.Cell
	for _, m := range members {
		for _, f := range m.Figures {
			c := f.Cell
			c.Framing = ""
			isProgram := c.Source != "" || c.Touch || c.Work != 0 // not a bare transport
			if f.ToRaw.Interval == nil || c.Pattern != patternStream || isProgram ||
				c.WriteSize != 0 {
				continue
			}
			if count[c] == 0 {
				order = append(order, c)
			}
			count[c]++
			if !slices.Contains(framings[c], f.Cell.Framing) {
				framings[c] = append(framings[c], f.Cell.Framing)
			}
		}
	}
	best := make(map[string]results.Cell)
	for _, c := range order {
		other, known := best[c.Placement]
		better := count[c] > count[other]
		if count[c] == count[other] {
			better = sizeDistance(c.Size) < sizeDistance(other.Size)
		}
		if !known || better {
			best[c.Placement] = c
		}
	}
	var out []fleetCellsAt
	for _, p := range placements {
		if c, known := best[p.name]; known {
			out = append(out, fleetCellsAt{c, framings[c]})
		}
	}
	return out
}

// measured returns the members on which at least one framing has a ratio to raw.
func (v fleetCellsAt) measured(members []stat.Member) []stat.Member {
	return slices.DeleteFunc(slices.Clone(members), func(m stat.Member) bool {
		return !slices.ContainsFunc(v.framings, func(framing string) bool {
			return len(v.shares([]stat.Member{m}, framing)) > 0
		})
	})
}

// shares returns the ratios to raw of a framing on members, one for each.
func (v fleetCellsAt) shares(members []stat.Member, framing string) []stat.Estimate {
	cell := v.cell
	cell.Framing = framing
	var all []stat.Estimate
	for _, m := range members {
		for _, f := range m.Figures {
			if f.Cell == cell && f.ToRaw.Interval != nil {
				all = append(all, f.ToRaw)
			}
		}
	}
	return all
}

func mediansOf(all []stat.Estimate) []float64 {
	var out []float64
	for _, e := range all {
		out = append(out, e.Median)
	}
	return out
}

// sentence says what share of raw's goodput framings keep on the machines.
func (v fleetCellsAt) sentence(members []stat.Member) string {
	var parts []string
	for _, framing := range v.framings {
		s := stat.SpreadOf(mediansOf(v.shares(members, framing)))
		parts = append(parts, framingPhrase(framing)+" "+percentRange(s.P10, s.P90))
	}
	where := ""
	if len(members) > 1 {
		where = " on most machines"
	}
	return fmt.Sprintf("Messages of %s, %s: framings keep this much of raw's goodput%s: %s.",
		sizeTitle(v.cell.Size), PlacementPhrase(v.cell.Placement), where, joinAnd(parts))
}

// percentRange writes two shares as percent: "88 to 92 %".
func percentRange(low, high float64) string {
	a := fmt.Sprintf("%.0f", 100*low)
	b := fmt.Sprintf("%.0f", 100*high)
	if a == b {
		return a + " %"
	}
	return a + " to " + b + " %"
}

// table has a line for each group of machines, and a column for each framing.
func (v fleetCellsAt) table(by string, groups []group) Table {
	t := Table{
		Title: fmt.Sprintf("Goodput vs raw by %s, messages of %s, %s", by,
			sizeTitle(v.cell.Size), shortPlacement(v.cell.Placement)),
		Columns: []Column{{Title: by, Key: true}},
	}
	counted := slices.ContainsFunc(groups, func(g group) bool { return len(g.members) > 1 })
	if counted {
		t.Columns = append(t.Columns, Column{Title: "machines", Right: true, Key: true})
	}
	t.Columns = append(t.Columns, Column{Title: "raw", Right: true})
	for i, framing := range v.framings {
		t.Columns = append(t.Columns, Column{Title: framing, Right: true, Key: i == 0})
	}
	for i, g := range groups {
		if i == mostGroups {
			t.Title += fmt.Sprintf(" (the largest %d of %d groups)", mostGroups, len(groups))
			break
		}
		row := []Value{textValue(g.title)}
		if counted {
			row = append(row, countValue(int64(len(g.members))))
		}
		row = append(row, rawValue(g.members, v.cell))
		for _, framing := range v.framings {
			row = append(row, sharesValue(v.shares(g.members, framing)))
		}
		t.AppendValues(row...)
	}
	return t
}

// rawValue is the goodput of raw messages: the median of several machines.
func rawValue(members []stat.Member, cell results.Cell) Value {
	cell.Framing = results.FramingRaw
	var values []float64
	for _, m := range members {
		for _, f := range m.Figures {
			if f.Cell == cell {
				values = append(values, f.Speed.Median)
			}
		}
	}
	if len(values) == 0 {
		return Value{}
	}
	median := stat.SpreadOf(values).Median
	return figureValue(median, results.FormatGoodput(median))
}

// sharesValue shows the share on one machine with its interval, or the median of several machines
// with its range.
func sharesValue(all []stat.Estimate) Value {
	switch len(all) {
	case 0:
		return Value{}
	case 1:
		return figureValue(all[0].Median, ratioText(&all[0]))
	}
	s := stat.SpreadOf(mediansOf(all))
	text := fmt.Sprintf("%.2f (%.2f–%.2f)", s.Median, s.P10, s.P90)
	return figureValue(s.Median, text)
}

// byFactors makes a table for each factor on which the ratios depend, and names the factor with the
// largest differences.
func (v fleetCellsAt) byFactors(members []stat.Member) (tables []Table, sentence string) {
	most := 1.0
	for _, f := range factors {
		groups := groupsBy(members, f)
		if len(groups) < 2 || len(groups) == len(members) {
			continue
		}
		differs := false
		for _, framing := range v.framings {
			low, high, beyondChance := v.extremes(groups, framing)
			differs = differs || beyondChance
			if !beyondChance || high.share/low.share <= most {
				continue
			}
			most = high.share / low.share
			sentence = fmt.Sprintf("They differ most by %s: %s keeps %.0f %% with %s and "+
				"%.0f %% with %s.", f.name, framingPhrase(framing), 100*high.share,
				high.title, 100*low.share, low.title)
		}
		if differs {
			tables = append(tables, v.table(f.name, groups))
		}
	}
	if len(tables) == 0 {
		everyone := []group{{"all", members}}
		tables = append(tables, v.table("machine", everyone))
		sentence = "No kernel, processor or other property of the machines goes with a " +
			"difference beyond chance."
	}
	return tables, sentence
}

// An extreme is the group with the smallest or the largest share.
type extreme struct {
	title string
	share float64
}

// extremes finds the groups with the smallest and the largest share, and whether the groups differ
// beyond chance.
func (v fleetCellsAt) extremes(groups []group, framing string) (low, high extreme, differ bool) {
	var values [][]float64
	for _, g := range groups {
		medians := mediansOf(v.shares(g.members, framing))
		if len(medians) == 0 {
			continue
		}
		share := stat.SpreadOf(medians).Median
		if len(values) == 0 || share < low.share {
			low = extreme{g.title, share}
		}
		if len(values) == 0 || share > high.share {
			high = extreme{g.title, share}
		}
		values = append(values, medians)
	}
	return low, high, stat.Differ(values)
}

// membersDiffer says in what a few machines differ: "CPUs (2; 8)".
func membersDiffer(members []stat.Member) string {
	var parts []string
	for _, f := range factors {
		var values []string
		for _, m := range members {
			values = append(values, f.of(m.Environment()))
		}
		if len(slices.Compact(slices.Clone(values))) > 1 {
			parts = append(parts, f.name+" ("+strings.Join(values, "; ")+")")
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "The machines differ in " + strings.Join(parts, ", ") + "."
}

// spreadSection has every cell, with its figure over all machines.
func spreadSection(members []stat.Member) Section {
	out := Section{ID: "cells", Title: "Every cell over all machines", Folded: true}
	type entry struct {
		name  string
		value float64
	}
	var order []results.Cell
	entries := make(map[results.Cell][]entry)
	for _, m := range members {
		for _, f := range m.Figures {
			e := f.ToRaw
			if f.Cell.Framing == results.FramingRaw || e.N == 0 {
				continue
			}
			if entries[f.Cell] == nil {
				order = append(order, f.Cell)
			}
			entries[f.Cell] = append(entries[f.Cell], entry{m.Name, e.Median})
		}
	}
	differ := results.DifferingFields(order, "framing", "size")
	t := Table{Columns: append(cellHeads(differ),
		Column{Title: "machines", Right: true},
		Column{Title: "vs raw", Right: true},
		Column{Title: "10 %", Right: true},
		Column{Title: "90 %", Right: true},
		Column{Title: "least", Right: true},
		Column{Title: "on"},
		Column{Title: "most", Right: true},
		Column{Title: "on"})}
	for _, cell := range order {
		all := entries[cell]
		slices.SortStableFunc(all, func(a, b entry) int {
			return cmp.Compare(a.value, b.value)
		})
		var values []float64
		for _, e := range all {
			values = append(values, e.value)
		}
		s := stat.SpreadOf(values)
		row := cellValues(stat.Row{Cell: cell}, differ)
		row = append(row, countValue(int64(len(all))))
		for _, share := range []float64{s.Median, s.P10, s.P90} {
			row = append(row, shareValue(share))
		}
		least, most := all[0], all[len(all)-1]
		row = append(row, shareValue(least.value), textValue(least.name),
			shareValue(most.value), textValue(most.name))
		t.AppendValues(row...)
	}
	out.Tables = []Table{t}
	return out
}

func shareValue(v float64) Value { return figureValue(v, fmt.Sprintf("%.2f", v)) }

// memberSection describes the machines, a line each. It leaves out what all have in common.
func memberSection(members []stat.Member) Section {
	about := Section{ID: "machines", Title: "The machines", Folded: true}
	t := Table{Columns: []Column{{Title: "machine", Key: true}, {Title: "runs", Right: true}}}
	fields := machineFields(results.Environment{})
	for _, f := range fields {
		t.Columns = append(t.Columns, Column{Title: f.title})
	}
	for _, m := range members {
		row := []string{m.Name, fmt.Sprint(len(m.Runs))}
		for _, f := range machineFields(m.Environment()) {
			row = append(row, f.text)
		}
		t.Append(row...)
	}
	about.Tables = []Table{t.dropEmpty()}
	return about
}
