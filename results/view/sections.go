package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A Section is what a page says about one kind of record.
type Section struct {
	ID       string
	Title    string
	Lead     []string // sentences before the tables
	Tables   []Table
	Notes    []string // small print after them
	Commands []string // that reproduce it
	Folded   bool     // few want to read it
}

// Sections lists what a page says about a set, in the order in which a person asks: the answer, with
// what it comes to as its title, then each kind of record that the set holds, and last where it was
// measured. Without a record it is empty.
func Sections(s *results.Set) []Section {
	sum := Summarise(s)
	var found []Section
	for _, section := range recordSections(s, sum) {
		section.Tables = stat.Filter(section.Tables, Table.hasRows)
		if len(section.Tables)+len(section.Lead) > 0 {
			found = append(found, section)
		}
	}
	if len(found) == 0 {
		return nil
	}
	lead := answer(s, sum)
	title := "What the records hold"
	if len(lead) > 0 {
		title, _, _ = strings.Cut(strings.TrimSuffix(lead[0], "."), ";")
		title, _, _ = strings.Cut(title, ". ")
		if title+"." == lead[0] {
			lead = lead[1:]
		}
	}
	out := append([]Section{{ID: "answer", Title: title, Lead: lead}}, found...)
	if machines := machineTable(s); len(machines.Columns) > 1 {
		n := len(s.Machines())
		about := Section{ID: "machines", Title: "The machine" + when(n > 1, "s"), Tables: []Table{machines}, Folded: true}
		if len(s.Environments) > n {
			about.Notes = []string{fmt.Sprintf("%d runs on these machines are put together; load and clock are those of the first.", len(s.Environments))}
		}
		out = append(out, about)
	}
	var pairs []string // sentences and titles know machines by the beginnings of hashes
	for _, id := range s.Machines() {
		pairs = append(pairs, "machine "+results.ShortID(id), s.MachineName(id))
	}
	rename := strings.NewReplacer(pairs...)
	for i := range out {
		section := &out[i]
		section.Title, section.Lead = rename.Replace(section.Title), stat.Map(section.Lead, rename.Replace)
		for j := range section.Tables {
			t := &section.Tables[j]
			if t.Title = rename.Replace(t.Title); t.Title == section.Title {
				t.Title = "" // said above it
			}
		}
	}
	return out
}

// Lead says in a line what a set is about: its machine, or how many there are, its runs and dates.
func Lead(s *results.Set) string {
	byTime := func(a, b results.Environment) int { return a.Time.Compare(b.Time) }
	sorted := slices.SortedFunc(slices.Values(s.Environments), byTime)
	days := stat.Map(sorted, func(e results.Environment) string {
		return when(!e.Time.IsZero(), e.Time.UTC().Format("2 January 2006"))
	})
	if days = slices.Compact(nonEmpty(days)); len(days) > 1 {
		days = []string{days[0] + " to " + days[len(days)-1]}
	}
	runs := ""
	if len(s.Environments) > 0 {
		runs = results.FormatCount(len(s.Environments), "run")
	}
	return JoinParts(MachinesLine(FirstRuns(s)), runs, strings.Join(days, ""))
}

// answer says what the whole set means, in the words of each kind of record.
func answer(s *results.Set, sum Summary) []string {
	out := append(machinesDiffer(s, sum.Rows), sum.Meaning...)
	for _, own := range driven(s) {
		out = append(out, serverName(s, own[0])+": "+resultOf(&results.Set{Targets: own}).String()+".")
	}
	out = slices.Concat(out, findingSentences(s), RecordingSummary(s))
	if len(s.Noise) > 0 {
		widest := slices.MaxFunc(s.Noise, func(a, b results.Noise) int { return cmp.Compare(a.Spread, b.Spread) })
		out = append(out, fmt.Sprintf("Between runs that nothing distinguishes, figures move by up to %s (%s of %s).",
			results.FormatPercent(100*widest.Spread), widest.Metric, results.CellLabel(widest.Cell, nil)))
	}
	if measured := stat.Filter(sum.Rows, func(r stat.Row) bool { return r.Samples > 0 }); len(out) == 0 && len(measured) > 0 {
		out = append(out, results.FormatCount(len(measured), "cell")+" measured; no comparison of them is sure.")
	}
	return out
}

// commandsOf lists the command lines of the runs that lines are from, each once, or the usual
// command if the files do not tell.
func commandsOf[L results.Line](s *results.Set, lines []L, usual string) []string {
	runs := stat.Distinct(lines, results.RunOf)
	own := stat.Filter(s.Environments, func(e results.Environment) bool { return e.Command != "" && slices.Contains(runs, e.Run) })
	if len(own) == 0 {
		return []string{usual}
	}
	return stat.Distinct(own, func(e results.Environment) string { return e.Command })
}

// recordSections lists a section for each kind of record, those without any included.
func recordSections(s *results.Set, sum Summary) []Section {
	var beside []Table // machines
	if len(s.Machines()) > 1 && len(sum.Rows) > 0 {
		beside = []Table{
			machineComparison(s, sum.Rows, "stream", "Goodput vs raw"),
			machineComparison(s, sum.Rows, results.PatternRoundtrip, "Round-trip time vs raw"),
			machineLimits(s, sum.Rows),
		}
	}
	sections := []Section{
		{ID: "measurements", Title: "Measurements", Tables: cellTables(sum.Rows), Notes: sum.Notes,
			Commands: commandsOf(s, s.Records, "pipebench run")},
		{ID: "side-by-side", Title: "Side by side", Tables: beside,
			Lead: when(slices.ContainsFunc(beside, Table.hasRows), []string{words().SideBySide})},
		serverSection(s),
		{ID: "recording", Title: "A recording", Lead: endings(s), Tables: []Table{directionTable(s.Messages), replyTable(s.Messages)},
			Commands: commandsOf(s, s.Messages, "pipebench tap -o FILE -- COMMAND")},
		{ID: "noise", Title: "How far figures move by themselves", Tables: []Table{noiseTable(s)},
			Lead:     when(len(s.Noise) > 0, []string{words().Noise}),
			Commands: commandsOf(s, s.Noise, "pipebench doctor")},
	}
	return append(sections, findingSections(s)...)
}

// driven groups what drive found by the server that it loaded. A record of how a recorded server
// ended belongs to the recording.
func driven(s *results.Set) [][]results.Target {
	targets := stat.Filter(s.Targets, func(t results.Target) bool { return t.Evidence.Traffic == nil })
	return stat.GroupBy(targets, func(t results.Target) string { return serverName(s, t) })
}

func serverName(s *results.Set, t results.Target) string {
	return JoinParts(CommandName(t.Command), MachineTitle(s, s.Machine(t.Run)))
}

// serverSection holds the servers that drive loaded.
func serverSection(s *results.Set) Section {
	out := Section{ID: "servers", Title: "Servers"}
	rest := *s
	rest.Targets = nil
	var all []results.Target
	for _, own := range driven(s) {
		name := serverName(s, own[0])
		all = append(all, own...)
		for _, text := range slices.Concat(targetSentences(own), sizeGrowth(own), targetAdvice(own), targetNotes(own)) {
			out.Lead = append(out.Lead, name+": "+text+".")
		}
		sizes, loads := sizeTable(own), loadTable(own)
		sizes.Title, loads.Title = name+" by message size", name+" by load"
		out.Tables = append(out.Tables, sizes, loads)
		rest.Targets = append(rest.Targets, stat.Filter(own, func(t results.Target) bool { return t.Size == 0 && targetSentence(t) == "" })...)
	}
	out.Tables = append(out.Tables, targetTable(&rest))
	out.Commands = commandsOf(s, all, "pipebench drive --find-limit -- COMMAND")
	return out
}

// sizeGrowth says how the time of a server grows with the size. It says nothing if drive has, which
// measures that in pipes of every capacity.
func sizeGrowth(targets []results.Target) []string {
	recorded := slices.ContainsFunc(targets, func(t results.Target) bool { return t.Evidence.Growth != nil })
	if g := stat.FitTargetGrowth(targets); g != nil && !recorded {
		return []string{g.String()}
	}
	return nil
}
