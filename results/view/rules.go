package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// RulesPage lays each finding of a set beside the documented rule of its system: two tables a kind
// of pipe, with the rules' texts and sources below, and last what it comes to.
func RulesPage(set *results.Set) Page {
	v := Page{Header: stat.Map(FirstRuns(set), probedOn)}
	var notes footnotes
	var verdicts []string
	for _, of := range stat.GroupBy(set.Probes, pipeOf) {
		title := pipeTitle(of[0].Pipe)
		rest := stat.Filter(of, func(p results.Probe) bool { return fillSize(p) == 0 })
		found := tableOf(title, rest, []columnOf[results.Probe]{
			{"step", func(p results.Probe) Cell { return textCell(p.Step) }},
			{">~found", func(p results.Probe) Cell { return exactCell(p.Value, p.Unit) }},
			{"#unit", func(p results.Probe) Cell { return textCell(p.Unit) }},
			{"documented rule", func(p results.Probe) Cell { return textCell(notes.rule(p)) }},
			{"~how it was found", func(p results.Probe) Cell { return textCell(p.How) }},
		}...)
		tables := []Table{found, fillTable(title, of, &notes)}
		v.Tables = append(v.Tables, stat.Filter(tables, Table.hasRows)...)
		count := func(verdict string) int { return len(standing(of, verdict)) }
		text := fmt.Sprintf("%s: %s; %d agree with the documented rules, %d differ", of[0].Pipe,
			results.FormatCount(len(of), "finding"), count("agrees"), count(ruleDiffers))
		if steps := stat.Map(standing(of, ruleDiffers), func(p results.Probe) string { return p.Step }); len(steps) > 0 {
			text += " (" + strings.Join(steps, ", ") + ")"
		}
		text += fmt.Sprintf("; of %d the rules predict no value, and %d are not documented.", count("documented"), count("not documented"))
		hangs := func(p results.Probe) string { return fmt.Sprintf("%s %v", p.Step, p.Value) }
		if steps := stat.Map(stat.Filter(of, results.Probe.NoResult), hangs); len(steps) > 0 {
			text += " No result: " + strings.Join(steps, ", ") + "."
		}
		verdicts = append(verdicts, text)
	}
	v.Notes = append(notes.texts(), verdicts...)
	return v
}

// RulesScreen answers in some ten lines what most people ask: first whether anything differs from the
// documented rules, then the main rules of each kind of pipe. [RulesPage] has every finding.
func RulesScreen(set *results.Set) Page {
	v := Page{Header: append(probeAgreement(set), stat.Map(FirstRuns(set), probedOn)...)}
	columns := []columnOf[question]{{"", func(q question) Cell { return textCell(q.Asks) }}}
	byKind := stat.GroupBy(set.Probes, pipeOf)
	differ, none := []string{"differ from the documented rule"}, []string{"came to no result"}
	for _, of := range byKind {
		columns = append(columns, columnOf[question]{">" + of[0].Pipe, func(q question) Cell { return q.cell(q.choose(of)) }})
		differ = append(differ, fmt.Sprintf("%d of %d", len(standing(of, ruleDiffers)), len(of)))
		n := len(stat.Filter(of, results.Probe.NoResult))
		none = append(none, when(n > 0, strconv.Itoa(n)))
	}
	v.Tables = []Table{tableOf("", stat.Filter(words().PipeQuestions, func(q question) bool {
		return q.choose(set.Probes).Step != ""
	}), columns...)}
	v.Tables[0].Append(differ...)
	if slices.ContainsFunc(set.Probes, results.Probe.NoResult) {
		v.Tables[0].Append(none...)
	}
	for _, p := range standing(set.Probes, ruleDiffers) {
		found := exactValue(p.Value, p.Unit)
		v.Conclusions = append(v.Conclusions, fmt.Sprintf("%s %s: %s, documented %s", p.Pipe, p.Step, found, p.Documented))
	}
	for _, p := range stat.Filter(set.Probes, results.Probe.NoResult) {
		v.Conclusions = append(v.Conclusions, fmt.Sprintf("%s %s %v", p.Pipe, p.Step, p.Value))
	}
	v.Notes = []string{"every finding, how it was found, and its rule: --detail"}
	return v
}

// probeTable has a row for each step, and for each machine a column with what was found.
func probeTable(s *results.Set) Table {
	type probes = onMachines[results.Probe]
	machines := stat.Distinct(s.Probes, func(p results.Probe) string { return s.Machine(p.Run) })
	columns := []columnOf[probes]{
		{"pipe", func(found probes) Cell { return textCell(found.first.Pipe) }},
		{"`step", func(found probes) Cell { return textCell(found.first.Step) }},
	}
	value := func(p results.Probe) Cell { // sizes and times with their units
		if n, ok := p.Number(); ok {
			return figureCell(n, results.FormatUnit(n, p.Unit))
		}
		return Cell{Text: strings.TrimSpace(fmt.Sprint(p.Value) + " " + p.Unit), Base: fmt.Sprint(p.Value)}
	}
	head := func(id string) string { return ">" + cmp.Or(MachineTitle(s, id), "value") }
	columns = append(columns, foundOn(machines, head, value)...)
	rows := byMachine(s, s.Probes, func(p results.Probe) string { return p.Pipe + " " + p.Step })
	return tableOf("What the pipes do", rows, append(columns, []columnOf[probes]{
		{"~documented", func(found probes) Cell {
			return textCell(JoinParts(found.texts(machines, func(p results.Probe) string { return p.Documented })...))
		}},
		{"!agrees", func(found probes) Cell {
			agrees := ""
			differ := found.texts(machines, func(p results.Probe) string {
				if p.Agrees == nil || *p.Agrees {
					agrees = map[bool]string{true: "yes", false: agrees}[p.Agrees != nil]
					return ""
				}
				return "NO " + MachineTitle(s, s.Machine(p.Run))
			})
			return textCell(strings.TrimSpace(cmp.Or(strings.Join(differ, ", "), agrees)))
		}},
		{"+~how", func(found probes) Cell { return textCell(found.first.How) }},
		{"#unit", func(found probes) Cell { return textCell(found.first.Unit) }},
	}...)...)
}

func pipeOf(p results.Probe) string { return p.Pipe }

func pipeTitle(kind string) string { return "What " + cmp.Or(words().Pipes[kind], kind) + " does" }

// ruleVerdict says how a finding stands to the rule: "agrees", "differs", "documented" where the
// rule predicts no value, or "not documented".
func ruleVerdict(p results.Probe) string {
	switch {
	case p.Agrees == nil && p.Documented != "":
		return "documented"
	case p.Agrees == nil:
		return "not documented"
	case *p.Agrees:
		return "agrees"
	}
	return ruleDiffers
}

// ruleDiffers is loud: it is what the reader came for.
const ruleDiffers = "DIFFERS"

// standing returns those of findings that stand so to their rules.
func standing(probes []results.Probe, verdict string) []results.Probe {
	return stat.Filter(probes, func(p results.Probe) bool { return ruleVerdict(p) == verdict })
}

// rule is how a finding stands to the rule, and the number of the note that quotes it: "agrees
// [1]", "DIFFERS from 32784 B [1]".
func (f *footnotes) rule(p results.Probe) string {
	verdict := ruleVerdict(p)
	if p.Documented == "" {
		return verdict
	}
	value, source, _ := strings.Cut(p.Documented, " (")
	if source = strings.TrimSuffix(source, ")"); p.Agrees == nil {
		source = p.Documented
	}
	if verdict == ruleDiffers {
		verdict += " from " + value
	}
	if source == "" {
		return verdict
	}
	return fmt.Sprintf("%s [%d]", verdict, f.number(source))
}

// exactValue writes sizes as exact numbers, whatever program or file they come from, and times
// shortly.
func exactValue(value any, unit string) string {
	n, isNumber := (results.Probe{Value: value}).Number()
	switch {
	case isNumber && unit == "ns":
		return results.FormatDuration(n)
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
	if n, ok := (results.Probe{Value: value}).Number(); ok {
		return figureCell(n, exactValue(value, unit))
	}
	return textCell(exactValue(value, unit))
}

// fillSteps begin the four steps that fill a pipe with writes of one size; the size follows.
var fillSteps = []string{"capacity/fill/", "short-write/", "one-byte-after/", "poll/after/"}

// fillSize returns the size of the writes that a step fills a pipe with, 0 of other steps.
func fillSize(p results.Probe) (size int) {
	for _, prefix := range fillSteps {
		if text, found := strings.CutPrefix(p.Step, prefix); found {
			size, _ = strconv.Atoi(text)
		}
	}
	return size
}

// fillTable has a row for each size of writes that filled a kind of pipe.
func fillTable(title string, of []results.Probe, notes *footnotes) Table {
	type filling = []results.Probe // what was found of writes of one size
	fills := stat.GroupBy(stat.Filter(of, func(p results.Probe) bool { return fillSize(p) > 0 }), fillSize)
	last := func(f filling, step string) (found results.Probe, ok bool) {
		if own := stat.Filter(f, func(p results.Probe) bool { return strings.HasPrefix(p.Step, step) }); len(own) > 0 {
			return own[len(own)-1], true
		}
		return found, false
	}
	slices.SortFunc(fills, func(a, b filling) int { return cmp.Compare(fillSize(a[0]), fillSize(b[0])) })
	found := func(step int) func(filling) Cell {
		return func(f filling) Cell {
			p, ok := last(f, fillSteps[step])
			return when(ok, exactCell(p.Value, p.Unit))
		}
	}
	return tableOf(title+" when writes of one size, without blocking, fill it until one is refused", fills, []columnOf[filling]{
		{">each write|each write (B)", func(f filling) Cell { return exactCell(fillSize(f[0]), "B") }},
		{">accepted|accepted (B)", found(0)},
		{">last write in part|last write in part (B)", found(1)},
		{">1 B more fits", found(2)},
		{">poll says writable", found(3)},
		{"documented rule", func(f filling) Cell {
			var verdicts []string
			for _, step := range fillSteps {
				if p, ok := last(f, step); ok { // one that differs is named
					loud := when(ruleVerdict(p) == ruleDiffers, strings.TrimSuffix(step, "/")+" ")
					verdicts = append(verdicts, loud+notes.rule(p))
				}
			}
			return textCell(strings.Join(stat.Distinct(verdicts, stat.Itself), ", "))
		}},
	}...)
}

// probedOn describes a machine and when it was probed.
func probedOn(e results.Environment) string {
	return JoinParts(MachineLine(e), e.Time.UTC().Format("2006-01-02 15:04 UTC"))
}

// A DocumentedSystem is what the rules of an operating system say of its pipes, wherever that was
// read.
type DocumentedSystem struct {
	Name    string                                 // as people call it: "macos"
	Predict func(step string) (value any, ok bool) // what the rules say a step of a probe finds
	Rules   []DocumentedRule
}

// A DocumentedRule is one rule of a system in words.
type DocumentedRule struct {
	About, Says, Source string

	system string // that it is of, in a table of several
}

// RulesBeside lays machines side by side, in the order of the set, with a column for what is
// documented of each of the systems. Of what a machine found more than once, the last counts.
func RulesBeside(set *results.Set, systems []DocumentedSystem) Page {
	var v Page
	id := func(p results.Probe) string { return strings.Join([]string{set.Machine(p.Run), p.Pipe, p.Step}, " ") }
	last := func(found []results.Probe) results.Probe { return found[len(found)-1] }
	probes := stat.Map(stat.GroupBy(set.Probes, id), last)
	// others are of the machine itself
	probes = stat.Filter(probes, func(p results.Probe) bool { return p.Pipe != "" })
	for i, e := range FirstRuns(set) {
		v.Header = append(v.Header, letter(i)+"  "+probedOn(e))
	}
	for _, of := range stat.GroupBy(probes, pipeOf) {
		v.Tables = append(v.Tables, besideTable(set, of[0].Pipe, of, systems))
	}
	if len(systems) > 0 {
		v.Tables = append(v.Tables, documented(systems))
		v.Notes = append(v.Notes, "* documented, not measured here: of pipes as the system makes them by default, Linux with pages of 4 KiB. A dash: no rule predicts a value.")
	}
	return v
}

// besideTable has a row for each step of a kind of pipe.
func besideTable(set *results.Set, kind string, of []results.Probe, systems []DocumentedSystem) Table {
	type probes = onMachines[results.Probe]
	machines := set.Machines()
	columns := []columnOf[probes]{{"step", func(found probes) Cell { return textCell(found.first.Step) }}}
	columns = append(columns, foundOn(machines,
		func(id string) string { return ">" + letter(slices.Index(machines, id)) },
		func(p results.Probe) Cell { return exactCell(p.Value, p.Unit) })...)
	for _, s := range systems {
		columns = append(columns, columnOf[probes]{">" + s.Name + "*", func(found probes) Cell {
			value, ok := s.Predict(found.first.Step) // a FIFO is the same pipe with a name; pairs of sockets have no rules here
			same := kind == "anonymous" || kind == "fifo" && s.Name != "windows"
			return when(ok && same, exactCell(value, found.first.Unit))
		}})
	}
	if len(machines) > 1 {
		columns = append(columns, columnOf[probes]{"alike", func(found probes) Cell { // times never are
			values := found.texts(machines, func(p results.Probe) string { return exactValue(p.Value, p.Unit) })
			told := len(found.on) > 1 && found.first.Unit != "ns"
			return when(told, textCell(map[bool]string{true: "yes", false: "NO"}[len(values) == 1]))
		}})
	}
	columns = append(columns, columnOf[probes]{"#unit", func(found probes) Cell { return textCell(found.first.Unit) }})
	step := func(p results.Probe) string { return p.Step }
	return tableOf(pipeTitle(kind), byMachine(set, of, step), columns...)
}

// letter names a machine's column: "A", "B", and "M26" where the letters end.
func letter(i int) string {
	return cmp.Or(when(i < 26, string(rune('A'+i))), fmt.Sprintf("M%d", i))
}

// documented is what the rules of the systems say in words, and where that was read.
func documented(systems []DocumentedSystem) Table {
	var rules []DocumentedRule
	for _, s := range systems {
		for _, r := range s.Rules {
			r.system = s.Name
			rules = append(rules, r)
		}
	}
	slices.SortStableFunc(rules, func(a, b DocumentedRule) int { return cmp.Compare(a.About, b.About) })
	names := strings.Join(stat.Map(systems, func(s DocumentedSystem) string { return s.Name }), ", ")
	return tableOf("What is documented of "+names+" (not measured here)", rules, []columnOf[DocumentedRule]{
		{"about", func(r DocumentedRule) Cell { return textCell(r.About) }},
		{"system", func(r DocumentedRule) Cell { return textCell(r.system) }},
		{"says", func(r DocumentedRule) Cell { return textCell(r.Says) }},
		{"source", func(r DocumentedRule) Cell { return textCell(r.Source) }},
	}...)
}
