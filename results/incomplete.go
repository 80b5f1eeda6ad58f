package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// runsRead remembers the runs that are read, to tell which of them are unlike the others.
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

// endedEarly returns a problem for each run that has fewer cells than another run of the same
// command on the same kind of system. It looks only at runs of `pipebench run`, because other
// commands do not know beforehand how many cells they measure.
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

// A plan is what decides how many cells a run has. The topology belongs to it, because it decides
// which placements there are.
type plan struct{ command, version, os, topology string }

func planOf(e Environment) plan {
	return plan{command: e.Command, version: e.Version, os: e.OS, topology: e.Topology}
}

// Incomplete reports whether measurements are missing from the set. The set's Problems say which.
func (s *Set) Incomplete() bool {
	return slices.ContainsFunc(s.Problems, func(p Problem) bool { return p.Incomplete })
}
