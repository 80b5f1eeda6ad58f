package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// RulesPage lays each finding of a set beside the documented rule of its system: two
// tables a kind of pipe, with the rules' texts and sources below, and last what
// it comes to.
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

// ruleVerdict says how a finding stands to the rule: "agrees", "differs",
// "documented" where the rule predicts no value, or "not documented".
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

// rule is how a finding stands to the rule, and the number of the note that
// quotes it: "agrees [1]", "DIFFERS from 32784 B [1]".
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

// exactValue writes sizes as exact numbers, whatever program or file they come
// from, and times shortly.
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

// fillSteps begin the four steps that fill a pipe with writes of one size; the
// size follows.
var fillSteps = []string{"capacity/fill/", "short-write/", "one-byte-after/", "poll/after/"}

// A filling is what was found of writes of one size, a probe for each of
// fillSteps, nil where there is none.
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
