package view

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A DocumentedSystem has the documented rules of an operating system about its pipes.
type DocumentedSystem struct {
	Name    string                                 // as people call it: "macos"
	Predict func(step string) (value any, ok bool) // result of a probe step by the rules
	Rules   []DocumentedRule
}

// A DocumentedRule is one rule of a system in words.
type DocumentedRule struct{ About, Says, Source string }

// WriteRules writes what was found about pipes. For people it writes a table with a row per
// question, and a column per kind of pipe. If there are several machines or systems, it writes a
// table per kind of pipe, with a column per machine or system. With detail, all findings follow
// below. Formats for programs always have all findings.
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
		Header: append([]string{ruleSummary(rules.Findings)}, machineHeads(machines)...),
		Tables: ruleTables(rules, systems),
	}
	if len(systems) > 0 {
		p.Tables = append(p.Tables, documentedTable(systems))
		p.Notes = append(p.Notes, "* documented, not measured here: of pipes as the system makes "+
			"them by default, Linux with pages of 4 KiB. A dash: no rule predicts a value.")
	}
	if isBeside(machines, systems) {
		p.Header = append(differenceSentences(machines), p.Header...)
		p.Notes = append(p.Notes, "≠ differs from the first column. Machines that answer alike "+
			"share a column; times are those of its first. Where a system is emulated or "+
			"imitated, this shows what pipes do there and not how fast.")
	} else {
		p.Header = nonEmpty(append([]string{pipeSentence(rules.Findings)}, p.Header...))
	}
	if o.Detail {
		p.addTable(findingTable(rules, sorted(rules.Findings), true))
	} else {
		p.Notes = append(p.Notes, "every finding, how it was found, and its rule: --detail")
	}
	return p.Write(w, format, o)
}

// isBeside reports whether the tables compare machines or systems.
func isBeside(machines []probed, systems []DocumentedSystem) bool {
	return len(systems) > 0 || len(machines) > 1
}

// ruleTables answer the questions about pipes, and name what differs from the documented rules or
// came to no result. For one machine the columns are the kinds of pipe, for several they are the
// machines.
func ruleTables(set *results.Set, systems []DocumentedSystem) []Table {
	all := latestRules(set)
	machines := probedMachines(set)
	var p Page
	if isBeside(machines, systems) {
		for _, kind := range append(kindsIn(all), "") {
			p.addTable(rulesBeside(machines, systems, kind))
		}
		return p.Tables
	}
	var columns []column
	for _, kind := range kindsIn(all) {
		columns = append(columns, answers(kind, aboutKind(all, kind), pipeQuestions))
	}
	p.addTable(questionTable("What the pipes do", asked(pipeQuestions), columns, false))
	machine := answers("this machine", aboutKind(all, ""), machineQuestions)
	p.addTable(questionTable("What copies and wake-ups cost", asked(machineQuestions),
		[]column{machine}, false))
	remarkable := remarkableTable(set, all)
	remarkable.Title = "What differs from the documented rules, or came to no result"
	p.addTable(remarkable)
	return p.Tables
}

// pipeSentence says what most people want to know of a machine's pipes, "" if that was not found.
func pipeSentence(all []results.Finding) string {
	pipes := aboutKind(all, "anonymous")
	var sizes []string
	for _, steps := range [][]string{
		{"capacity/stated", "capacity/accepted"}, {"all-or-nothing"}, {"slot"},
	} {
		f, found := question{steps: steps}.answer(pipes)
		bytes, isNumber := f.Number()
		if !found || !isNumber {
			return ""
		}
		sizes = append(sizes, stat.FormatBytes(int64(bytes)))
	}
	return fmt.Sprintf("A pipe here holds %s. A write of up to %s goes in whole or not at all. "+
		"A full pipe takes more once %s were read.", sizes[0], sizes[1], sizes[2])
}

// ruleSummary says how many findings follow the documented rules.
func ruleSummary(all []results.Finding) string {
	count := make(map[results.Verdict]int)
	for _, f := range all {
		count[f.Verdict]++
	}
	text := fmt.Sprintf("%s: %d differ from the documented rules, %d agree, %d are not documented",
		results.FormatCount(len(all), "finding"), count[results.Refuted], count[results.Holds],
		count[results.Noted])
	if none := count[results.CannotTell] + count[results.Unsupported]; none > 0 {
		text += fmt.Sprintf(", %d experiments came to no result", none)
	}
	return text + "."
}

// latestRules returns the findings about rules. If a machine has several findings of the same name,
// the last counts.
func latestRules(set *results.Set) []results.Finding {
	var rules []results.Finding
	at := make(map[string]int)
	for _, f := range set.FindingsOf(results.AreaRule) {
		key := set.Machine(f.Run) + " " + f.ID
		if i, again := at[key]; again {
			rules[i] = f
			continue
		}
		at[key] = len(rules)
		rules = append(rules, f)
	}
	return rules
}

// firstQuestions are those that most people ask of a pipe, by their first step.
var firstQuestions = []string{"capacity/stated", "slot", "all-or-nothing"}

// differenceSentences says of a few machines which answers to the first questions about pipes
// differ.
func differenceSentences(machines []probed) []string {
	if len(machines) < 2 || len(machines) > FewMachines {
		return nil
	}
	return pipeSentences(machineColumns(machines, "anonymous", pipeQuestions))
}

// pipeSentences says which answers of columns to the first questions differ. The cells of the
// columns begin with those of pipeQuestions.
func pipeSentences(columns []column) []string {
	var out []string
	for _, step := range firstQuestions {
		i := slices.IndexFunc(pipeQuestions, func(q question) bool { return q.steps[0] == step })
		if disagree(columns, i) {
			out = append(out, answerSentence(pipeQuestions[i].asks, columns, i))
		}
	}
	return out
}

// A probed is a machine on which rules were tested.
type probed struct {
	name        string              // of its column
	environment results.Environment // of the run in which it was tested
	rules       []results.Finding
}

// probedMachines returns the machines on which rules were tested. If they are few, their columns
// have their names, else letters.
func probedMachines(set *results.Set) []probed {
	var machines []probed
	var environments []results.Environment
	machineOf := func(f results.Finding) string { return set.Machine(f.Run) }
	for i, own := range grouped(latestRules(set), machineOf) {
		e, _ := set.Environment(own[0].Run) // none in a damaged file
		machines = append(machines, probed{letter(i), e, own})
		environments = append(environments, e)
	}
	if len(machines) <= FewMachines {
		names := results.MachineNames(environments)
		for i, e := range environments {
			machines[i].name = names[e.Machine]
		}
	}
	return machines
}

// machineHeads describes each machine on which rules were tested, and says when. If there are
// several, each line begins with the name of the machine's column.
func machineHeads(machines []probed) []string {
	var heads []string
	for _, m := range machines {
		e := m.environment
		if e.Run == "" {
			continue
		}
		head := JoinParts(machineLine(e), "pages of "+results.FormatSize(int64(e.PageSize)),
			e.Time.UTC().Format("2006-01-02"))
		if len(machines) > 1 && m.name != e.Hostname {
			head = m.name + "  " + head
		}
		heads = append(heads, head)
	}
	return heads
}

// machineColumns makes a column for each machine of what it found about a kind of pipe.
func machineColumns(machines []probed, kind string, questions []question) []column {
	var columns []column
	for _, m := range machines {
		columns = append(columns, answers(m.name, aboutKind(m.rules, kind), questions))
	}
	return columns
}

// letter names a machine's column: "A", "B" and so on, and "M26" after the last letter.
func letter(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return fmt.Sprintf("M%d", i)
}

// pipeNames say what each kind of pipe is.
var pipeNames = map[string]string{
	"anonymous":  "an anonymous pipe",
	"fifo":       "a FIFO",
	"named":      "a named pipe",
	"socketpair": "a pair of sockets",
	"unix":       "a Unix socket",
	"seqpacket":  "a Unix socket of packets",
	"pty":        "a pseudo-terminal",
	"ring":       "a ring in memory that both map",
}

// kindOf splits the name of a rule into the kind of pipe, "" if it is about none, and the step.
func kindOf(f results.Finding) (kind, step string) {
	first, rest, _ := strings.Cut(f.Name(), "/")
	if pipeNames[first] != "" {
		return first, rest
	}
	return "", f.Name()
}

// kindsIn returns the kinds of pipe of findings, in order.
func kindsIn(all []results.Finding) []string {
	var kinds []string
	for _, f := range all {
		kind, _ := kindOf(f)
		if kind != "" && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// aboutKind returns the findings about a kind of pipe.
func aboutKind(all []results.Finding, kind string) []results.Finding {
	return selectFindings(all, func(f results.Finding) bool {
		own, _ := kindOf(f)
		return own == kind
	})
}

// asked lists questions as they are asked.
func asked(questions []question) []string {
	var out []string
	for _, q := range questions {
		out = append(out, q.asks)
	}
	return out
}

// answers makes the column of findings about one kind of pipe.
func answers(name string, found []results.Finding, questions []question) column {
	c := column{names: []string{name}, cells: make([]Value, len(questions))}
	for i, q := range questions {
		if f, ok := q.answer(found); ok {
			c.cells[i] = q.cell(f)
		}
	}
	return c
}

// answers makes the column of the answers that the system's documented rules give.
func (s DocumentedSystem) answers(questions []question) column {
	c := column{names: []string{s.Name + "*"}, cells: make([]Value, len(questions))}
	for i, q := range questions {
		value, ok := s.Predict(q.steps[0])
		if !ok {
			continue
		}
		f := results.Finding{ID: "rule/anonymous/" + q.steps[0], Value: value}
		if _, isNumber := f.Number(); isNumber {
			f.Unit = "B"
		}
		c.cells[i] = q.cell(f)
	}
	return c
}

// rulesBeside makes a table of what machines found about a kind of pipe and what systems document.
// An answer that differs from that of the first column is marked.
func rulesBeside(machines []probed, systems []DocumentedSystem, kind string) Table {
	questions, title := pipeQuestions, "What "+pipeNames[kind]+" does"
	if kind == "" {
		questions, title = machineQuestions, "What copies and wake-ups cost"
	}
	columns := joinAlike(machineColumns(machines, kind, questions))
	for _, s := range systems {
		// A FIFO is the same pipe with a name, but not on Windows.
		if kind == "anonymous" || kind == "fifo" && s.Name != "windows" {
			columns = append(columns, s.answers(questions))
		}
	}
	markDifferences(columns)
	return questionTable(title, asked(questions), columns, false)
}

// documentedTable has the rules of the systems in words, with their sources.
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

// exactValue writes a size to the byte, a number without a unit as it is, and other figures with
// few digits.
func exactValue(value any, unit string) string {
	n, isNumber := (results.Finding{Value: value}).Number()
	switch {
	case isNumber && unit == "":
		return strconv.FormatFloat(n, 'f', -1, 64)
	case isNumber:
		return results.FormatExact(n, unit)
	case value == true:
		return "yes"
	case value == false:
		return "no"
	}
	return fmt.Sprint(value)
}
