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
	asks, pipe, step string  // of any kind where pipe is empty
	fits             float64 // if set, the answer is whether the value is at least this
}

// questions are in the order in which they matter to who chooses how to write.
var questions = []question{
	{"A new pipe holds", "anonymous", "capacity/stated|capacity/accepted", 0},
	{"Writes of one size fill it with as little as", "anonymous", "capacity/fill/*", 0},
	{"A chunk of 60 KiB fits into it whole", "anonymous", "capacity/fill/61440", 60 << 10},
	{"A write of 1 MiB, without blocking, puts in", "anonymous", "growth/first-write", 0},
	{"Asked to hold 100,000 B, it holds", "anonymous", "settable/100000", 0},
	{"A full one takes a byte again once there were read", "anonymous", "slot", 0},
	{"poll(2) calls it writable once there were read", "anonymous", "poll/writable-after", 0},
	{"Writes go in whole or not at all up to", "anonymous", "all-or-nothing", 0},
	{"Writes of 4,096 B of two programs mix", "anonymous", "interleave/4096/*", 0},
	{"Writes of 60 KiB of two programs mix", "anonymous", "interleave/61440/*", 0},
	{"A write to a full one, without blocking, gives", "anonymous", "full/write", 0},
	{"A write after the reader has left gives", "anonymous", "broken/no-reader", 0},
	{"SIGPIPE is sent with it", "anonymous", "broken/no-reader/sigpipe", 0},
	{"A blocked write gives, when the reader leaves", "anonymous", "broken/after-0/error", 0},
	{"The writer is told of it after", "anonymous", "broken/after-0/notice", 0},
	{"A parent that writes to an echoing child, and does not read, hangs after", "anonymous", "deadlock/parent-writes", 0},
	{"A socket pair holds", "socketpair", "capacity/accepted", 0},
	{"A socket pair is filled by writes of one size with as little as", "socketpair", "capacity/fill/*", 0},
}

// answers reports whether a finding is one that the question asks for. An experiment that came to
// no result answers for all that it would have found.
func (q question) answers(p results.Probe) bool {
	return (q.pipe == "" || p.Pipe == q.pipe) && slices.ContainsFunc(strings.Split(q.step, "|"), func(asked string) bool {
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
	if n, ok := p.Number(); ok && q.fits > 0 {
		c = textCell(exactValue(n >= q.fits, ""))
	}
	if size, of := strings.CutPrefix(p.Step, "capacity/fill/"); of && q.fits == 0 {
		c.Text += " (" + size + " B each)"
	}
	c.How = fmt.Sprintf("%s: %s (%s)", p.Step, p.How, p.Run)
	return c
}

// timed reports whether the answer is a time, which is never the same twice.
func (q question) timed() bool { return strings.HasSuffix(q.step, "/notice") }

// An atlasColumn is what answers each of the questions: machines that answer alike, or the rules of
// a system.
type atlasColumn struct {
	heading  string
	machines []results.Environment
	found    []results.Probe
}

// alike reports whether two columns answer alike, but for times and for what too few messages say.
func (c atlasColumn) alike(o atlasColumn) bool {
	for i, q := range questions {
		a, b := c.found[i], o.found[i]
		if !q.timed() && a.Value != "too few" && b.Value != "too few" && q.cell(a).Text != q.cell(b).Text {
			return false
		}
	}
	return true
}

// Atlas asks the machines of a set the same questions: a row each, a column for those that answer
// alike, and a column for what the rules of each of the systems predict. What differs from the first
// column is marked. With detail a table says how each was found, and in which run.
func Atlas(set *results.Set, systems []DocumentedSystem, detail bool) Page {
	columns := atlasColumns(set)
	p := Page{Notes: []string{
		"≠ differs from the first column. Systems in one column answer alike; the times are those of its first.",
		"Where a system is emulated or imitated, this shows what pipes do there and not how fast.",
	}}
	for i, c := range columns {
		for _, e := range c.machines {
			line := JoinParts(systemText(e), pagesText(e), e.Imitation, e.Virtualisation, e.Time.UTC().Format("2006-01-02"))
			p.Header = append(p.Header, letter(i)+"  "+line)
		}
	}
	p.Conclusions = []string{fmt.Sprintf("%s answer %d questions in %s.",
		results.FormatCount(len(p.Header), "system"), len(questions), results.FormatCount(len(columns), "way"))}
	for _, s := range systems {
		columns = append(columns, s.atlasColumn(set))
	}
	p.Tables = []Table{atlasTable(columns)}
	if detail {
		p.Tables = append(p.Tables, howTable(columns))
	}
	if len(systems) > 0 {
		p.Tables = append(p.Tables, documented(systems))
		p.Notes = append(p.Notes, "* read in the system's sources, measured on no machine. A dash: not measured, or no rule predicts it.")
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

// atlasColumns puts the machines that were probed into columns.
func atlasColumns(set *results.Set) []atlasColumn {
	var columns []atlasColumn
	for _, e := range FirstRuns(set) {
		own := stat.Filter(set.Probes, func(p results.Probe) bool { return set.Machine(p.Run) == e.Machine })
		c := atlasColumn{machines: []results.Environment{e}}
		c.found = stat.Map(questions, func(q question) results.Probe { return q.choose(own) })
		alike := slices.IndexFunc(columns, c.alike)
		switch {
		case !slices.ContainsFunc(c.found, func(p results.Probe) bool { return p.Step != "" }): // not probed at all
		case alike >= 0:
			to := &columns[alike]
			to.machines = append(to.machines, e)
			for i := range to.found {
				if to.found[i].Value == "too few" {
					to.found[i] = c.found[i]
				}
			}
		default:
			columns = append(columns, c)
		}
	}
	for i, c := range columns {
		list := func(of func(results.Environment) string) string { return strings.Join(Distinct(c.machines, of), " / ") }
		system := list(func(e results.Environment) string { return e.OS })
		imitation := list(func(e results.Environment) string { return cmp.Or(e.Imitation, "not emulated") })
		columns[i].heading = letter(i) + " " + JoinParts(system, list(pagesText), imitation)
	}
	return columns
}

func pagesText(e results.Environment) string {
	return "pages of " + results.FormatSize(int64(e.PageSize))
}

// atlasColumn is what the rules of a system predict for the steps that some machine made.
func (s DocumentedSystem) atlasColumn(set *results.Set) atlasColumn {
	c := atlasColumn{heading: s.Name + "*"}
	for _, q := range questions {
		var predicted []results.Probe
		for _, p := range stat.Filter(set.Probes, q.answers) {
			if value, ok := s.Predict(p.Step); ok && p.Pipe == "anonymous" {
				p.Value, p.How, p.Run = value, "documented", s.source(p.Step)
				predicted = append(predicted, p)
			}
		}
		c.found = append(c.found, q.choose(predicted))
	}
	return c
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
func atlasTable(columns []atlasColumn) Table {
	t := Table{Title: "What pipes do on each system", Columns: Columns("~question")}
	for _, c := range columns {
		t.Columns = append(t.Columns, Columns("?"+c.heading)...)
	}
	for i, q := range questions {
		row := []Cell{textCell(q.asks)}
		for _, c := range columns {
			cell := q.cell(c.found[i])
			if len(row) > 1 && !q.timed() && cell.Text != "" && cell.Text != row[1].Text {
				cell.Text = "≠ " + cell.Text
			}
			row = append(row, cell)
		}
		t.AppendCells(row...)
	}
	return t
}

const howTitle = "How each was found"

// howTable has a row for each answer.
func howTable(columns []atlasColumn) Table {
	t := Table{Title: howTitle, Columns: Columns("question", "system", "step, experiment and run")}
	for i, q := range questions {
		for _, c := range columns {
			if cell := q.cell(c.found[i]); cell.How != "" {
				name, _, _ := strings.Cut(c.heading, " ")
				t.Append(q.asks, name, cell.How)
			}
		}
	}
	return t
}
