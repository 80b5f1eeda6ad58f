package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// mostNamedMachines is how many machines a sentence names.
const mostNamedMachines = 3

// mostMachines is how many machines a table of outliers or of failures has.
const mostMachines = 50

// outlierSection lists the machines whose figures are far from those of other machines of their
// kind, and says why if the records tell.
func outlierSection(members []stat.Member, outliers []stat.Outlier) Section {
	out := Section{ID: "outliers", Title: "Machines that stand out"}
	measured := 0
	for _, m := range members {
		if len(m.Figures) > 0 {
			measured++
		}
	}
	if measured < stat.LeastPeers {
		return out
	}
	out.Notes = []string{fmt.Sprintf("A machine stands out if in a cell its whole interval is "+
		"more than %d deviations (median absolute deviation of the logarithms) and more than "+
		"10 %% away from the median of its kind, in one of twenty of its cells at least. A kind "+
		"is machines of the same system, processor and virtualisation; those of a kind with "+
		"fewer than %d are compared with all.", stat.OutlierDeviations, stat.LeastPeers)}
	t := Table{Columns: []Column{
		{Title: "machine", Key: true},
		{Title: "in", Key: true},
		{Title: "here", Right: true, Key: true},
		{Title: "usual", Right: true, Key: true},
		{Title: "cells", Right: true},
		{Title: "reason in the records", Style: Long, Key: true},
	}}
	var names []string
	for i, o := range outliers {
		m := members[o.Member]
		names = append(names, m.Name)
		if i >= mostMachines {
			continue
		}
		t.AppendValues(
			textValue(m.Name),
			textValue(results.CellLabel(o.Cell, nil)),
			outlierValue(o.Cell, o.Figures[0]),
			outlierValue(o.Cell, o.Figures[1]),
			textValue(fmt.Sprintf("%d of %d", o.Cells, o.Of)),
			textValue(strings.Join(reasons(members, o), "; ")),
		)
	}
	out.Tables = []Table{t}
	if len(names) == 0 {
		out.Lead = []string{"No machine stands out from those of its kind."}
		return out
	}
	verb := "stand"
	if len(names) == 1 {
		verb = "stands"
	}
	out.Lead = []string{fmt.Sprintf("%d of %s %s out from those of their kind: %s.",
		len(names), results.FormatCount(measured, "machine"), verb, nameSome(names))}
	return out
}

// nameSome names a few of many.
func nameSome(names []string) string {
	more := len(names) - mostNamedMachines
	if more < 2 {
		return joinAnd(names)
	}
	return strings.Join(names[:mostNamedMachines], ", ") + fmt.Sprintf(" and %d more", more)
}

// outlierValue is a ratio to raw, or the speed of raw.
func outlierValue(c results.Cell, v float64) Value {
	if c.Framing == results.FramingRaw {
		return figureValue(v, stat.RelativeMetric(c).Format(v))
	}
	return shareValue(v)
}

// reasons lists what the records of an outlier say, but the records of most of its peers do not
// say.
func reasons(members []stat.Member, o stat.Outlier) []string {
	own := members[o.Member]
	usual := make(map[string]map[stat.Answer]int) // by ID: how many peers gave an answer
	warned := make(map[string]int)                // peers with a warning in many cells
	for _, i := range o.Peers {
		for _, a := range members[i].Answers {
			if usual[a.ID] == nil {
				usual[a.ID] = make(map[stat.Answer]int)
			}
			usual[a.ID][a]++
		}
		for _, id := range frequentWarnings(members[i]) {
			warned[id]++
		}
	}
	var why []string
	for _, id := range frequentWarnings(own) {
		if 2*warned[id] < len(o.Peers) {
			why = append(why, id)
		}
	}
	e := own.Environment()
	if e.Load1 != nil && e.CPUs > 0 && *e.Load1 > float64(e.CPUs) {
		why = append(why, "load "+loadText(e)+" on "+results.FormatCount(e.CPUs, "CPU"))
	}
	for _, a := range own.Answers {
		most := 0
		for _, n := range usual[a.ID] {
			most = max(most, n)
		}
		rare := most > 1 && 4*usual[a.ID][a] < most
		switch {
		case !rare:
		case a.Area() == results.AreaMachine:
			why = append(why, results.Finding{ID: a.ID}.Name()+": "+a.Found)
		case a.Area() == results.AreaRule && a.Unit != "ns" && a.Unit != "B/s":
			why = append(why, fmt.Sprintf("%s is %s",
				results.Finding{ID: a.ID}.Name(), exactValue(a.Value, a.Unit)))
		}
	}
	if more := len(why) - mostNamedMachines; more > 0 {
		why = append(why[:mostNamedMachines], fmt.Sprintf("%d more", more))
	}
	return why
}

// frequentWarnings returns the warnings that a machine has in at least a third of its cells.
func frequentWarnings(m stat.Member) []string {
	count := make(map[string]int)
	var ids []string
	for _, trouble := range m.Troubles {
		if trouble.Failed {
			continue
		}
		count[trouble.Text]++
		if 3*count[trouble.Text] >= m.Cells && !slices.Contains(ids, trouble.Text) {
			ids = append(ids, trouble.Text)
		}
	}
	return ids
}

// troubleSection lists the machines on which a measurement failed, or whose figures are too noisy
// for most comparisons.
func troubleSection(members []stat.Member) Section {
	out := Section{ID: "troubles", Title: "Machines that failed, or are too noisy"}
	t := Table{Columns: []Column{
		{Title: "machine", Key: true},
		{Title: "failed", Right: true, Key: true},
		{Title: "too noisy", Right: true, Key: true},
		{Title: "why", Style: Long, Key: true},
	}}
	var failed, noisy []string
	for _, m := range members {
		failures := failuresOf(m)
		shaky, compared := noisyFigures(m)
		isNoisy := compared > 0 && 2*shaky > compared
		if len(failures) == 0 && !isNoisy {
			continue
		}
		if len(failures) > 0 {
			failed = append(failed, m.Name)
		}
		if isNoisy {
			noisy = append(noisy, m.Name)
		}
		why := append(slices.Compact(slices.Clone(failures)), frequentWarnings(m)...)
		if len(t.Rows) < mostMachines {
			t.AppendValues(
				textValue(m.Name),
				countValue(int64(len(failures))),
				textValue(fmt.Sprintf("%d of %d", shaky, compared)),
				textValue(Truncate(strings.Join(why, "; "), mostReason)))
		}
	}
	out.Tables = []Table{t}
	if len(failed) > 0 {
		out.Lead = append(out.Lead, "A measurement failed on "+countNamed(failed)+".")
	}
	if len(noisy) > 0 {
		out.Lead = append(out.Lead, "Most figures are too noisy on "+countNamed(noisy)+".")
	}
	out.Notes = []string{fmt.Sprintf("A figure is too noisy if its interval is wider than ±%d %%; "+
		"listed are machines of which more than half are.", MaxShownSpread)}
	return out
}

// mostReason is how many characters say why a machine failed.
const mostReason = 200

// countNamed counts machines, and names the first.
func countNamed(names []string) string {
	return results.FormatCount(len(names), "machine") + ": " + nameSome(names)
}

// failuresOf are the failures of a machine's cells, one for each.
func failuresOf(m stat.Member) []string {
	var all []string
	for _, trouble := range m.Troubles {
		if trouble.Failed {
			all = append(all, trouble.Text)
		}
	}
	return all
}

// noisyFigures counts the ratios to raw of a machine, and those of them that are too noisy.
func noisyFigures(m stat.Member) (noisy, all int) {
	for _, f := range m.Figures {
		if f.ToRaw.N == 0 {
			continue
		}
		all++
		spread, known := f.ToRaw.Spread()
		if !known || spread > MaxShownSpread {
			noisy++
		}
	}
	return noisy, all
}
