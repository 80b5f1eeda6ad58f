package results

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// ofAnotherTime returns problems for runs that began at least an hour earlier or later than most
// other runs of the same command, for example because a clock is wrong.
func (r *runsRead) ofAnotherTime() []Problem {
	byCommand := make(map[string][]Environment)
	for _, e := range r.environments {
		command := planOf(e).command
		byCommand[command] = append(byCommand[command], e)
	}
	delete(byCommand, "") // not known
	var problems []Problem
	for _, command := range slices.Sorted(maps.Keys(byCommand)) {
		problems = append(problems, strayRunsOf(byCommand[command])...)
	}
	return problems
}

// strayRunsOf returns a problem that names the runs that began at least an hour earlier or later
// than the middle run. If too few runs began around the same time, it returns nil.
func strayRunsOf(runs []Environment) []Problem {
	slices.SortStableFunc(runs, func(a, b Environment) int { return a.Time.Compare(b.Time) })
	usual := runs[len(runs)/2].Time
	hosts := make(map[string]bool)
	var stray []Environment
	for _, e := range runs {
		if e.Time.Sub(usual).Abs() < time.Hour {
			hosts[e.Hostname] = true
		} else {
			stray = append(stray, e)
		}
	}
	stray = slices.DeleteFunc(stray, func(e Environment) bool {
		return hosts[e.Hostname] // its run at another time says nothing about its clock
	})
	mostTogether := 4*len(stray) <= len(runs) && len(hosts) >= 3
	if len(stray) == 0 || !mostTogether {
		return nil
	}
	const minute = "2006-01-02 15:04"
	first := stray[0]
	what := fmt.Sprintf("by its clock, run %s of %s began at %s, and %d others of its command "+
		"around %s", ShortID(first.Run), cmp.Or(first.Hostname, namelessHost),
		first.Time.UTC().Format(minute), len(runs)-len(stray), usual.UTC().Format(minute))
	var names []string
	for _, e := range stray {
		names = append(names, e.Run)
	}
	return []Problem{{Runs: names, What: what, More: len(stray) - 1}}
}

const namelessHost = "a machine without a name"
