package results

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// runsRead collects facts about the runs that are read. They show which runs ended early.
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

// endedEarly returns a problem for each run of the command pipebench run that has fewer
// measurements than another run with the same command line, version and kind of machine.
func (r *runsRead) endedEarly() []Problem {
	most := make(map[plan]int)
	for _, e := range r.environments {
		p := planOf(e)
		most[p] = max(most[p], r.cells[e.Run])
	}
	var short []Problem
	for _, e := range r.environments {
		all := most[planOf(e)]
		isRun := strings.HasPrefix(e.Command+" ", "pipebench run ")
		if !isRun || r.cells[e.Run] >= all {
			continue
		}
		short = append(short, Problem{
			Run: e.Run,
			What: fmt.Sprintf(
				"run %s of %s ended early: it has %d of the %d cells that others have",
				ShortID(e.Run), cmp.Or(e.Hostname, "a nameless machine"), r.cells[e.Run], all),
			Incomplete: true,
		})
	}
	return short
}

// ownFlag matches what may differ between machines that measure the same: where a command writes
// its records, and its labels.
var ownFlag = regexp.MustCompile(` (-o ?|--(out|label)[ =])('[^']*'|\S+)`)

// A plan holds what decides how many cells a run measures.
type plan struct{ command, version, os, topology string }

func planOf(e Environment) plan {
	command := ownFlag.ReplaceAllString(e.Command, "")
	return plan{command: command, version: e.Version, os: e.OS, topology: e.Topology}
}

// Incomplete reports whether measurements are missing. The set's Problems say which.
func (s *Set) Incomplete() bool {
	return slices.ContainsFunc(s.Problems, func(p Problem) bool { return p.Incomplete })
}
