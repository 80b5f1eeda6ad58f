package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// runsRead collects the runs that are read, to find the runs that differ from the others.
type runsRead struct {
	environments []Environment
	cells        map[string]int // number of cells by run
}

func (r *runsRead) add(line Line) {
	switch l := line.(type) {
	case Environment:
		r.environments = append(r.environments, l)
	case Record:
		r.cells[l.Run]++
	}
}

// endedEarly returns a problem for each run that has fewer cells than another run with the same
// plan. It looks only at runs of `pipebench run`. Other commands do not know in advance how many
// cells they measure.
func (r *runsRead) endedEarly() []Problem {
	most := make(map[plan]int)
	for _, e := range r.environments {
		p := planOf(e)
		most[p] = max(most[p], r.cells[e.Run])
	}
	var short []Problem
	for _, e := range r.environments {
		all := most[planOf(e)]
		if !strings.HasPrefix(e.Command, "pipebench run ") || r.cells[e.Run] >= all {
			continue
		}
		short = append(short, Problem{
			Runs: []string{e.Run},
			What: fmt.Sprintf(
				"run %s of %s ended early: it has %d of the %d cells that others have",
				ShortID(e.Run), cmp.Or(e.Hostname, namelessHost), r.cells[e.Run], all),
			Incomplete: true,
		})
	}
	return short
}

// A plan holds the facts that decide how many cells a run measures. For example, the topology
// decides which placements there are.
type plan struct{ command, version, os, topology string }

func planOf(e Environment) plan {
	return plan{command: e.Command, version: e.Version, os: e.OS, topology: e.Topology}
}

// Incomplete reports whether measurements are missing from the set. The set's Problems say which.
func (s *Set) Incomplete() bool {
	return slices.ContainsFunc(s.Problems, func(p Problem) bool { return p.Incomplete })
}
