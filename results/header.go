package results

import (
	"fmt"
	"slices"
	"strings"
)

// headers are the environments in two lines each, one that repeats itself but
// for time and run once.
func headers(environments []Environment) []string {
	var out []string
	for _, e := range environments {
		for _, line := range e.lines() {
			if !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
	}
	return out
}

// lines describe where a run was measured and with what.
func (e Environment) lines() []string {
	machine := []string{
		strings.TrimSpace(e.OS + " " + e.Kernel + " " + e.Arch),
		e.CPU,
		fmt.Sprintf("%d CPUs", e.CPUs),
		e.Topology,
		labelled("virtualised by ", e.Virtualisation),
		labelled("governor ", e.Governor),
		fmt.Sprintf("pages of %s", FormatSize(int64(e.PageSize))),
	}
	run := []string{
		labelled("pipebench ", e.Version),
		e.Go,
		e.Hostname,
		e.Time.UTC().Format("2006-01-02 15:04 UTC"),
		fmt.Sprintf("load %.2f", e.Load1),
		fmt.Sprintf("seed %d", e.Seed),
	}
	if e.ClockNS > 0 {
		run = append(run, "clock "+FormatDuration(e.ClockNS)+" a reading")
	}
	return []string{joined(machine), joined(run)}
}

func labelled(label, value string) string {
	if value == "" {
		return ""
	}
	return label + value
}

func joined(parts []string) string {
	return strings.Join(filter(parts, func(s string) bool { return s != "" }), " · ")
}
