package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// headerLines is how many lines about environments a view begins with at most.
const headerLines = 6

// headers are the environments, a line for the machine and one for the run, and
// those that repeat themselves once. Of several machines each is given the name
// that tables and sentences have for it.
func headers(environments []results.Environment) []string {
	several := slices.ContainsFunc(environments, func(e results.Environment) bool { return e.Machine != environments[0].Machine })
	var out []string
	for _, e := range environments {
		lines := environmentLines(e)
		if several {
			lines[0] = joinParts("machine "+results.ShortID(e.Machine), e.Hostname, lines[0])
		}
		for _, line := range lines {
			if !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
	}
	if len(out) > headerLines {
		more := fmt.Sprintf("and %d lines more: %d runs in all", len(out)-headerLines+1, len(environments))
		out = append(out[:headerLines-1], more)
	}
	return out
}

// lines describe where a run was measured and with what. What the file does
// not tell is left out.
func environmentLines(e results.Environment) []string {
	machine := []string{
		strings.Join(strings.Fields(e.OS+" "+e.Kernel+" "+e.Arch), " "),
		e.CPU,
		results.FormatCount(e.CPUs, "CPU"),
		e.Topology,
		labelled("virtualised by ", e.Virtualisation),
		labelled("governor ", e.Governor),
	}
	if e.PageSize > 0 {
		machine = append(machine, "pages of "+results.FormatSize(int64(e.PageSize)))
	}
	run := []string{labelled("pipebench ", e.Version), e.Go, e.Hostname}
	if !e.Time.IsZero() {
		run = append(run, e.Time.UTC().Format("2006-01-02 15:04 UTC"))
	}
	run = append(run, fmt.Sprintf("load %.2f", e.Load1), fmt.Sprintf("seed %d", e.Seed))
	if e.ClockNS > 0 {
		run = append(run, "clock "+results.FormatDuration(e.ClockNS)+" a reading")
	}
	return []string{joinParts(machine...), joinParts(run...)}
}

func labelled(label, value string) string {
	if value == "" {
		return ""
	}
	return label + value
}

// joinParts joins the parts that are not empty.
func joinParts(parts ...string) string {
	return strings.Join(stat.Filter(parts, func(s string) bool { return s != "" }), " · ")
}
