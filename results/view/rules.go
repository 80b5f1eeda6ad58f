package view

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A DocumentedSystem is what the rules of an operating system say of its pipes, wherever that was
// read.
type DocumentedSystem struct {
	Name    string                                 // as people call it: "macos"
	Predict func(step string) (value any, ok bool) // what the rules say that a probe finds
	Rules   []DocumentedRule
}

// A DocumentedRule is one rule of a system in words.
type DocumentedRule struct{ About, Says, Source string }

// WriteRules writes what was found about pipes. For people that is a table with a row for each
// question: a column for each kind of pipe or, of several machines and systems, for each of those.
// With detail it has every finding. Programs get every finding in any case.
func WriteRules(w io.Writer, format Format, set *results.Set, systems []DocumentedSystem,
	o Options) error {
	rules := &results.Set{Environments: set.Environments, Problems: set.Problems}
	rules.Findings = latestRules(set)
	if len(rules.Findings) == 0 {
		return ErrNothing
	}
	switch format {
	case FormatTable, FormatMarkdown:
	case FormatCSV:
		return findingTable(rules, rules.Findings, "").Write(w, format, o)
	default:
		return Write(w, rules, format, o)
	}
	p := Page{Header: append([]string{ruleSummary(rules.Findings)}, machineHeads(rules)...)}
	beside := len(systems) > 0 || len(rules.Machines()) > 1
	switch {
	case beside:
		p.Tables = rulesBeside(rules, systems, o.Detail)
	case o.Detail:
		p.Tables = []Table{ruleTable(rules.Findings)}
	default:
		p.Tables = []Table{rulesOfKinds(rules.Findings), rulesOfMachine(rules.Findings)}
		p.Tables = slices.DeleteFunc(p.Tables, func(t Table) bool { return !t.hasRows() })
		p.Notes = []string{"every finding, how it was found, and its rule: --detail"}
	}
	if !o.Detail && !beside {
		p.Conclusions = remarkableRules(rules.Findings)
	}
	if len(systems) > 0 {
		p.Tables = append(p.Tables, documentedTable(systems))
		p.Notes = append(p.Notes, "* documented, not measured here: of pipes as the system makes "+
			"them by default, Linux with pages of 4 KiB. A dash: no rule predicts a value.")
	}
	if beside {
		p.Notes = append(p.Notes, "≠ differs from the first column. Machines that answer alike "+
			"share a column; times are those of its first. Where a system is emulated or "+
			"imitated, this shows what pipes do there and not how fast.")
	}
	return p.Write(w, format, o)
}

// ruleSummary says how many findings follow the documented rules.
func ruleSummary(all []results.Finding) string {
	follow := 0
	differ := 0
	none := 0
	for _, f := range all {
		switch f.Verdict {
		case results.Holds:
			follow++
		case results.Refuted:
			differ++
		case results.CannotTell, results.Unsupported:
			none++
		}
	}
	text := fmt.Sprintf("%s: %d differ from the documented rules, %d agree, %d are not documented",
		results.FormatCount(len(all), "finding"), differ, follow, len(all)-follow-differ-none)
	if none > 0 {
		text += fmt.Sprintf(", %d experiments came to no result", none)
	}
	return text + "."
}

// latestRules returns the findings about rules. Of what a machine found more than once, the last
// counts.
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

// ruleTable has a row for each finding.
func ruleTable(all []results.Finding) Table {
	t := Table{Columns: Columns("~rule", "!verdict", "~found", "~how it was found")}
	for _, f := range all {
		t.AppendCells(textCell(f.Name()), verdictCell(string(f.Verdict)), textCell(f.Found),
			textCell(f.Title))
	}
	return t
}

// machineHeads describes each machine on which rules were found out, and when; several have
// letters.
func machineHeads(set *results.Set) []string {
	var heads []string
	for _, e := range probedMachines(set) {
		head := JoinParts(MachineLine(e), pagesText(e),
			e.Time.UTC().Format("2006-01-02"))
		heads = append(heads, head)
	}
	if len(heads) > 1 {
		for i := range heads {
			heads[i] = letter(i) + "  " + heads[i]
		}
	}
	return heads
}

func probedMachines(set *results.Set) []results.Environment {
	var probed []results.Environment
	for _, e := range FirstRuns(set) {
		if slices.ContainsFunc(set.Findings, func(f results.Finding) bool {
			return set.Machine(f.Run) == e.Machine
		}) {
			probed = append(probed, e)
		}
	}
	return probed
}

// letter names a machine's column: "A", "B", and "M26" where the letters end.
func letter(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return fmt.Sprintf("M%d", i)
}

// remarkableRules lists what differs from the documented rules, and what came to no result.
func remarkableRules(all []results.Finding) []string {
	var texts []string
	for _, f := range all {
		switch f.Verdict {
		case results.Refuted:
			texts = append(texts, "differs: "+f.Name()+": "+f.Found)
		case results.CannotTell:
			texts = append(texts, "no result: "+f.Name()+": "+f.Found)
		case results.Unsupported:
			texts = append(texts, "unsupported: "+f.Name()+": "+f.Found)
		}
	}
	return texts
}

// kindOf splits the name of a rule into the kind of pipe, "" if it is about none, and the step.
func kindOf(f results.Finding) (kind, step string) {
	first, rest, _ := strings.Cut(f.Name(), "/")
	if _, known := words().Pipes[first]; known {
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

// A question is a row of the table of rules.
type question struct {
	asks  string
	steps []string // the first that was found answers; one that ends in "/" is any step under it
	least bool     // of many such findings the least value, or the one that says yes
	fits  float64  // if set, the answer is whether the value is at least this
}

var pipeQuestions = []question{
	{asks: "A new pipe holds", steps: []string{"capacity/stated", "capacity/accepted"}},
	{asks: "Writes of one size fill it with as little as", steps: []string{"capacity/fill/"},
		least: true},
	{asks: "A chunk of 60 KiB fits into it whole", steps: []string{"capacity/fill/61440"},
		fits: 61440},
	{asks: "Asked to hold 100,000 B, it holds", steps: []string{"settable/100000"}},
	{asks: "A full one takes a byte again after reading", steps: []string{"slot"}},
	{asks: "poll(2) calls it writable after reading", steps: []string{"poll/writable-after"}},
	{asks: "A write goes in whole or not at all up to", steps: []string{"all-or-nothing"}},
	{asks: "Writes of 4,096 B of two programs mix", steps: []string{"interleave/4096/"},
		least: true},
	{asks: "Writes of 60 KiB of two programs mix", steps: []string{"interleave/61440/"},
		least: true},
	{asks: "A write to a full one, without blocking, gives", steps: []string{"full/write"}},
	{asks: "A write after the reader has left gives", steps: []string{"broken/no-reader"}},
	{asks: "SIGPIPE is sent with it", steps: []string{"broken/no-reader/sigpipe"}},
	{asks: "A blocked write gives, when the reader leaves",
		steps: []string{"broken/after-0/error"}},
	{asks: "The writer is told of it after", steps: []string{"broken/after-0/notice"}},
	{asks: "A parent that only writes to an echoing child hangs after",
		steps: []string{"deadlock/parent-writes"}},
}

// machineQuestions do not depend on the kind of pipe.
var machineQuestions = []question{
	{asks: "Copies are slow at these differences of addresses, mod 4096",
		steps: []string{"copy-zone"}},
	{asks: "… and take so many times as long there", steps: []string{"copy-zone/slowdown"}},
	{asks: "Waking a reader takes, on one CPU", steps: []string{"wake-up/same", "wake-up/free"}},
	{asks: "… and on two CPUs",
		steps: []string{"wake-up/apart", "wake-up/sibling", "wake-up/far"}},
	{asks: "Messages of 1 MB to an idle reader, one CPU",
		steps: []string{"write-size/same/whole", "write-size/free/whole"}},
	{asks: "… in writes of 8 KiB",
		steps: []string{"write-size/same/8KiB", "write-size/free/8KiB"}},
	{asks: "… through a pipe of 1 MiB",
		steps: []string{"write-size/same/pipe-1MiB", "write-size/free/pipe-1MiB"}},
	{asks: "Messages of 1 MB to an idle reader, two CPUs",
		steps: []string{"write-size/apart/whole", "write-size/sibling/whole"}},
	{asks: "… in writes of 8 KiB",
		steps: []string{"write-size/apart/8KiB", "write-size/sibling/8KiB"}},
	{asks: "… through a pipe of 1 MiB",
		steps: []string{"write-size/apart/pipe-1MiB", "write-size/sibling/pipe-1MiB"}},
}

// stepQuestions asks for every step of findings.
func stepQuestions(all []results.Finding) []question {
	var questions []question
	seen := make(map[string]bool)
	for _, f := range all {
		_, step := kindOf(f)
		if !seen[step] {
			seen[step] = true
			questions = append(questions, question{asks: step, steps: []string{step}})
		}
	}
	return questions
}

// answers reports whether a step is one that the question asks for. An experiment that came to no
// result answers for all that it would have found.
func (q question) answers(step string, f results.Finding) bool {
	for _, asked := range q.steps {
		switch {
		case step == asked:
			return true
		case strings.HasSuffix(asked, "/") && strings.HasPrefix(step, asked):
			return true
		case isNoResult(f) && (step == "kind" || strings.HasPrefix(asked, step+"/")):
			return true
		}
	}
	return false
}

func isNoResult(f results.Finding) bool {
	return f.Verdict == results.CannotTell || f.Verdict == results.Unsupported
}

// answer returns what findings about one kind of pipe answer to a question.
func (q question) answer(all []results.Finding) (best results.Finding, ok bool) {
	for _, f := range all {
		_, step := kindOf(f)
		if !q.answers(step, f) || f.Value == "too few" {
			continue
		}
		n, isNumber := f.Number()
		least, _ := best.Number()
		if !ok || q.least && (isNumber && n < least || f.Value == true) {
			best = f
			ok = true
		}
	}
	return best, ok
}

// notSeen is what chance did not bring about, which does not say that it cannot be.
const notSeen = "not seen"

// cell words the answer that a finding gives.
func (q question) cell(f results.Finding, ok bool) Cell {
	if !ok {
		return Cell{}
	}
	_, step := kindOf(f)
	n, isNumber := f.Number()
	switch {
	case f.Class != "": // hangs, fails
		return textCell(f.Class)
	case isNumber && q.fits > 0:
		return textCell(exactValue(n >= q.fits, ""))
	case strings.HasPrefix(step, "interleave/") && f.Value == false:
		return textCell(notSeen)
	}
	cell := exactCell(f.Value, f.Unit)
	if size, fill := strings.CutPrefix(step, "capacity/fill/"); fill && q.least {
		cell.Text += " (" + size + " B each)"
	}
	if f.Verdict == results.Refuted {
		cell.Text += " (DIFFERS)"
	}
	return cell
}

// isExact reports whether the answer is the same in every run: not a time, a rate or a chance.
func (q question) isExact(f results.Finding) bool {
	kind, step := kindOf(f)
	return f.Unit != "ns" && kind != "" && kind != "pty" && !strings.HasPrefix(step, "interleave/")
}

// rulesOfKinds has a row for each question, and a column for each kind of pipe.
func rulesOfKinds(all []results.Finding) Table {
	kinds := kindsIn(all)
	t := Table{Columns: Columns("~")}
	own := make([][]results.Finding, len(kinds))
	for _, f := range all {
		kind, _ := kindOf(f)
		if i := slices.Index(kinds, kind); i >= 0 {
			own[i] = append(own[i], f)
		}
	}
	for _, kind := range kinds {
		t.Columns = append(t.Columns, Column{Title: kind, Right: true})
	}
	for _, q := range pipeQuestions {
		row := []Cell{textCell(q.asks)}
		known := false
		for i := range kinds {
			f, ok := q.answer(own[i])
			known = known || ok
			row = append(row, q.cell(f, ok))
		}
		if known {
			t.AppendCells(row...)
		}
	}
	return t
}

// rulesOfMachine has a row for each question that is not about a kind of pipe.
func rulesOfMachine(all []results.Finding) Table {
	t := Table{Columns: Columns("~", ">this machine")}
	for _, q := range machineQuestions {
		f, ok := q.answer(all)
		if kind, _ := kindOf(f); ok && kind == "" {
			t.AppendCells(textCell(q.asks), q.cell(f, ok))
		}
	}
	return t
}

// A ruleColumn is what machines that answer alike found, or what a system documents.
type ruleColumn struct {
	title string
	cells []Cell
	exact []string // the answers by which machines are alike, "" where there is none
}

// alike reports whether two columns give the same answers, as far as both have one.
func (c ruleColumn) alike(o ruleColumn) bool {
	for i, answer := range c.exact {
		if answer != "" && o.exact[i] != "" && answer != o.exact[i] {
			return false
		}
	}
	return true
}

// join adds a machine that answers alike. Its answers fill in what the others were not asked.
func (c *ruleColumn) join(o ruleColumn) {
	c.title += " " + o.title
	for i := range c.cells {
		if c.cells[i].Text == "" || c.cells[i].Text == notSeen && o.cells[i].Text != "" {
			c.cells[i] = o.cells[i]
			c.exact[i] = o.exact[i]
		}
	}
}

// rulesBeside has a table for each kind of pipe, with machines and systems beside each other.
func rulesBeside(set *results.Set, systems []DocumentedSystem, detail bool) []Table {
	var tables []Table
	for _, kind := range append(kindsIn(set.Findings), "") {
		var own []results.Finding
		for _, f := range set.Findings {
			if k, _ := kindOf(f); k == kind {
				own = append(own, f)
			}
		}
		questions := pipeQuestions
		if kind == "" {
			questions = machineQuestions
		}
		if detail {
			questions = stepQuestions(own)
		}
		t := tableBeside(set, own, questions, systemsOf(kind, systems))
		t.Title = "What " + words().Pipes[kind] + " does"
		if kind == "" {
			t.Title = "What copies and wake-ups cost"
		}
		if len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	return tables
}

// systemsOf returns the systems whose rules are about a kind of pipe. A FIFO is the same pipe
// with a name, but not on Windows; pairs of sockets have no rules here.
func systemsOf(kind string, systems []DocumentedSystem) []DocumentedSystem {
	var own []DocumentedSystem
	for _, s := range systems {
		if kind == "anonymous" || kind == "fifo" && s.Name != "windows" {
			own = append(own, s)
		}
	}
	return own
}

func tableBeside(set *results.Set, own []results.Finding, questions []question,
	systems []DocumentedSystem) Table {
	var columns []ruleColumn
	for i, e := range probedMachines(set) {
		var found []results.Finding
		for _, f := range own {
			if set.Machine(f.Run) == e.Machine {
				found = append(found, f)
			}
		}
		c := columnOfMachine(letter(i), found, questions)
		at := slices.IndexFunc(columns, c.alike)
		if at < 0 {
			columns = append(columns, c)
			continue
		}
		columns[at].join(c)
	}
	for _, s := range systems {
		columns = append(columns, columnOfSystem(s, questions))
	}
	t := Table{Columns: Columns("~question")}
	for _, c := range columns {
		t.Columns = append(t.Columns, Column{Title: c.title})
	}
	for i, q := range questions {
		row := []Cell{textCell(q.asks)}
		known := false
		for _, c := range columns {
			cell := c.cells[i]
			known = known || cell.Text != ""
			first := columns[0].exact[i]
			if first != "" && c.exact[i] != "" && c.exact[i] != first {
				cell.Text = "≠ " + cell.Text
			}
			row = append(row, cell)
		}
		if known {
			t.AppendCells(row...)
		}
	}
	return t
}

func columnOfMachine(title string, found []results.Finding, questions []question) ruleColumn {
	c := ruleColumn{title: title}
	for _, q := range questions {
		f, ok := q.answer(found)
		cell := q.cell(f, ok)
		c.cells = append(c.cells, cell)
		answer := ""
		if ok && q.isExact(f) {
			answer = cell.Text
		}
		c.exact = append(c.exact, answer)
	}
	return c
}

func columnOfSystem(s DocumentedSystem, questions []question) ruleColumn {
	c := ruleColumn{title: s.Name + "*"}
	for _, q := range questions {
		var cell Cell
		if value, ok := s.Predict(q.steps[0]); ok {
			unit := ""
			if _, isNumber := (results.Finding{Value: value}).Number(); isNumber {
				unit = "B"
			}
			id := "rule/anonymous/" + q.steps[0]
			cell = q.cell(results.Finding{ID: id, Value: value, Unit: unit}, ok)
		}
		c.cells = append(c.cells, cell)
		answer := cell.Text
		if answer == notSeen {
			answer = ""
		}
		c.exact = append(c.exact, answer)
	}
	return c
}

// documentedTable is what the rules of the systems say in words, and where that was read.
func documentedTable(systems []DocumentedSystem) Table {
	var names []string
	var rows [][]Cell
	for _, s := range systems {
		names = append(names, s.Name)
		for _, r := range s.Rules {
			rows = append(rows, []Cell{
				textCell(r.About), textCell(s.Name), textCell(r.Says), textCell(r.Source),
			})
		}
	}
	sort.SliceStable(rows, func(i, j int) bool { return rows[i][0].Text < rows[j][0].Text })
	t := Table{
		Title:   "What is documented of " + strings.Join(names, ", ") + " (not measured here)",
		Columns: Columns("about", "system", "says", "source"),
	}
	for _, row := range rows {
		t.AppendCells(row...)
	}
	return t
}

// exactValue writes sizes as exact numbers, whatever program or file they come from, and times
// shortly.
func exactValue(value any, unit string) string {
	n, isNumber := (results.Finding{Value: value}).Number()
	switch {
	case isNumber && (unit == "ns" || unit == "B/s"):
		return results.FormatUnit(n, unit)
	case isNumber:
		return strings.TrimSpace(strconv.FormatFloat(n, 'f', -1, 64) + " " + unit)
	case value == true:
		return "yes"
	case value == false:
		return "no"
	}
	return fmt.Sprint(value)
}

// exactCell shows a value exactly, which programs read without its unit.
func exactCell(value any, unit string) Cell {
	if n, ok := (results.Finding{Value: value}).Number(); ok {
		return figureCell(n, exactValue(value, unit))
	}
	return textCell(exactValue(value, unit))
}

func pagesText(e results.Environment) string {
	return "pages of " + results.FormatSize(int64(e.PageSize))
}
