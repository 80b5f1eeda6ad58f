package view

import (
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A Summary is what the records of a set say, figure by figure and in words:
// the one view that all formats show.
type Summary struct {
	Environments []results.Environment `json:"environments"`
	Rows         []stat.Row            `json:"rows"`
	Meaning      []string              `json:"meaning,omitempty"` // what it means for the person, in plain sentences
	Notes        []string              `json:"notes,omitempty"`   // what has to be known to read the figures

	// Warnings are those that every measured row has, of which there are two at
	// least. The rows do not repeat them; the notes have them too.
	Warnings []string `json:"warnings,omitempty"`
}

// Summarise works out the figures of every cell of the set.
func Summarise(s *results.Set) Summary {
	sum := Summary{Environments: s.Environments, Rows: stat.Rows(s)}
	sum.Warnings = shareWarnings(sum.Rows)
	sum.Meaning = meaning(sum.Rows)
	sum.Notes = notes(s, sum.Rows)
	for _, w := range sum.Warnings {
		sum.Notes = append(sum.Notes, "every cell: "+w)
	}
	return sum
}

// shareWarnings takes out of the rows what all that were measured are warned of.
func shareWarnings(rows []stat.Row) []string {
	measured := stat.Filter(rows, func(r stat.Row) bool { return r.Samples > 0 })
	if len(measured) < 2 {
		return nil
	}
	shared := stat.Filter(measured[0].Warnings, func(w string) bool {
		return !slices.ContainsFunc(measured, func(r stat.Row) bool { return !slices.Contains(r.Warnings, w) })
	})
	for i := range rows {
		rows[i].Warnings = stat.Filter(rows[i].Warnings, func(w string) bool { return !slices.Contains(shared, w) })
	}
	return shared
}
