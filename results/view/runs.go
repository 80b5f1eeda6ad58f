package view

import (
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// disagreementSentences say on which machines the runs differ beyond the noise, and in what most.
func disagreementSentences(members []stat.Member) []string {
	var names, texts []string
	for _, m := range members {
		if len(m.Disagreement) == 0 {
			continue
		}
		names = append(names, m.Name)
		runs := comparison{
			members:     namedRuns(m.Differing),
			differences: m.Disagreement,
			speeds:      stat.Speeds(m.Differing, m.Disagreement),
			areRuns:     true,
		}
		texts = append(texts, "The runs of "+m.Name+" disagree: "+runs.sentence(m.Disagreement[0]))
		if len(members) == 1 {
			texts = append(texts, runs.sentences()[1:]...)
		}
	}
	switch {
	case len(names) == 0:
		return nil
	case len(names) > mostNamedMachines:
		texts = []string{texts[0], fmt.Sprintf("Runs disagree on %d machines: %s.", len(names),
			nameSome(names))}
	}
	if len(members) > 1 {
		return append(texts, "Such figures are pooled below, and not compared with other machines.")
	}
	return append(texts, "The tables pool all runs; the sentences leave such measurements out.")
}

// agreedRows returns the rows without measurements in which runs disagree on a framing.
func agreedRows(rows []stat.Row) []stat.Row {
	differing := make(map[results.Cell]bool)
	for _, r := range rows {
		isRaw := r.Cell.Framing == results.FramingRaw
		if !isRaw && slices.Contains(r.Warnings, stat.RunsDiffer) {
			differing[withoutFraming(r.Cell)] = true
		}
	}
	return selected(rows, func(r stat.Row) bool { return !differing[withoutFraming(r.Cell)] })
}

// namedRuns returns the runs with their days as names or, if some are equal, their times.
func namedRuns(runs []stat.Member) []stat.Member {
	runs = slices.Clone(runs)
	for _, layout := range []string{"2006-01-02", "2006-01-02 15:04:05 UTC"} {
		known := make(map[string]bool)
		for i := range runs {
			runs[i].Name = runs[i].Environment().Time.UTC().Format(layout)
			known[runs[i].Name] = true
		}
		if len(known) == len(runs) {
			return runs
		}
	}
	return runs
}
