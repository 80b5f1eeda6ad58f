package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// RulesPage lays each finding of a set beside the documented rule of its system: two tables a kind
// of pipe, with the rules' texts and sources below, and last what it comes to.
func RulesPage(set *results.Set) Page {
	v := Page{}
	for _, e := range set.Environments {
		v.Header = append(v.Header, probedOn(e))
	}
	var notes sources
	var verdicts []string
	for _, kind := range pipes(set.Probes) {
		of := slices.DeleteFunc(slices.Clone(set.Probes), func(p results.Probe) bool { return p.Pipe != kind })
		rest, fills := splitFills(of)
		t := Table{Title: pipeTitle(kind), Columns: Columns("step", ">found", "documented rule", "how it was found")}
		for _, p := range rest {
			t.Append(p.Step, exactValue(p.Value, p.Unit), notes.rule(p), p.How)
		}
		v.addTable(t)
		v.addTable(fillTable(kind, fills, &notes))
		verdicts = append(verdicts, countVerdicts(kind, of))
	}
	v.Notes = append(notes.texts(), verdicts...)
	return v
}

// addTable leaves out a table without rows.
func (v *Page) addTable(t Table) {
	if len(t.Rows) > 0 {
		v.Tables = append(v.Tables, t)
	}
}

func pipeTitle(kind string) string {
	return map[string]string{
		"anonymous": "What an anonymous pipe does", "fifo": "What a FIFO does",
		"socketpair": "What a pair of sockets does", "named": "What a named pipe does",
	}[kind]
}

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

// countVerdicts counts the verdicts, and names what differs.
func countVerdicts(kind string, probes []results.Probe) string {
	count := map[string]int{}
	var differing, hanging []string
	for _, p := range probes {
		verdict := ruleVerdict(p)
		count[verdict]++
		if verdict == ruleDiffers {
			differing = append(differing, p.Step)
		}
		if p.Value == "hangs" || p.Value == "fails" {
			hanging = append(hanging, fmt.Sprintf("%s %v", p.Step, p.Value))
		}
	}
	text := fmt.Sprintf("%s: %d findings; %d agree with the documented rules, %d differ", kind, len(probes), count["agrees"], count[ruleDiffers])
	if len(differing) > 0 {
		text += " (" + strings.Join(differing, ", ") + ")"
	}
	text += fmt.Sprintf("; of %d the rules predict no value, and %d are not documented.", count["documented"], count["not documented"])
	if len(hanging) > 0 {
		text += " No result: " + strings.Join(hanging, ", ") + "."
	}
	return text
}

// sources number what the rules say and where that was read, each once.
type sources []string

// rule is how a finding stands to the rule, and the number of the note that quotes it: "agrees
// [1]", "DIFFERS from 32784 B [1]".
func (s *sources) rule(p results.Probe) string {
	verdict := ruleVerdict(p)
	if p.Documented == "" {
		return verdict
	}
	value, source := p.Documented, ""
	if at := strings.Index(p.Documented, " ("); p.Agrees == nil {
		source = p.Documented
	} else if at > 0 {
		value, source = p.Documented[:at], strings.TrimSuffix(p.Documented[at+2:], ")")
	}
	if verdict == ruleDiffers {
		verdict += " from " + value
	}
	if source == "" {
		return verdict
	}
	return fmt.Sprintf("%s [%d]", verdict, s.number(source))
}

// number is that of a text's note, a new one for a text that has none.
func (s *sources) number(source string) int {
	at := slices.Index(*s, source)
	if at < 0 {
		at = len(*s)
		*s = append(*s, source)
	}
	return at + 1
}

func (s sources) texts() []string {
	var out []string
	for i, text := range s {
		out = append(out, fmt.Sprintf("[%d] %s", i+1, text))
	}
	return out
}

// exactValue writes sizes as exact numbers, whatever program or file they come from, and times
// shortly.
func exactValue(value any, unit string) string {
	switch n := value.(type) {
	case bool:
		return map[bool]string{true: "yes", false: "no"}[n]
	case int:
		return exactNumber(float64(n), unit)
	case int64:
		return exactNumber(float64(n), unit)
	case float64:
		return exactNumber(n, unit)
	}
	return strings.TrimSpace(fmt.Sprint(value) + " " + unit)
}

func exactNumber(n float64, unit string) string {
	if unit == "ns" {
		return results.FormatDuration(n)
	}
	return strings.TrimSpace(strconv.FormatFloat(n, 'f', -1, 64) + " " + unit)
}

// pipes are the kinds of pipe of the probes, in their order.
func pipes(probes []results.Probe) []string {
	var kinds []string
	for _, p := range probes {
		if !slices.Contains(kinds, p.Pipe) {
			kinds = append(kinds, p.Pipe)
		}
	}
	return kinds
}

// fillSteps begin the four steps that fill a pipe with writes of one size; the size follows.
var fillSteps = []string{"capacity/fill/", "short-write/", "one-byte-after/", "poll/after/"}

// A filling is what was found of writes of one size, a probe for each of fillSteps, nil where there
// is none.
type filling struct {
	size   int
	probes []*results.Probe
}

// splitFills takes the fillings out of the probes of one kind of pipe.
func splitFills(probes []results.Probe) (rest []results.Probe, fills []filling) {
	for _, p := range probes {
		step, size, ok := cutFill(p.Step)
		if !ok {
			rest = append(rest, p)
			continue
		}
		at := slices.IndexFunc(fills, func(f filling) bool { return f.size == size })
		if at < 0 {
			at = len(fills)
			fills = append(fills, filling{size, make([]*results.Probe, len(fillSteps))})
		}
		fills[at].probes[step] = &p
	}
	slices.SortFunc(fills, func(a, b filling) int { return cmp.Compare(a.size, b.size) })
	return rest, fills
}

func cutFill(step string) (which, size int, ok bool) {
	for i, prefix := range fillSteps {
		if text, found := strings.CutPrefix(step, prefix); found {
			size, err := strconv.Atoi(text)
			return i, size, err == nil
		}
	}
	return 0, 0, false
}

// fillTable has a row for each size of writes.
func fillTable(kind string, fills []filling, notes *sources) Table {
	t := Table{
		Title:   pipeTitle(kind) + " when writes of one size, without blocking, fill it until one is refused",
		Columns: Columns(">each write", ">accepted", ">last write in part", ">1 B more fits", ">poll says writable", "documented rule"),
	}
	for _, f := range fills {
		row := []string{exactValue(f.size, "B")}
		for _, p := range f.probes {
			row = append(row, foundText(p))
		}
		t.Append(append(row, f.rule(notes))...)
	}
	return t
}

func foundText(p *results.Probe) string {
	if p == nil {
		return "-"
	}
	return exactValue(p.Value, p.Unit)
}

// rule joins how the four stand to their rules, each verdict once.
func (f filling) rule(notes *sources) string {
	var verdicts []string
	for i, p := range f.probes {
		if p == nil {
			continue
		}
		verdict := notes.rule(*p)
		if ruleVerdict(*p) == ruleDiffers {
			verdict = strings.TrimSuffix(fillSteps[i], "/") + " " + verdict
		}
		if !slices.Contains(verdicts, verdict) {
			verdicts = append(verdicts, verdict)
		}
	}
	return strings.Join(verdicts, ", ")
}

// probedOn describes a machine and when it was probed.
func probedOn(e results.Environment) string {
	return joinParts(MachineLine(e), e.Time.UTC().Format("2006-01-02 15:04 UTC"))
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
}

// A probedMachine is the findings of one, by kind of pipe and step.
type probedMachine struct {
	environment results.Environment
	found       map[string]map[string]results.Probe
}

// probedMachines gathers the probes of each machine of the sets, in their order. The last word on a
// step counts.
func probedMachines(sets []*results.Set) []probedMachine {
	var all []probedMachine
	for _, set := range sets {
		for _, p := range set.Probes {
			if p.Pipe == "" {
				continue // of the machine itself, not of its pipes
			}
			e, _ := set.Environment(p.Run)
			at := slices.IndexFunc(all, func(m probedMachine) bool {
				return m.environment.Machine == e.Machine && m.environment.Hostname == e.Hostname
			})
			if at < 0 {
				at = len(all)
				all = append(all, probedMachine{e, map[string]map[string]results.Probe{}})
			}
			if all[at].found[p.Pipe] == nil {
				all[at].found[p.Pipe] = map[string]results.Probe{}
			}
			all[at].found[p.Pipe][p.Step] = p
		}
	}
	return all
}

// RulesBeside lays machines side by side, the first set's first, with a column for what is
// documented of each of the systems. The same machine in several sets is one column, with what was
// found last.
func RulesBeside(sets []*results.Set, systems []DocumentedSystem) Page {
	all := probedMachines(sets)
	v := Page{}
	columns := []string{"step"}
	for i, m := range all {
		v.Header = append(v.Header, letter(i)+"  "+probedOn(m.environment))
		columns = append(columns, ">"+letter(i))
	}
	for _, s := range systems {
		columns = append(columns, ">"+s.Name+"*")
	}
	if len(all) > 1 {
		columns = append(columns, "alike")
	}
	for _, kind := range kindsOf(sets) {
		t := Table{Title: pipeTitle(kind), Columns: Columns(columns...)}
		for _, step := range stepsOf(sets, kind) {
			t.Append(besideRow(all, systems, kind, step)...)
		}
		v.Tables = append(v.Tables, t)
	}
	if len(systems) > 0 {
		v.Tables = append(v.Tables, documented(systems))
		v.Notes = append(v.Notes, "* documented, not measured here: of pipes as the system makes them by default, Linux with pages of 4 KiB. A dash: no rule predicts a value.")
	}
	return v
}

// letter names a machine's column: "A", "B", and "M26" where the letters end.
func letter(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return fmt.Sprintf("M%d", i)
}

// besideRow is one step on every machine and system.
func besideRow(all []probedMachine, systems []DocumentedSystem, kind, step string) []string {
	row := []string{step}
	var values []string
	unit, timed := "", false
	for _, m := range all {
		p, ok := m.found[kind][step]
		if !ok {
			row = append(row, "-")
			continue
		}
		unit, timed = p.Unit, p.Unit == "ns"
		values = append(values, exactValue(p.Value, p.Unit))
		row = append(row, values[len(values)-1])
	}
	for _, s := range systems {
		row = append(row, predictedText(s, kind, step, unit))
	}
	if len(all) > 1 {
		row = append(row, alike(values, timed))
	}
	return row
}

// predictedText is what is documented of a step on a system's pipes: a FIFO is the same pipe, with
// a name; pairs of sockets have no rules here.
func predictedText(s DocumentedSystem, kind, step, unit string) string {
	value, ok := s.Predict(step)
	if !ok || kind != "anonymous" && (kind != "fifo" || s.Name == "windows") {
		return "-"
	}
	return exactValue(value, unit)
}

// alike says whether machines do the same, where that can be told: times never are the same.
func alike(values []string, timed bool) string {
	switch {
	case len(values) < 2 || timed:
		return "-"
	case len(slices.Compact(slices.Clone(values))) == 1:
		return "yes"
	}
	return "NO"
}

func kindsOf(sets []*results.Set) []string {
	var probes []results.Probe
	for _, s := range sets {
		probes = append(probes, s.Probes...)
	}
	return slices.DeleteFunc(pipes(probes), func(kind string) bool { return kind == "" })
}

// stepsOf are the steps that any set has of a kind of pipe, in their order; what only a later set
// has comes after what the first has.
func stepsOf(sets []*results.Set, kind string) []string {
	var steps []string
	seen := map[string]bool{}
	for _, s := range sets {
		for _, p := range s.Probes {
			if p.Pipe == kind && !seen[p.Step] {
				seen[p.Step] = true
				steps = append(steps, p.Step)
			}
		}
	}
	return steps
}

// documented is what the rules of the systems say in words, and where that was read.
func documented(systems []DocumentedSystem) Table {
	var names []string
	for _, s := range systems {
		names = append(names, s.Name)
	}
	t := Table{
		Title:   "What is documented of " + strings.Join(names, ", ") + " (not measured here)",
		Columns: Columns("about", "system", "says", "source"),
	}
	about := map[string][][]string{}
	for _, s := range systems {
		for _, r := range s.Rules {
			about[r.About] = append(about[r.About], []string{r.About, s.Name, r.Says, r.Source})
		}
	}
	for _, step := range slices.Sorted(maps.Keys(about)) {
		t.Rows = append(t.Rows, about[step]...)
	}
	return t
}
