package view

import (
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// mostColumns is how many groups of machines a table shows side by side.
const mostColumns = 6

// answerSection compares what machines found out in an area: a table with a line per question on
// which they disagree, and a column for each group of machines that answer alike.
func answerSection(members []stat.Member, area, title string) Section {
	out := Section{ID: area + "-findings", Title: title}
	if area == stat.AreaServer {
		out.ID = "servers"
	}
	var asked []stat.Member
	for _, m := range members {
		if slices.ContainsFunc(m.Answers, func(a stat.Answer) bool { return a.Area() == area }) {
			asked = append(asked, m)
		}
	}
	if len(asked) == 0 {
		return out
	}
	m := matrixOfVerdicts(asked, area)
	if area == results.AreaRule {
		m = matrixOfRules(asked)
	}
	m.group()
	out.Tables = []Table{m.table(title)}
	out.Lead = []string{m.sentence(title)}
	out.Notes = m.legend(title)
	return out
}

// A matrix is the answers of machines to questions.
type matrix struct {
	machines  []stat.Member
	questions []string
	columns   []ruleColumn // one per machine; after group, per machines that answer alike
	members   [][]int      // the machines of each column, after group
	alike     int          // number of questions to which all answers are the same
}

// matrixOfVerdicts has a line for each finding of an area.
func matrixOfVerdicts(machines []stat.Member, area string) matrix {
	out := matrix{machines: machines}
	at := make(map[string]int)
	name := func(a stat.Answer) string {
		text := results.Finding{ID: a.ID}.Name()
		if a.About != "" {
			text += " of " + Truncate(a.About, maxNameLength)
		}
		return text
	}
	for _, m := range machines {
		for _, a := range m.Answers {
			if _, known := at[name(a)]; !known && a.Area() == area {
				at[name(a)] = 0
				out.questions = append(out.questions, name(a))
			}
		}
	}
	slices.Sort(out.questions)
	for i, q := range out.questions {
		at[q] = i
	}
	for _, m := range machines {
		column := ruleColumn{cells: make([]Value, len(out.questions))}
		for _, a := range m.Answers {
			if a.Area() == area {
				column.cells[at[name(a)]] = answerValue(a)
			}
		}
		out.columns = append(out.columns, column)
	}
	return out
}

// answerValue shows how something turned out. A verdict that decides nothing has no Base, so
// machines do not differ by it.
func answerValue(a stat.Answer) Value {
	v := verdictValue(string(a.Verdict))
	switch a.Verdict {
	case results.CannotTell, results.Unsupported, results.Noted:
		v.Base = ""
		return v
	case results.Fails:
		if a.Class != "" {
			v.Text = a.Class
			v.Base += " " + a.Class
		}
	}
	if a.Area() == stat.AreaServer && a.Value != nil {
		v.Text += " beyond " + exactValue(a.Value, a.Unit)
		v.Base = v.Text
	}
	return v
}

// asked are the kinds of pipe whose rules are compared. FIFOs are left out, because they follow the
// rules of anonymous pipes.
var asked = []string{"anonymous", "named", "socketpair"}

// matrixOfRules has a line for each question about each kind of pipe.
func matrixOfRules(machines []stat.Member) matrix {
	out := matrix{machines: machines}
	found := make([]map[string][]results.Finding, len(machines))
	var kinds []string
	for i, m := range machines {
		found[i] = make(map[string][]results.Finding)
		for _, a := range m.Answers {
			if a.Area() != results.AreaRule {
				continue
			}
			f := results.Finding{
				ID: a.ID, Verdict: a.Verdict, Class: a.Class, Value: a.Value, Unit: a.Unit,
			}
			kind, _ := kindOf(f)
			found[i][kind] = append(found[i][kind], f)
			if kind != "" && !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	slices.Sort(kinds)
	kinds = slices.DeleteFunc(kinds, func(kind string) bool {
		return !slices.Contains(asked, kind)
	})
	for _, kind := range kinds {
		for _, q := range pipeQuestions {
			out.questions = append(out.questions, q.asks+" ("+kind+")")
		}
	}
	for i := range machines {
		var column ruleColumn
		for _, kind := range kinds {
			own := answers("", found[i][kind], pipeQuestions)
			column.cells = append(column.cells, own.cells...)
		}
		out.columns = append(out.columns, column)
	}
	return out
}

// group joins the columns of machines that answer alike, the largest group first, and leaves out
// the questions to which all answers are the same.
func (m *matrix) group() {
	var grouped []ruleColumn
	var members [][]int
	for i, c := range m.columns {
		at := slices.IndexFunc(grouped, c.alike)
		if at < 0 {
			grouped = append(grouped, ruleColumn{cells: slices.Clone(c.cells)})
			members = append(members, []int{i})
			continue
		}
		grouped[at].join(c)
		members[at] = append(members[at], i)
	}
	order := make([]int, len(grouped))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(members[b]) - len(members[a]) })
	m.columns = nil
	for _, at := range order {
		m.columns = append(m.columns, grouped[at])
		m.members = append(m.members, members[at])
	}
	m.keepDiffering()
}

// keepDiffering leaves out the questions to which all groups give the same answer.
func (m *matrix) keepDiffering() {
	var questions []string
	cells := make([][]Value, len(m.columns))
	for i, q := range m.questions {
		differs := slices.ContainsFunc(m.columns, func(c ruleColumn) bool {
			return slices.ContainsFunc(m.columns, func(o ruleColumn) bool {
				return c.differs(o, i)
			})
		})
		if !differs {
			m.alike++
			continue
		}
		questions = append(questions, q)
		for at, c := range m.columns {
			cells[at] = append(cells[at], c.cells[i])
		}
	}
	m.questions = questions
	for at := range m.columns {
		m.columns[at].cells = cells[at]
	}
}

// table lays the matrix out.
func (m *matrix) table(title string) Table {
	t := Table{
		Title:   title + ", where machines disagree",
		Columns: []Column{{Title: "question", Style: Long, Key: true}},
	}
	shown := min(len(m.columns), mostColumns)
	if shown < 2 {
		return t
	}
	for i := range shown {
		head := fmt.Sprintf("%s (%d)", letter(i), len(m.members[i]))
		t.Columns = append(t.Columns, Column{Title: head, Key: i < 2, Style: Verdict})
	}
	for i, q := range m.questions {
		row := []Value{textValue(q), m.columns[0].cells[i]}
		differs := false
		for _, c := range m.columns[1:shown] {
			v := c.cells[i]
			if c.differs(m.columns[0], i) {
				differs = true
			} else if v.Base != "" {
				v.Text = "="
			}
			row = append(row, v)
		}
		if differs {
			t.AppendValues(row...)
		}
	}
	return t
}

// sentence says on how many answers the machines disagree.
func (m *matrix) sentence(title string) string {
	all := len(m.questions) + m.alike
	of := results.FormatCount(len(m.machines), "machine")
	switch {
	case all == 0:
		return ""
	case len(m.machines) == 1:
		return fmt.Sprintf("%s: %s, on 1 machine alone.", title,
			results.FormatCount(all, "answer"))
	case len(m.questions) == 0:
		return fmt.Sprintf("%s: %s, alike on %s.", title, results.FormatCount(all, "answer"), of)
	}
	return fmt.Sprintf("%s: %d of %s differ between %s.", title, len(m.questions),
		results.FormatCount(all, "answer"), of)
}

// legend says which machines the columns are.
func (m *matrix) legend(title string) []string {
	if len(m.columns) < 2 {
		return nil
	}
	out := []string{title + ": machines that answer alike share a column, = is as in A."}
	rest := 0
	for i, members := range m.members {
		if i >= mostColumns {
			rest += len(members)
			continue
		}
		out = append(out, letter(i)+": "+m.describe(members))
	}
	if rest > 0 {
		out = append(out, fmt.Sprintf("%s in %s that answer otherwise are not shown",
			results.FormatCount(rest, "machine"),
			results.FormatCount(len(m.members)-mostColumns, "group")))
	}
	return out
}

// describe says which machines answer alike: their number, systems and some names.
func (m *matrix) describe(members []int) string {
	var systems, names []string
	for _, i := range members {
		e := m.machines[i].Environment()
		system := e.OS + " " + kernelSeries(e.Kernel) + " " + e.Arch
		if e.Imitation != "" {
			system += " " + e.Imitation
		}
		if !slices.Contains(systems, system) {
			systems = append(systems, system)
		}
		names = append(names, m.machines[i].Name)
	}
	return JoinParts(results.FormatCount(len(members), "machine"), nameSome(systems),
		nameSome(names))
}
