package view

import (
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

// machineValue shows the name of a machine, nothing if it is the only one.
func machineValue(s *results.Set, id string) Value { return textValue(MachineTitle(s, id)) }

// MachinesLine describes the only one of machines, or counts them.
func MachinesLine(machines []results.Environment) string {
	switch len(machines) {
	case 0:
		return ""
	case 1:
		return machineLine(machines[0])
	}
	return results.FormatCount(len(machines), "machine")
}

// machineLine describes a machine: "lab · Intel Xeon · 2 CPUs · linux 6.12 amd64 · kvm".
func machineLine(e results.Environment) string {
	cpus := ""
	if e.CPUs > 0 {
		cpus = results.FormatCount(e.CPUs, "CPU")
	}
	system := strings.Join(strings.Fields(e.OS+" "+e.Kernel+" "+e.Arch), " ")
	return JoinParts(e.Hostname, e.CPU, cpus, system, e.Imitation, e.Virtualisation)
}

// loadText is the load average before a run, "-" where the system does not tell.
func loadText(e results.Environment) string {
	if e.Load1 == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *e.Load1)
}

// FirstRuns returns the environment of the first run on each machine.
func FirstRuns(s *results.Set) []results.Environment {
	var out []results.Environment
	seen := make(map[string]bool)
	for _, e := range s.Environments {
		if !seen[e.Machine] {
			seen[e.Machine] = true
			out = append(out, e)
		}
	}
	return out
}

// headerLines is how many lines about environments a view begins with at most.
const headerLines = 6

// headers describe the environments, those that repeat themselves once: with detail the run too.
func headers(s *results.Set, o Options) []string {
	environments := FirstRuns(s)
	if o.Detail {
		environments = s.Environments
	}
	var out []string
	for _, e := range environments {
		name := MachineTitle(s, e.Machine)
		lines := []string{JoinParts(name, machineLine(e), "load "+loadText(e))}
		if o.Detail {
			lines = append(lines, runHeader(e))
		}
		for _, line := range lines {
			if !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
	}
	if len(out) > headerLines {
		more := fmt.Sprintf("and %d lines more: %d runs in all", len(out)-headerLines+1,
			len(environments))
		out = append(out[:headerLines-1], more)
	}
	return out
}

// runHeader describes a run.
func runHeader(e results.Environment) string {
	var version, at, pages, clock string
	if e.Version != "" {
		version = "pipebench " + e.Version
	}
	if !e.Time.IsZero() {
		at = e.Time.UTC().Format("2006-01-02 15:04 UTC")
	}
	if e.PageSize > 0 {
		pages = pagesText(e)
	}
	if e.ClockNS > 0 {
		clock = "clock " + results.FormatDuration(e.ClockNS) + " a reading"
	}
	return JoinParts(version, e.Go, at, e.Topology, pages, fmt.Sprintf("seed %d", e.Seed), clock)
}

// A machineField is what a page tells of a machine.
type machineField struct {
	title, text string
	varies      bool // between any two machines or runs: a comparison does not mention it
}

// machineFields are in the order of a page.
func machineFields(e results.Environment) []machineField {
	cpus, page, largest, clock := "", "", "", ""
	if e.CPUs > 0 {
		cpus = strconv.Itoa(e.CPUs)
	}
	if e.PageSize > 0 {
		page = results.FormatSize(int64(e.PageSize))
	}
	if e.PipeMaxSize > 0 {
		largest = results.FormatSize(int64(e.PipeMaxSize))
	}
	if e.ClockNS >= 1e-3 {
		clock = results.FormatDuration(e.ClockNS) + " a reading"
	}
	return []machineField{
		{title: "host", text: e.Hostname, varies: true},
		{title: "operating system", text: strings.TrimSpace(e.OS + " " + e.Kernel)},
		{title: "architecture", text: e.Arch},
		{title: "processor", text: e.CPU},
		{title: "CPUs", text: cpus},
		{title: "topology", text: e.Topology},
		{title: "page", text: page},
		{title: "largest pipe", text: largest},
		{title: "imitation", text: e.Imitation},
		{title: "virtualisation", text: e.Virtualisation},
		{title: "governor", text: e.Governor},
		{title: "load", text: loadText(e), varies: true},
		{title: "clock", text: clock, varies: true},
		{title: "Go", text: e.Go},
		{title: "pipebench", text: e.Version},
	}
}

// machineTable describes the machines of a set: a column each.
func machineTable(s *results.Set) Table {
	machines := FirstRuns(s)
	t := Table{Columns: []Column{{Key: true}}}
	for _, e := range machines {
		t.Columns = append(t.Columns, Column{Title: s.MachineName(e.Machine), Key: true})
	}
	for i, f := range machineFields(results.Environment{}) {
		row := []string{f.title}
		for _, e := range machines {
			row = append(row, machineFields(e)[i].text)
		}
		if strings.Join(row[1:], "") != "" {
			t.Append(row...)
		}
	}
	return t
}

// machinesDiffer says in what several machines differ: "CPUs (2; 8)".
func machinesDiffer(s *results.Set) string {
	machines := FirstRuns(s)
	var parts []string
	for i, f := range machineFields(results.Environment{}) {
		var values []string
		differ := false
		for _, e := range machines {
			text := orDash(machineFields(e)[i].text)
			differ = differ || len(values) > 0 && text != values[0]
			values = append(values, text)
		}
		if differ && !f.varies {
			parts = append(parts, f.title+" ("+strings.Join(values, "; ")+")")
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "The machines differ in " + strings.Join(parts, ", ") + "."
}

// machineComparison has a line for each cell of a pattern, and a column for each machine.
func machineComparison(s *results.Set, rows []stat.Row, pattern, title string) Table {
	var own []stat.Row
	var cells []results.Cell
	machines := make(map[results.Cell]int)
	for _, r := range rows {
		if r.Cell.Pattern == pattern {
			machines[r.Cell]++
		}
	}
	for _, r := range rows {
		if machines[r.Cell] > 1 {
			own = append(own, r)
			cells = append(cells, r.Cell)
		}
	}
	differ := results.DifferingFields(cells, "framing", "size", "pattern")
	return pivot{
		title: title,
		heads: cellHeads(differ),
		line: func(r stat.Row) []string {
			var texts []string
			for _, v := range cellValues(r, differ) {
				texts = append(texts, v.Text)
			}
			return texts
		},
		across: func(r stat.Row) string { return s.MachineName(r.Machine) },
		value:  func(r stat.Row) Value { return textValue(vsRawText(r)) },
	}.table(own)
}

// vsRawText is a cell relative to raw on the same machine, and behind it the absolute figure:
// goodput, or p50 of a round trip.
func vsRawText(r stat.Row) string {
	if r.Samples == 0 {
		return emptyWord(r)
	}
	absolute := goodputText(r)
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
