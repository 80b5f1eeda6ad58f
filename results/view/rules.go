package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A DocumentedSystem is an operating system with the rules that its documents state.
type DocumentedSystem struct {
	Name  string // as people call it: "macos"
	Rules []DocumentedRule

	// Predict returns what a step of the probe command should find. ok is false if the documented
	// rules do not say.
	Predict func(step string) (value any, ok bool)
}

// A DocumentedRule is one documented rule in words.
type DocumentedRule struct{ About, Says, Source string }

// WriteRules writes what the probe command found out about pipes, beside the documented rules of
// systems. It compares machines if there are several, and returns [ErrNothing] if nothing was found
// out.
func WriteRules(w io.Writer, format Format, set *results.Set, systems []DocumentedSystem,
	o Options) error {
	rules := &results.Set{Environments: set.Environments, Problems: set.Problems}
	rules.Findings = latestRules(set)
	if len(rules.Findings) == 0 {
		return ErrNothing
	}
	if format != FormatTable && format != FormatMarkdown {
		return WriteFindings(w, format, rules, o)
	}
	machines := probedMachines(rules)
	p := Page{
		Header: append([]string{ruleSummary(rules.Findings, machines)}, probedLines(machines)...),
		Tables: ruleTables(rules, systems),
	}
	if len(systems) > 0 {
		p.Tables = append(p.Tables, documentedTable(systems))
		p.Notes = append(p.Notes, "* documented, not measured here: of pipes as the system makes "+
			"them by default, Linux with pages of 4 KiB. A dash: no rule predicts a value.")
	}
	if areCompared(machines, systems) {
		p.Header = append(differenceSentences(machines), p.Header...)
		p.Notes = append(p.Notes, "≠ differs from the first column. "+notCompared+" Machines "+
			"that were asked the same and answer alike share a column, with their shortest and "+
			"longest time. A dash or no column: not asked. Where a system is emulated or "+
			"imitated, this shows what pipes do there and not how fast.")
	} else {
		p.Header = nonEmpty(append([]string{pipeSummary(rules.Findings)}, p.Header...))
	}
	p.Header = append(p.Header, changedRules(stat.FleetOf(set).Members())...)
	if o.Detail {
		p.addTable(findingTable(rules, sorted(rules.Findings), detailed))
	} else {
		p.Notes = append(p.Notes, "every finding, how it was found, and its rule: --detail")
	}
	return p.Write(w, format, o)
}

// notCompared says which answers are never marked as different.
const notCompared = "Times, costs, pseudo-terminals and what depends on chance are not compared: " +
	"they change from run to run."

func areCompared(machines []probedMachine, systems []DocumentedSystem) bool {
	return len(systems) > 0 || len(machines) > 1
}

// ruleTables answer questions about pipes. If machines or systems are compared, each of these has a
// column. Otherwise, each kind of pipe has one.
func ruleTables(set *results.Set, systems []DocumentedSystem) []Table {
	all := latestRules(set)
	machines := probedMachines(set)
	var p Page
	if areCompared(machines, systems) {
		for _, kind := range append(kindsIn(all), "") { // "": findings about no single kind
			p.addTable(comparedRules(machines, systems, kind))
		}
		isRefuted := func(f results.Finding) bool { return f.Verdict == results.Refuted }
		refuted := remarkableTable(set, selected(all, isRefuted))
		refuted.Title = "What differs from the documented rules"
		for i, c := range refuted.Columns {
			refuted.Columns[i].Key = c.Key || c.Title == "machine"
		}
		p.addTable(refuted)
		return p.Tables
	}
	var columns []column
	for _, kind := range kindsIn(all) {
		columns = append(columns, answersOf(kind, aboutKind(all, kind), pipeQuestions))
	}
	p.addTable(questionTable("What the pipes do", asked(pipeQuestions), columns))
	machine := answersOf("this machine", aboutKind(all, ""), machineQuestions)
	p.addTable(questionTable("What copies and wake-ups cost", asked(machineQuestions),
		[]column{machine}))
	remarkable := remarkableTable(set, all)
	remarkable.Title = "What differs from the documented rules, or came to no result"
	p.addTable(remarkable)
	return p.Tables
}

// pipeSummary says what most people want to know about pipes, or "" if an answer is missing.
func pipeSummary(all []results.Finding) string {
	pipes := aboutKind(all, "anonymous")
	var sizes []string
	for _, q := range pipeQuestions {
		if !q.main {
			continue
		}
		f, found := q.answer(pipes)
		bytes, isNumber := f.Number()
		if !found || !isNumber {
			return ""
		}
		sizes = append(sizes, stat.FormatBytes(int64(bytes)))
	}
	return fmt.Sprintf("A pipe here holds %s. A write of up to %s goes in whole or not at all. "+
		"A full pipe takes more once %s have been read.", sizes[0], sizes[2], sizes[1])
}

// ruleSummary counts findings by whether they agree with the documented rules. Of several machines,
// it names those that differ.
func ruleSummary(all []results.Finding, machines []probedMachine) string {
	count := make(map[results.Verdict]int)
	isRefuted := func(f results.Finding) bool { return f.Verdict == results.Refuted }
	for _, f := range all {
		count[f.Verdict]++
	}
	var where []string
	for _, m := range machines {
		if slices.ContainsFunc(m.found, isRefuted) {
			where = append(where, m.name)
		}
	}
	on := ""
	if len(machines) > 1 && len(where) > 0 {
		on = " (on " + nameSome(where) + ")"
	}
	number := func(v results.Verdict) string { return results.FormatGrouped(int64(count[v])) }
	text := fmt.Sprintf("%s: %s as documented, %s contrary to the documents%s, %s not documented",
		results.FormatCount(len(all), "finding"), number(results.Holds),
		number(results.Refuted), on, number(results.Noted))
	if none := count[results.CannotTell] + count[results.Unsupported]; none > 0 {
		text += ", " + results.FormatCount(none, "experiment") + " came to no result"
	}
	return text + "."
}

// latestRules returns the newest finding about each rule on each machine.
func latestRules(set *results.Set) []results.Finding {
	began := make(map[string]time.Time) // by run
	for _, e := range set.Environments {
		began[e.Run] = e.Time
	}
	machineAndID := func(f results.Finding) string { return set.Machine(f.Run) + " " + f.ID }
	var latest []results.Finding
	for _, same := range grouped(set.FindingsOf(results.AreaRule), machineAndID) {
		slices.SortStableFunc(same, func(a, b results.Finding) int {
			return began[a.Run].Compare(began[b.Run])
		})
		latest = append(latest, same[len(same)-1])
	}
	return latest
}

// changedRules says on which machines an earlier probe came to other answers than the newest one,
// and to which.
func changedRules(members []stat.Member) []string {
	var out []string
	for _, m := range members {
		questions, columns, _ := ruleColumns([]probedMachine{
			{name: "newest", found: foundIn(m.Answers, results.AreaRule)},
			{name: "earlier", found: foundIn(m.Earlier, results.AreaRule)},
		})
		var changed []string
		for i, asks := range questions {
			if disagree(columns, i) {
				newest, earlier := columns[0].answers[i], columns[1].answers[i]
				changed = append(changed, fmt.Sprintf("%s: %s (earlier %s)", asks,
					newest.sizeText(), earlier.sizeText()))
			}
		}
		if len(changed) > 0 {
			out = append(out, fmt.Sprintf("Probes of %s disagree in %s, and the newest counts. %s.",
				m.Name, results.FormatCount(len(changed), "answer"), strings.Join(changed, "; ")))
		}
	}
	return out
}

// differenceSentences says to which main questions a few machines give different answers. For many
// machines, it returns nil.
func differenceSentences(machines []probedMachine) []string {
	if len(machines) < 2 || len(machines) > stat.FewMachines {
		return nil
	}
	columns := machineColumns(machines, "anonymous", pipeQuestions)
	disputed, alike := compareAnswers(columns)
	said := differingAnswers(columns, nil)
	if len(disputed) > len(said) {
		said = append(said, agreementText("Anonymous pipes", columns, len(disputed), len(alike),
			len(machines)))
	}
	return said
}

// differingAnswers says to which main questions the columns give different answers. The answers
// must be in the order of pipeQuestions.
func differingAnswers(columns []column, members []stat.Member) []string {
	var out []string
	for i, q := range pipeQuestions {
		if q.main && disagree(columns, i) {
			out = append(out, answerSentence(q.asks, "others probed", columns, i, members))
		}
	}
	return out
}

// documentedAnswers makes a column with the answers that the documented rules give to the
// questions.
func (s DocumentedSystem) documentedAnswers(questions []question) column {
	c := column{names: []string{s.Name + "*"}, answers: make([]columnAnswer, len(questions))}
	for i, q := range questions {
		for _, step := range q.steps {
			value, ok := s.Predict(step)
			if !ok {
				continue
			}
			f := results.Finding{ID: results.AreaRule + "/anonymous/" + step, Value: value}
			if _, isNumber := f.Number(); isNumber { // all predicted numbers are sizes
				f.Unit = "B"
			}
			c.answers[i] = q.outcome(f)
			break
		}
	}
	return c
}

// comparedRules compares what machines found out about a kind of pipe with what systems document.
// If kind is "", it compares costs.
func comparedRules(machines []probedMachine, systems []DocumentedSystem, kind string) Table {
	questions := pipeQuestions
	title := "What " + pipeNames[kind] + " does"
	if kind == "" {
		questions = machineQuestions
		title = "What copies and wake-ups cost"
	}
	without, isThere := withoutKind(machines, kind)
	if len(without) > 0 && !isThere {
		return Table{}
	}
	if len(without) > 0 {
		title += "; not there on " + nameSome(without)
	}
	columns := machineColumns(machines, kind, questions)
	columns = slices.DeleteFunc(columns, func(c column) bool { return !c.isAsked() })
	if kind != "" { // costs differ between all machines
		columns = joinAlike(columns)
	}
	for _, s := range systems {
		// the rules are about anonymous pipes; except on Windows, they hold for FIFOs, too
		if kind == "anonymous" || kind == "fifo" && s.Name != "windows" {
			columns = append(columns, s.documentedAnswers(questions))
		}
	}
	if len(columns) == 0 {
		return Table{}
	}
	markDifferences(columns)
	return questionTable(title, asked(questions), columns)
}

// documentedTable shows the rules of the systems in words, with their sources.
func documentedTable(systems []DocumentedSystem) Table {
	var names []string
	t := Table{Columns: []Column{
		{Title: "about", Key: true},
		{Title: "system", Key: true},
		{Title: "says", Key: true},
		{Title: "source", Key: true},
	}}
	for _, s := range systems {
		names = append(names, s.Name)
		for _, r := range s.Rules {
			t.Append(r.About, s.Name, r.Says, r.Source)
		}
	}
	t.Title = "What is documented of " + strings.Join(names, ", ") + " (not measured here)"
	slices.SortStableFunc(t.Rows, func(a, b []Value) int {
		return strings.Compare(a[0].Text, b[0].Text)
	})
	return t
}
