package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// machineTitle returns the name of a machine, or "" if all results of the set are from one machine.
func machineTitle(s *results.Set, id string) string {
	if len(s.Machines()) < 2 {
		return ""
	}
	return cmp.Or(results.MachineNames(s.Environments)[id], "unknown")
}

// MachineLine describes the machine of the set's first run in one line. It returns "" if the set
// has no run.
func MachineLine(s *results.Set) string {
	if len(s.Environments) == 0 {
		return ""
	}
	return machineLine(s.Environments[0])
}

// machineLine describes a machine in one line: "lab · Intel Xeon · 2 CPUs · linux 6.12 amd64 ·
// kvm".
func machineLine(e results.Environment) string {
	cpus := ""
	if e.CPUs > 0 {
		cpus = results.FormatCount(e.CPUs, "CPU")
	}
	system := strings.Join(strings.Fields(e.OS+" "+e.Kernel+" "+e.Arch), " ")
	return JoinParts(e.Hostname, e.CPU, cpus, system, e.Imitation, e.Virtualisation)
}

// loadText returns the range of the load averages before runs, or "-" if no system tells it.
func loadText(runs ...results.Environment) string {
	var loads []float64
	for _, e := range runs {
		if e.Load1 != nil {
			loads = append(loads, *e.Load1)
		}
	}
	if len(loads) == 0 {
		return "-"
	}
	return FromTo(fmt.Sprintf("%.2f", slices.Min(loads)), fmt.Sprintf("%.2f", slices.Max(loads)))
}

// header returns the first line of a view. It describes the machine and gives its load before the
// runs. It counts several runs, and says from which days they are and whether they are pooled.
func header(s *results.Set, rows []stat.Row) []string {
	if len(s.Environments) == 0 {
		return nil
	}
	e := s.Environments[0]
	runs := ""
	if len(s.Environments) > 1 {
		runs = runsText(s.Environments)
	}
	pooled := ""
	if slices.ContainsFunc(rows, func(r stat.Row) bool { return len(r.Runs) > 1 }) {
		pooled = "figures pooled over runs"
	}
	load := "load " + loadText(s.Environments...)
	return []string{JoinParts(machineLine(e), runs, pooled, load)}
}

// labelsText lists the labels of a run: "rack=a site=desk".
func labelsText(e results.Environment) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(e.Labels)) {
		parts = append(parts, key+"="+e.Labels[key])
	}
	return strings.Join(parts, " ")
}

// A machineField is one property of a machine. The text is "" if the property is not known.
type machineField struct{ title, text string }

// machineFields lists the properties of a machine, in the order in which a page shows them.
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
	if e.ClockNS >= 1e-3 { // a smaller figure means that it is not known
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
		{"labels", labelsText(e)},
		{"measured", measured},
		{"load", loadText(e)},
		{"clock", clock},
		{"Go", e.Go},
		{"pipebench", e.Version},
	}
}
