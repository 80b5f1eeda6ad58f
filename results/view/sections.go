package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A Section is the part of a page or a screen that is about one kind of record.
type Section struct {
	ID       string
	Title    string
	Lead     []string // sentences that go with the tables
	Tables   []Table
	Notes    []string // small print after the tables
	Commands []string // command lines that made the records
	Folded   bool     // shown closed, because few people want to read it
}

// Sections lists the sections of a page about a set of results. The title of the first section is
// the main result. The list is empty if the set has no records.
func Sections(s *results.Set) []Section {
	if s.IsEmpty() {
		return nil
	}
	if len(s.Machines()) > 1 {
		return FleetSections(stat.FleetOf(s).Members(), s.Problems)
	}
	sum := Summarise(s)
	first := Section{
		ID:       "answer",
		Title:    "What the records hold",
		Lead:     answer(s, sum, ""),
		Commands: commandsOf(s),
	}
	tuned := s.FindingsOf(results.AreaTune)
	switch {
	case len(tuned) > 0:
		first.Title = tuned[0].Title
		if tuned[0].Verdict == results.CannotTell {
			first.Title += ": not proven"
		}
	case len(first.Lead) > 0: // the first sentence becomes the title, up to a semicolon
		said := first.Lead[0]
		first.Title, _, _ = strings.Cut(strings.TrimSuffix(said, "."), ";")
		first.Title, _, _ = strings.Cut(first.Title, ". ")
		if first.Title+"." == said {
			first.Lead = first.Lead[1:]
		}
	}
	first.Lead = nonEmpty(append(first.Lead, loadOf(s)))
	return append([]Section{first}, sections(s, sum.Rows, detailed)...)
}

// sections lists a section for each kind of record. Without detail, they are short enough for a
// first screen.
func sections(s *results.Set, rows []stat.Row, detail bool) []Section {
	measured := Section{ID: "measurements", Title: "Measurements"}
	if detail {
		measured.Tables = cellTables(rows)
		measured.Notes = detailedNotes(s, rows)
	} else {
		tables, isPart := screenTables(rows)
		measured.Tables = tables
		measured.Notes = screenNotes(rows, isPart)
	}
	measured.Notes = nonEmpty(append([]string{RoughNote(measured.Tables)}, measured.Notes...))
	recording := Section{ID: "recording", Title: "A recording"}
	recording.Tables = []Table{replyTable(s.Messages)}
	all := []Section{measured, serverSection(s), recording}
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

// Lead describes the set of a single machine in one line: the machine, the number of runs and their
// dates.
func Lead(s *results.Set) string { return JoinParts(MachineLine(s), runsText(s.Environments)) }

// runsText says how many runs there are, and from which days: "3 runs · 2026-11-20 to 2026-11-21".
func runsText(all []results.Environment) string {
	if len(all) == 0 {
		return ""
	}
	var days []string
	for _, e := range all {
		if !e.Time.IsZero() {
			days = append(days, e.Time.UTC().Format("2006-01-02"))
		}
	}
	runs := results.FormatCount(len(all), "run")
	if len(days) == 0 {
		return runs
	}
	return JoinParts(runs, FromTo(slices.Min(days), slices.Max(days)))
}

// answer says in sentences what the set means. file is as in [Options].
func answer(s *results.Set, sum Summary, file string) []string {
	var out []string
	for _, own := range drivenServers(s) {
		out = append(out, CommandName(own[0].Command)+": "+resultOf(own).text+".")
	}
	tuned := s.FindingsOf(results.AreaTune)
	for _, f := range tuned {
		said := strings.Split(f.Found, "\n")
		if e, ok := s.Environment(f.Run); ok && len(tuned) > 1 {
			at := e.Time.UTC().Format("2006-01-02 15:04 UTC")
			said[0] = e.Command + " of " + at + ": " + said[0]
		}
		out = append(out, said...)
	}
	out = nonEmpty(append(out, findingSentences(s)...))
	last := nonEmpty(slices.Concat(sum.Meaning, recordingSummary(s, file)))
	switch {
	case allHaveTooFewSamples(sum.Rows):
		out = append(out, tooFewSamples(sum.Rows)...)
	case len(sum.Rows) > 0 && len(out)+len(last) == 0:
		out = append(out, countCells(sum.Rows).text())
	}
	return append(out, last...)
}

// commandsOf lists the command lines of all runs, each once.
func commandsOf(s *results.Set) []string {
	var commands []string
	for _, e := range s.Environments {
		if e.Command != "" && !slices.Contains(commands, e.Command) {
			commands = append(commands, e.Command)
		}
	}
	return commands
}

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

// drivenServers groups the records of the drive command by server.
func drivenServers(s *results.Set) [][]results.Target {
	notRecorded := func(t results.Target) bool { return t.Evidence.Traffic == nil }
	driven := selected(s.Targets, notRecorded)
	return grouped(driven, func(t results.Target) string { return CommandName(t.Command) })
}

// serverSection shows the servers that the drive command put under load.
func serverSection(s *results.Set) Section {
	out := Section{ID: "servers", Title: "Servers"}
	for _, own := range drivenServers(s) {
		name := CommandName(own[0].Command)
		sentences := slices.Concat(targetSentences(own), targetAdvice(own), targetNotes(own))
		for _, text := range sentences {
			out.Lead = append(out.Lead, name+": "+text+".")
		}
		t := loadTable(s, own)
		t.Title = name
		out.Tables = append(out.Tables, t)
	}
	return out
}
