package rules

import (
	"slices"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe/probe"
)

// Record is a finding as the results file keeps it.
func Record(run string, f probe.Finding) results.Probe {
	return results.Probe{
		Kind: results.KindProbe, Run: run, Time: time.Now().UTC(),
		Pipe: string(f.Pipe), Step: f.Step, Value: f.Value, Unit: f.Unit,
		How: f.How, Documented: f.Documented, Agrees: f.Agrees,
	}
}

// Of is the part of a set that holds one run's findings on pipes.
func Of(set *results.Set, run string) *results.Set {
	part := &results.Set{Problems: set.Problems}
	for _, e := range set.Environments {
		if e.Run == run {
			part.Environments = append(part.Environments, e)
		}
	}
	for _, p := range set.Probes {
		if p.Run == run && p.Pipe != "" {
			part.Probes = append(part.Probes, p)
		}
	}
	return part
}

// Failed reports whether no experiment of the set came to a result.
func Failed(set *results.Set) bool {
	return !slices.ContainsFunc(set.Probes, func(p results.Probe) bool { return p.Value != "hangs" && p.Value != "fails" })
}

// pipes are the kinds of pipe of the probes, in their order.
func pipes(probes []results.Probe) []string {
	var kinds []string
	for _, p := range probes {
		if !slices.Contains(kinds, p.Pipe) {
			kinds = append(kinds, p.Pipe)
		}
	}
	return kinds
}
