package abtest

import (
	"fmt"
	"time"

	"github.com/pipebench/pipebench/results"
)

// Read makes pairs again of the two files that [Run] left. Files whose runs do
// not alternate in time are an error: they are no pairs. A last run without its
// partner, of a Run that was stopped, is left out.
func Read(oldPath, newPath string) (before, after []*results.Set, err error) {
	old, err := readRuns(oldPath)
	if err != nil {
		return nil, nil, err
	}
	new, err := readRuns(newPath)
	if err != nil {
		return nil, nil, err
	}
	n := min(len(old), len(new))
	if n == 0 || max(len(old), len(new)) > n+1 {
		return nil, nil, fmt.Errorf("%s has %d runs and %s has %d: these are no pairs", oldPath, len(old), newPath, len(new))
	}
	for i := range n - 1 {
		if !later(began(old[i+1]), began(old[i]), began(new[i])) || !later(began(new[i+1]), began(old[i]), began(new[i])) {
			return nil, nil, fmt.Errorf("run %d of %s and of %s were not measured next to each other: these are no interleaved pairs", i+1, oldPath, newPath)
		}
	}
	return old[:n], new[:n], nil
}

func began(s *results.Set) time.Time { return s.Environments[0].Time }

func later(t time.Time, than ...time.Time) bool {
	for _, o := range than {
		if !t.After(o) {
			return false
		}
	}
	return true
}

// readRuns reads a file as a set a run.
func readRuns(path string) ([]*results.Set, error) {
	all, err := results.Read(path)
	if err != nil {
		return nil, err
	}
	var sets []*results.Set
	at := make(map[string]*results.Set)
	for _, e := range all.Environments {
		at[e.Run] = &results.Set{Environments: []results.Environment{e}}
		sets = append(sets, at[e.Run])
	}
	for _, rec := range all.Records {
		if set := at[rec.Run]; set != nil {
			set.Add(rec)
		}
	}
	if len(sets) > 0 {
		sets[0].Problems = all.Problems
	}
	return sets, nil
}
