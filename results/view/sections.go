package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A Section is what a page or a screen says about one kind of record.
type Section struct {
	ID       string
	Title    string
	Lead     []string // sentences that go with the tables
	Tables   []Table
	Notes    []string // small print after them
	Commands []string // that reproduce what it shows
	Folded   bool     // few want to read it
}

// Sections lists what a page says about a set, in the order in which a person asks: first the
// answer, titled by its result, then each kind of record that the set holds, and last the machine.
// Without records the list is empty.
func Sections(s *results.Set) []Section {
	if isEmpty(s) {
		return nil
	}
	if len(s.Machines()) > 1 {
		return FleetSections(stat.FleetOf(s).Members())
	}
	sum := Summarise(s)
	lead := answer(s, sum)
	title := "What the records hold"
	if len(lead) > 0 {
		title, _, _ = strings.Cut(strings.TrimSuffix(lead[0], "."), ";")
		title, _, _ = strings.Cut(title, ". ")
		if title+"." == lead[0] {
			lead = lead[1:]
		}
	}
	all := []Section{{ID: "answer", Title: title, Lead: lead}}
	return append(all, sections(s, sum.Rows, true)...)
}

// sections lists a section for each kind of record that the set holds. Without detail its tables
// are those of a first screen.
func sections(s *results.Set, rows []stat.Row, detail bool) []Section {
	measured := Section{
		ID:       "measurements",
		Title:    "Measurements",
		Notes:    notes(s, rows, detail),
		Commands: commandsOf(s, s.Records, "pipebench run"),
	}
	if detail {
		measured.Tables = cellTables(rows)
	} else {
		measured.Tables = screenTables(rows)
	}
	all := []Section{measured}
	all = append(all, serverSection(s), recordingSection(s))
	all = append(all, findingSections(s, detail)...)
	if detail {
		all = append(all, machineSection(s))
	}
	var found []Section
	for _, section := range all {
		section.Tables = slices.DeleteFunc(section.Tables, func(t Table) bool {
			return !t.hasRows()
		})
		if len(section.Tables)+len(section.Lead) > 0 {
			found = append(found, section)
		}
	}
	return found
}

// Lead says in a line what the set of one machine is about: the machine, its runs and dates.
func Lead(s *results.Set) string {
	var days []string
	for _, e := range s.Environments {
		days = append(days, dayOf(e)...)
	}
	runs := ""
	if len(s.Environments) > 0 {
		runs = results.FormatCount(len(s.Environments), "run")
	}
	return JoinParts(MachineLine(s), runs, daysText(days))
}

// dayOf returns the day of a run, if it is known.
func dayOf(e results.Environment) []string {
	if e.Time.IsZero() {
		return nil
	}
	return []string{e.Time.UTC().Format("2006-01-02")}
}

// daysText writes days as one, or as the first and the last.
func daysText(days []string) string {
	if len(days) == 0 {
		return ""
	}
	first, last := slices.Min(days), slices.Max(days)
	if first == last {
		return first
	}
	return first + " to " + last
}

// answer says what the whole set means, in the words of each kind of record.
func answer(s *results.Set, sum Summary) []string {
	out := slices.Clone(sum.Meaning)
	for _, own := range driven(s) {
		out = append(out, CommandName(own[0].Command)+": "+resultOf(own).text+".")
	}
	out = slices.Concat(out, findingSentences(s), recordingSummary(s))
	out = nonEmpty(out)
	if len(out) == 0 && len(sum.Rows) > 0 {
		out = append(out, results.FormatCount(len(sum.Rows), "cell")+" measured.")
	}
	return out
}

// commandsOf lists the command lines of the runs that lines are from, each once, or the usual
// command if the files do not tell.
func commandsOf[L results.Line](s *results.Set, lines []L, usual string) []string {
	var commands []string
	for _, l := range lines {
		e, ok := s.Environment(results.RunOf(l))
		if ok && e.Command != "" && !slices.Contains(commands, e.Command) {
			commands = append(commands, e.Command)
		}
	}
	if len(commands) == 0 {
		return []string{usual}
	}
	return commands
}

// machineSection describes the machine.
func machineSection(s *results.Set) Section {
	about := Section{ID: "machines", Title: "The machine", Folded: true}
	if len(s.Environments) == 0 {
		return about
	}
	t := Table{Columns: []Column{{Title: "property", Key: true}, {Title: "here", Key: true}}}
	for _, f := range machineFields(s.Environments[0]) {
		if f.text != "" {
			t.Append(f.title, f.text)
		}
	}
	about.Tables = []Table{t}
	if n := len(s.Environments); n > 1 {
		about.Notes = []string{fmt.Sprintf("%d runs are put together; time, load and clock are "+
			"those of the first.", n)}
	}
	return about
}

// driven groups what drive found by the server that it loaded. A record of how a recorded server
// ended belongs to the recording.
func driven(s *results.Set) [][]results.Target {
	var all []results.Target
	for _, t := range s.Targets {
		if t.Evidence.Traffic == nil {
			all = append(all, t)
		}
	}
	return grouped(all, func(t results.Target) string { return CommandName(t.Command) })
}

// serverSection holds the servers that drive loaded.
func serverSection(s *results.Set) Section {
	out := Section{ID: "servers", Title: "Servers"}
	for _, own := range driven(s) {
		name := CommandName(own[0].Command)
		sentences := slices.Concat(targetSentences(own), targetAdvice(own), targetNotes(own))
		for _, text := range sentences {
			out.Lead = append(out.Lead, name+": "+text+".")
		}
		t := loadTable(s, own)
		t.Title = name
		out.Tables = append(out.Tables, t)
	}
	out.Commands = commandsOf(s, s.Targets, "pipebench drive --find-limit -- COMMAND")
	return out
}
