package rules

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

// A View is tables, and what is to be said below them.
type View struct {
	Header []string
	Tables []view.Table
	Notes  []string
}

// Write writes the view as text or markdown. CSV is the tables alone, and so is
// JSON, as an object by the tables' titles; bench is an error.
func (v View) Write(w io.Writer, format view.Format) error {
	switch format {
	case view.FormatTable, view.FormatMarkdown:
		return v.writeText(w, format)
	case view.FormatJSON:
		return v.writeJSON(w)
	}
	for i, t := range v.Tables {
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := t.Write(w, format); err != nil {
			return err
		}
	}
	return nil
}

func (v View) writeText(w io.Writer, format view.Format) error {
	var text strings.Builder
	bullet := map[view.Format]string{view.FormatMarkdown: "- "}[format]
	for _, line := range v.Header {
		text.WriteString(bullet + line + "\n")
	}
	for _, t := range v.Tables {
		text.WriteString("\n")
		if err := t.Write(&text, format); err != nil {
			return err
		}
	}
	if len(v.Notes) > 0 {
		text.WriteString("\n")
	}
	for _, note := range v.Notes {
		text.WriteString(bullet + note + "\n")
	}
	_, err := io.WriteString(w, strings.TrimLeft(text.String(), "\n"))
	return err
}

// writeJSON joins the tables, each an array of objects, under their titles.
func (v View) writeJSON(w io.Writer) error {
	var text strings.Builder
	for i, t := range v.Tables {
		if i > 0 {
			text.WriteString(",\n")
		}
		text.WriteString(strconv.Quote(t.Title) + ": ")
		if err := t.Write(&text, view.FormatJSON); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "{\n%s}\n", text.String())
	return err
}

// Page lays each finding of a set beside the documented rule of its system: two
// tables a kind of pipe, with the rules' texts and sources below, and last what
// it comes to.
func Page(set *results.Set) View {
	v := View{}
	for _, e := range set.Environments {
		v.Header = append(v.Header, machineLine(e))
	}
	var notes sources
	var verdicts []string
	for _, kind := range pipes(set.Probes) {
		of := slices.DeleteFunc(slices.Clone(set.Probes), func(p results.Probe) bool { return p.Pipe != kind })
		rest, fills := splitFills(of)
		t := view.Table{Title: title(kind), Columns: view.Columns("step", ">found", "documented rule", "how it was found")}
		for _, p := range rest {
			t.Append(p.Step, valueText(p.Value, p.Unit), notes.rule(p), p.How)
		}
		v.add(t)
		v.add(fillTable(kind, fills, &notes))
		verdicts = append(verdicts, tally(kind, of))
	}
	v.Notes = append(notes.texts(), verdicts...)
	return v
}

// add leaves out a table without rows.
func (v *View) add(t view.Table) {
	if len(t.Rows) > 0 {
		v.Tables = append(v.Tables, t)
	}
}

func title(kind string) string {
	return map[string]string{
		"anonymous": "What an anonymous pipe does", "fifo": "What a FIFO does",
		"socketpair": "What a pair of sockets does", "named": "What a named pipe does",
	}[kind]
}

// Verdict says how a finding stands to the rule: "agrees", "differs",
// "documented" where the rule predicts no value, or "not documented".
func Verdict(p results.Probe) string {
	switch {
	case p.Agrees == nil && p.Documented != "":
		return "documented"
	case p.Agrees == nil:
		return "not documented"
	case *p.Agrees:
		return "agrees"
	}
	return differs
}

// differs is loud: it is what the reader came for.
const differs = "DIFFERS"

// tally counts the verdicts, and names what differs.
func tally(kind string, probes []results.Probe) string {
	count := map[string]int{}
	var differing, hanging []string
	for _, p := range probes {
		verdict := Verdict(p)
		count[verdict]++
		if verdict == differs {
			differing = append(differing, p.Step)
		}
		if p.Value == "hangs" || p.Value == "fails" {
			hanging = append(hanging, fmt.Sprintf("%s %v", p.Step, p.Value))
		}
	}
	text := fmt.Sprintf("%s: %d findings; %d agree with the documented rules, %d differ", kind, len(probes), count["agrees"], count[differs])
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
	verdict := Verdict(p)
	if p.Documented == "" {
		return verdict
	}
	value, source := p.Documented, ""
	if at := strings.Index(p.Documented, " ("); p.Agrees == nil {
		source = p.Documented
	} else if at > 0 {
		value, source = p.Documented[:at], strings.TrimSuffix(p.Documented[at+2:], ")")
	}
	if verdict == differs {
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

// valueText writes sizes as exact numbers, whatever program or file they come
// from, and times shortly.
func valueText(value any, unit string) string {
	switch n := value.(type) {
	case bool:
		return map[bool]string{true: "yes", false: "no"}[n]
	case int:
		return numberText(float64(n), unit)
	case int64:
		return numberText(float64(n), unit)
	case float64:
		return numberText(n, unit)
	}
	return strings.TrimSpace(fmt.Sprint(value) + " " + unit)
}

func numberText(n float64, unit string) string {
	if unit == "ns" {
		return results.FormatDuration(n)
	}
	return strings.TrimSpace(strconv.FormatFloat(n, 'f', -1, 64) + " " + unit)
}

func machineLine(e results.Environment) string {
	return fmt.Sprintf("%s %s %s · %s · %s · %s", e.OS, e.Kernel, e.Arch, e.CPU, e.Hostname, e.Time.UTC().Format("2006-01-02 15:04 UTC"))
}
