package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A question is a row of a table: what is asked of every system or kind of pipe, and the step of a
// probe that answers it: "a|b" is a, or else b, and one with "*" at its end the least value of all such,
// or yes where one says so.
type question struct {
	Asks, Step string
	Fits       float64 // if set, the answer is whether the value is at least this
}

// answers reports whether a finding is one that the question asks for. An experiment that came to
// no result answers for all that it would have found.
func (q question) answers(p results.Probe) bool {
	return slices.ContainsFunc(strings.Split(q.Step, "|"), func(asked string) bool {
		prefix, many := strings.CutSuffix(asked, "*")
		return p.Step == asked || many && strings.HasPrefix(p.Step, prefix) ||
			p.NoResult() && (p.Step == "kind" || strings.HasPrefix(asked, p.Step+"/"))
	})
}

// choose returns the finding that answers the question, without a step where none does.
func (q question) choose(found []results.Probe) (best results.Probe) {
	for _, p := range stat.Filter(found, q.answers) {
		least, _ := best.Number()
		n, isNumber := p.Number()
		if best.Step == "" || isNumber && n < least || p.Value == true || best.Value == "too few" {
			best = p
		}
	}
	return best
}

// cell words the answer that a finding gives, and how it was found.
func (q question) cell(p results.Probe) Cell {
	if p.Step == "" || p.Value == "too few" {
		return Cell{}
	}
	c := exactCell(p.Value, p.Unit)
	if n, ok := p.Number(); ok && q.Fits > 0 {
		c = textCell(exactValue(n >= q.Fits, ""))
	}
	if size, of := strings.CutPrefix(p.Step, "capacity/fill/"); of && q.Fits == 0 {
		c.Text += " (" + size + " B each)"
	}
	if strings.HasPrefix(p.Step, "interleave/") && p.Value == false {
		c.Text = notSeen
	}
	c.How = fmt.Sprintf("%s: %s (%s)", p.Step, p.How, p.Run)
	return c
}

// notSeen is what chance did not bring about, which does not say that it cannot be.
const notSeen = "not seen"

// conclusive reports whether the text of a cell says what is so.
func conclusive(text string) bool { return text != "" && text != notSeen }

// timed reports whether the finding tells of time, which is never the same twice: as does what a
// pseudo-terminal holds, or takes when full, whose bytes a thread of the kernel moves on meanwhile.
func timed(p results.Probe) bool {
	_, number := p.Number()
	return strings.HasSuffix(p.Step, "/notice") || p.Pipe == "pty" && (number || p.Step == "full/write")
}

// An atlasColumn is what answers each of the questions: machines that answer alike, or the rules of
// a system.
type atlasColumn struct {
	letters  []string
	machines []results.Environment
	found    []results.Probe
}

// alike reports whether two columns answer alike, but for times and for what only one of them answers.
func (c atlasColumn) alike(o atlasColumn, asked []question) bool {
	for i, q := range asked {
		a, b := q.cell(c.found[i]).Text, q.cell(o.found[i]).Text
		if !timed(c.found[i]) && conclusive(a) && conclusive(b) && a != b {
			return false
		}
	}
	return true
}

// Atlas asks the machines of a set the same questions of their pipes: a row each, a column for those
// that answer alike, and a column for what the rules of each of the systems predict. What differs from
// the first column is marked. Another table has the streams that can be had in the place of a pipe.
// With detail a table says how each was found, and in which run.
func Atlas(set *results.Set, systems []DocumentedSystem, detail bool) Page {
	columns := atlasColumns(set, "anonymous", words().AtlasQuestions)
	p := Page{Notes: []string{
		"≠ differs from the first column. Systems in one column, or row, answer alike; times are those of its first, and so is what a pty holds or takes, whose bytes the kernel moves on meanwhile. What chance did not bring about is \"not seen\", which differs from nothing.",
		"Where a system is emulated or imitated, this shows what pipes do there and not how fast.",
	}}
	for i, e := range probed(set) {
		line := JoinParts(systemText(e), pagesText(e), e.Imitation, e.Virtualisation, e.Time.UTC().Format("2006-01-02"))
		p.Header = append(p.Header, letter(i)+"  "+line)
	}
	p.Conclusions = []string{fmt.Sprintf("%s answer %d questions in %s.",
		results.FormatCount(len(p.Header), "system"), len(words().AtlasQuestions), results.FormatCount(len(columns), "way"))}
	for _, s := range systems {
		// what the rules of a system predict for the steps that some machine made
		c := atlasColumn{letters: []string{s.Name + "*"}}
		for _, q := range words().AtlasQuestions {
			var predicted []results.Probe
			for _, found := range stat.Filter(set.Probes, q.answers) {
				if value, ok := s.Predict(found.Step); ok && found.Pipe == "anonymous" {
					found.Value, found.How, found.Run = value, "documented", s.source(found.Step)
					predicted = append(predicted, found)
				}
			}
			c.found = append(c.found, q.choose(predicted))
		}
		columns = append(columns, c)
	}
	streams, how := streamTables(set)
	p.Tables = []Table{atlasTable(columns, &how), streams}
	if detail {
		p.Tables = append(p.Tables, how)
	}
	if len(systems) > 0 {
		p.Tables = append(p.Tables, documented(systems))
		p.Notes = append(p.Notes, "* read in the system's sources, measured on no machine. A dash, or nothing: not measured, too few messages to tell, or no rule predicts it.")
	}
	return p
}

// AtlasSections are the sections of a page with the atlas: a table each, after what it comes to.
func AtlasSections(set *results.Set, systems []DocumentedSystem) []Section {
	p := Atlas(set, systems, true)
	out := []Section{{ID: "answer", Title: "Atlas of pipes", Lead: p.Conclusions}}
	for i, t := range p.Tables {
		s := Section{ID: fmt.Sprint("atlas-", i), Title: t.Title, Folded: t.Title == howTitle}
		t.Title = ""
		s.Tables = []Table{t}
		out = append(out, s)
	}
	out[1].Notes = append(p.Header, p.Notes...)
	return out
}

// probed returns the machines of which pipes were probed.
func probed(set *results.Set) []results.Environment {
	return stat.Filter(FirstRuns(set), func(e results.Environment) bool {
		return slices.ContainsFunc(set.Probes, func(p results.Probe) bool { return p.Pipe != "" && set.Machine(p.Run) == e.Machine })
	})
}

// atlasColumns puts the machines on which a kind of pipe was probed into columns.
func atlasColumns(set *results.Set, kind string, asked []question) (columns []atlasColumn) {
	for i, e := range probed(set) {
		own := stat.Filter(set.Probes, func(p results.Probe) bool { return p.Pipe == kind && set.Machine(p.Run) == e.Machine })
		c := atlasColumn{letters: []string{letter(i)}, machines: []results.Environment{e}}
		c.found = stat.Map(asked, func(q question) results.Probe { return q.choose(own) })
		alike := slices.IndexFunc(columns, func(o atlasColumn) bool { return c.alike(o, asked) })
		switch {
		case !slices.ContainsFunc(asked, func(q question) bool { return slices.ContainsFunc(own, q.answers) }):
		case alike < 0:
			columns = append(columns, c)
		default:
			to := &columns[alike]
			to.letters, to.machines = append(to.letters, letter(i)), append(to.machines, e)
			for i, q := range asked {
				if !conclusive(q.cell(to.found[i]).Text) && q.cell(c.found[i]).Text != "" {
					to.found[i] = c.found[i]
				}
			}
		}
	}
	return columns
}

func pagesText(e results.Environment) string {
	return "pages of " + results.FormatSize(int64(e.PageSize))
}

// source is where the rule that covers a step was read.
func (s DocumentedSystem) source(step string) string {
	best := DocumentedRule{Source: "POSIX"}
	for _, r := range s.Rules {
		if (step == r.About || strings.HasPrefix(step, r.About+"/")) && len(r.About) > len(best.About) {
			best = r
		}
	}
	return best.Source
}

// atlasTable has a row for each question, and marks what differs from the first column.
func atlasTable(columns []atlasColumn, how *Table) Table {
	t := Table{Title: "What pipes do on each system", Columns: Columns("~question")}
	for _, c := range columns {
		common := func(of func(results.Environment) string, mixed string) string {
			if all := stat.Distinct(c.machines, of); len(all) == 1 {
				return all[0]
			}
			return mixed
		}
		heading := strings.Join(c.letters, " ")
		if len(c.machines) > 0 {
			heading += " " + JoinParts(common(func(e results.Environment) string { return e.OS }, ""),
				common(func(e results.Environment) string { return e.Arch }, ""), common(pagesText, ""),
				common(func(e results.Environment) string { return cmp.Or(e.Imitation, "not emulated") }, "some emulated"))
		}
		t.Columns = append(t.Columns, Columns("?"+heading)...)
	}
	for i, q := range words().AtlasQuestions {
		row := []Cell{textCell(q.Asks)}
		for _, c := range columns {
			cell := c.cell(i, q, "anonymous", how)
			if len(row) > 1 && !timed(c.found[i]) && conclusive(cell.Text) && cell.Text != row[1].Text {
				cell.Text = "≠ " + cell.Text
			}
			row = append(row, cell)
		}
		t.AppendCells(row...)
	}
	return t
}

const howTitle = "How each was found"

// streamTables has a row for each kind of stream and the systems that answer alike, and the head of the
// table that says how each answer was found.
func streamTables(set *results.Set) (streams, how Table) {
	how = Table{Title: howTitle, Columns: Columns("stream", "question", "system", "step, experiment and run")}
	asked := slices.Concat(words().PipeQuestions, words().StreamQuestions)
	heads := stat.Map(asked, func(q question) string { return "?" + q.Asks })
	streams = Table{Title: "What each kind of byte stream does, where systems differ"}
	streams.Columns = Columns(append([]string{"stream", "systems"}, heads...)...)
	for _, of := range stat.GroupBy(set.Probes, pipeOf) {
		for _, c := range atlasColumns(set, of[0].Pipe, asked) {
			row := []Cell{textCell(JoinParts(of[0].Pipe, words().Pipes[of[0].Pipe])), textCell(strings.Join(c.letters, " "))}
			for i, q := range asked {
				row = append(row, c.cell(i, q, of[0].Pipe, &how))
			}
			streams.AppendCells(row...)
		}
	}
	return streams, how
}

// cell is the answer to a question, and adds to the table how it was found.
func (c atlasColumn) cell(i int, q question, stream string, how *Table) Cell {
	cell := q.cell(c.found[i])
	if cell.How != "" {
		how.Append(stream, q.Asks, strings.Join(c.letters, " "), cell.How)
	}
	return cell
}
