package view

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// MachineTitle returns the name of a machine, "" if it is the only one of the set.
func MachineTitle(s *results.Set, id string) string {
	if len(s.Machines()) < 2 {
		return ""
	}
	return s.MachineName(id)
}

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

// headerLines is how many lines about machines a view begins with at most.
const headerLines = 6

// headers describe the machines.
func headers(s *results.Set) []string {
	var out []string
	for _, e := range FirstRuns(s) {
		name := MachineTitle(s, e.Machine)
		out = append(out, JoinParts(name, machineLine(e), "load "+loadText(e)))
	}
	if len(out) > headerLines {
		more := results.FormatCount(len(out)-headerLines+1, "machine")
		out = append(out[:headerLines-1], "and "+more+" more")
	}
	return out
}

// A machineField is one thing that is known of a machine, "" if it is not.
type machineField struct{ title, text string }

// machineFields returns what is known of a machine, in the order in which a page shows it.
func machineFields(e results.Environment) []machineField {
	var cpus, page, largest, measured, clock string
	if e.CPUs > 0 {
		cpus = strconv.Itoa(e.CPUs)
	}
	if e.PageSize > 0 {
		page = results.FormatSize(int64(e.PageSize))
	}
	if e.PipeMaxSize > 0 {
		largest = results.FormatSize(int64(e.PipeMaxSize))
	}
	if !e.Time.IsZero() {
		measured = e.Time.UTC().Format("2006-01-02 15:04 UTC")
	}
	if e.ClockNS >= 1e-3 {
		clock = results.FormatDuration(e.ClockNS) + " a reading"
	}
	return []machineField{
		{"host", e.Hostname},
		{"operating system", strings.TrimSpace(e.OS + " " + e.Kernel)},
		{"architecture", e.Arch},
		{"processor", e.CPU},
		{"CPUs", cpus},
		{"topology", e.Topology},
		{"page", page},
		{"largest pipe", largest},
		{"imitation", e.Imitation},
		{"virtualisation", e.Virtualisation},
		{"governor", e.Governor},
		{"measured", measured},
		{"load", loadText(e)},
		{"clock", clock},
		{"Go", e.Go},
		{"pipebench", e.Version},
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
