package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// mostReason is the most characters of a cell in the table of machines to look at.
const mostReason = 300

// A concern is a reason to look at machines.
type concern struct {
	said  string // begins the sentence that counts these machines
	names []string
	rows  []concernRow
}

type concernRow struct {
	names         []string
	what, details string
}

func (c *concern) add(name, what string, why []string) {
	if !slices.Contains(c.names, name) {
		c.names = append(c.names, name)
	}
	reason := Truncate(strings.Join(why, "; "), mostReason)
	for i, row := range c.rows {
		if row.what == what && row.details == reason {
			c.rows[i].names = slices.Compact(append(row.names, name))
			return
		}
	}
	c.rows = append(c.rows, concernRow{[]string{name}, what, reason})
}

// addOdd adds the machines that stand out, if the records have what may be the reason: one of three
// or more machines, or at most a quarter.
func (c *concern) addOdd(found comparison) {
	var odd []int
	for _, d := range found.differences {
		few := d.Odd()
		all := len(few) + len(d.Groups[d.Usual()].Members)
		if !d.ByDegrees && all > 2 && len(few) <= max(1, all/4) {
			odd = append(odd, few...)
		}
	}
	var usual []stat.Member
	for i, m := range found.members {
		if !slices.Contains(odd, i) {
			usual = append(usual, m)
		}
	}
	slices.Sort(odd)
	for _, i := range slices.Compact(odd) {
		if why := reasons(found.members[i], usual); len(why) > 0 {
			c.add(found.members[i].Name, "unusual in speed, and in this", why)
		}
	}
}

// attentionSection lists machines on which a measurement failed, that stand out, where findings are
// not as documented, or whose figures are too noisy or in doubt.
func attentionSection(found comparison) Section {
	members := found.members
	failed := concern{said: "A measurement failed on "}
	var odd concern // other sentences say it
	refuted := concern{said: "Findings differ from the documented rules on "}
	noisy := concern{said: "Most comparisons with raw bytes are too noisy on "}
	doubtful := concern{said: "Some comparisons with raw bytes are in doubt on "}
	odd.addOdd(found)
	for _, m := range members {
		if n := len(m.Failures); n > 0 {
			what := results.FormatCount(n, "failed measurement")
			failed.add(m.Name, what, slices.Compact(slices.Clone(m.Failures)))
		}
		if differ := refutedRules(m); len(differ) > 0 {
			what := results.FormatCount(len(differ), "finding") + " not as documented"
			refuted.add(m.Name, what, []string{nameSome(differ)})
		}
		if m.IsNoisy() && len(m.Disagreement) == 0 {
			var why []string
			for _, warning := range frequentWarnings(m) {
				why = append(why, warning.Found)
			}
			noisy.add(m.Name, fmt.Sprintf("most comparisons with raw bytes are too noisy, or have "+
				"fewer than %d samples", stat.LeastSamples), why)
		}
		for _, cell := range m.Doubtful {
			doubtful.add(m.Name, results.CellName(cell), []string{stat.TwoClusters})
		}
	}
	out := Section{ID: "attention", Title: "Machines to look at"}
	t := Table{Columns: []Column{
		{Title: "machine", Style: Long, Key: true},
		{Title: "what", Style: Long, Key: true},
		{Title: "details", Style: Long, Key: true},
	}}
	for _, c := range []concern{failed, odd, refuted, noisy, doubtful} {
		for _, row := range c.rows {
			t.Append(Truncate(strings.Join(row.names, ", "), mostReason), row.what, row.details)
		}
		if len(c.names) > 0 && c.said != "" {
			out.Lead = append(out.Lead, c.said+results.FormatCount(len(c.names), "machine")+": "+
				nameSome(c.names)+".")
		}
	}
	out.Tables = []Table{t}
	if len(noisy.rows) > 0 {
		out.Lead = append(out.Lead,
			"Close other programs there, or measure longer (--max-time).")
	}
	out.Lead = append(out.Lead, changedRules(members)...)
	return out
}

func refutedRules(m stat.Member) []string {
	var all []string
	for _, f := range foundIn(m.Answers, results.AreaRule) {
		if f.Verdict == results.Refuted {
			all = append(all, f.Name()+" is "+exactValue(f.Value, f.Unit))
		}
	}
	return all
}

// reasons lists what may have made a machine stand out: what it has, and hardly any of the others
// that do not stand out.
func reasons(m stat.Member, others []stat.Member) []string {
	with := make(map[string]int) // how many others have it
	for _, o := range others {
		for _, trait := range traits(o) {
			with[trait.ID]++
		}
	}
	var why []string
	for _, trait := range traits(m) {
		if 10*with[trait.ID] <= len(others) {
			why = append(why, trait.Found)
		}
	}
	return why
}

// traits lists what may influence the speed of a machine: its properties, frequent warnings, the
// load, and what the command probe --machine found. Two machines share one if the ID is equal.
func traits(m stat.Member) []stat.Warning {
	var texts []string
	for _, factor := range factors {
		texts = append(texts, factorPhrase(m, factor))
	}
	e := m.Environment()
	if e.Load1 != nil && e.CPUs > 0 && *e.Load1 > float64(e.CPUs) {
		texts = append(texts, "load "+loadText(e)+" on "+results.FormatCount(e.CPUs, "CPU"))
	}
	for _, f := range foundIn(m.Answers, results.AreaMachine) {
		texts = append(texts, f.Name()+": "+f.Found)
	}
	var all []stat.Warning
	for _, text := range texts {
		all = append(all, stat.Warning{ID: text, Found: text})
	}
	return append(all, frequentWarnings(m)...)
}

// frequentWarnings returns the warnings that occur in at least a third of a machine's measurements,
// each with what the last one found.
func frequentWarnings(m stat.Member) []stat.Warning {
	var frequent []stat.Warning
	for _, same := range grouped(m.Warnings, func(w stat.Warning) string { return w.ID }) {
		if 3*len(same) >= m.Cells {
			last := same[len(same)-1]
			last.Found = cmp.Or(last.Found, last.ID)
			frequent = append(frequent, last)
		}
	}
	return frequent
}
