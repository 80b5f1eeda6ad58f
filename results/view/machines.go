package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// MachineTitle returns the name of a machine, "" if it is the only one of the set.
func MachineTitle(s *results.Set, id string) string {
	if len(s.Machines()) < 2 {
		return ""
	}
	return s.MachineName(id)
}

// machineCell shows the name of a machine, nothing if it is the only one.
func machineCell(s *results.Set, id string) Cell { return textCell(MachineTitle(s, id)) }

// onMachines is what machines found of the same thing.
type onMachines[L any] struct {
	first L            // of the machine that is listed first
	on    map[string]L // by machine
}

// texts lists what the machines have, each text once and none that is empty.
func (m onMachines[L]) texts(machines []string, of func(L) string) []string {
	var out []string
	for _, id := range machines {
		if l, ok := m.on[id]; ok {
			out = append(out, of(l))
		}
	}
	return stat.Distinct(nonEmpty(out), stat.Itself)
}

// foundOn has a column for each machine with what it found, under a head that names it.
func foundOn[L any](machines []string, head func(id string) string, cell func(L) Cell) []columnOf[onMachines[L]] {
	return stat.Map(machines, func(id string) columnOf[onMachines[L]] {
		return columnOf[onMachines[L]]{head(id), func(found onMachines[L]) Cell {
			l, ok := found.on[id]
			return when(ok, cell(l))
		}}
	})
}

// byMachine lays out what each machine found of the same thing in a row. What a machine found more
// than once has a row each time.
func byMachine[L results.Line](s *results.Set, lines []L, key func(L) string) []onMachines[L] {
	var rows []onMachines[L]
	at, times := map[string]int{}, map[string]int{}
	for _, l := range lines {
		machine := s.Machine(results.RunOf(l))
		id := fmt.Sprintf("%s %d", key(l), times[machine+key(l)])
		times[machine+key(l)]++
		if _, ok := at[id]; !ok {
			at[id] = len(rows)
			rows = append(rows, onMachines[L]{l, map[string]L{}})
		}
		rows[at[id]].on[machine] = l
	}
	return rows
}

// FirstRuns returns the environment of the first run on each machine.
func FirstRuns(s *results.Set) []results.Environment {
	byMachine := stat.GroupBy(s.Environments, func(e results.Environment) string { return e.Machine })
	return stat.Map(byMachine, func(runs []results.Environment) results.Environment { return runs[0] })
}

// machineTable compares the machines: a column each.
func machineTable(s *results.Set) Table {
	machines := FirstRuns(s)
	columns := []columnOf[machineField]{{"", func(f machineField) Cell { return textCell(f.title) }}}
	for _, e := range machines {
		value := func(f machineField) Cell { return textCell(f.of(e)) }
		columns = append(columns, columnOf[machineField]{s.MachineName(e.Machine), value})
	}
	return tableOf("", stat.Filter(machineFields, func(f machineField) bool {
		return slices.ContainsFunc(machines, func(e results.Environment) bool { return f.of(e) != "" })
	}), columns...)
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

// A machineField is what a page tells of a machine.
type machineField struct {
	title string
	of    func(results.Environment) string
}

// machineFields are in the order of a page.
var machineFields = []machineField{
	{"host", func(e results.Environment) string { return e.Hostname }},
	{"operating system", func(e results.Environment) string { return strings.TrimSpace(e.OS + " " + e.Kernel) }},
	{"architecture", func(e results.Environment) string { return e.Arch }},
	{"processor", func(e results.Environment) string { return e.CPU }},
	{"CPUs", func(e results.Environment) string { return when(e.CPUs > 0, strconv.Itoa(e.CPUs)) }},
	{"topology", func(e results.Environment) string { return e.Topology }},
	{"page", func(e results.Environment) string { return when(e.PageSize > 0, results.FormatSize(int64(e.PageSize))) }},
	{"largest pipe", func(e results.Environment) string {
		return when(e.PipeMaxSize > 0, results.FormatSize(int64(e.PipeMaxSize)))
	}},
	{"imitation", func(e results.Environment) string { return e.Imitation }},
	{"virtualisation", func(e results.Environment) string { return e.Virtualisation }},
	{"governor", func(e results.Environment) string { return e.Governor }},
	{"load", loadText},
	{"clock", func(e results.Environment) string {
		return when(e.ClockNS >= 1e-3, results.FormatDuration(e.ClockNS)+" a reading")
	}},
	{"Go", func(e results.Environment) string { return e.Go }},
	{"pipebench", func(e results.Environment) string { return e.Version }},
}

// loadText is the load average before a run, "-" where the system does not tell.
func loadText(e results.Environment) string {
	if e.Load1 == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *e.Load1)
}

// machineComparison has a row for each cell of a pattern that at least two machines measured.
func machineComparison(s *results.Set, rows []stat.Row, pattern, title string) Table {
	type alike = []stat.Row
	rows = stat.Filter(rows, func(r stat.Row) bool { return r.Cell.Pattern == pattern })
	differ := results.DifferingFields(stat.Distinct(rows, cellOf), "framing", "size", "pattern")
	columns := cellColumns(differ, nil, func(measured alike) stat.Row { return measured[0] })
	for _, id := range s.Machines() {
		columns = append(columns, columnOf[alike]{">" + s.MachineName(id), func(measured alike) Cell {
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
