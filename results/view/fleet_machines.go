package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

func memberSection(members []stat.Member) Section {
	about := Section{ID: "machines", Title: "The machines", Folded: true}
	t := Table{Columns: []Column{{Title: "machine", Key: true}, {Title: "runs", Right: true}}}
	for _, f := range machineFields(results.Environment{}) {
		t.Columns = append(t.Columns, Column{Title: f.title})
	}
	for _, m := range members {
		row := []string{m.Name, fmt.Sprint(len(m.Runs))}
		for _, f := range machineFields(m.Environment()) {
			row = append(row, f.text)
		}
		t.Append(row...)
	}
	about.Tables = []Table{t.dropEmpty()}
	return about
}

// mostGroups is how many groups of machines a table may have.
const mostGroups = 12

// rows returns groups of machines that are in the same group of each difference, have the same
// properties, and are about equally fast in everything. The slowest come first. If there would be
// many, properties and speeds may differ in a group.
func (c comparison) rows() [][]int {
	var order []int
	for i := range c.members {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(c.speeds[a], c.speeds[b])
	})
	inGroups := func(i int) string {
		key := ""
		for _, d := range c.differences {
			isIn := func(g stat.SpeedGroup) bool { return slices.Contains(g.Members, i) }
			key += fmt.Sprint(slices.IndexFunc(d.Groups, isIn), " ")
		}
		return key
	}
	factors := c.factors()
	slowest := make(map[string]float64) // speed of the slowest machine of the last row
	alike := func(i int) string {
		key := inGroups(i)
		for _, factor := range factors {
			key += "\n" + factorOf(c.members[i], factor)
		}
		if slowest[key] == 0 || c.speeds[i] > leastRatio*slowest[key] {
			slowest[key] = c.speeds[i]
		}
		return fmt.Sprint(key, "\n", slowest[key])
	}
	rows := grouped(order, alike)
	if len(rows) > mostGroups {
		rows = grouped(order, inGroups)
	}
	for _, row := range rows {
		slices.Sort(row)
	}
	return rows
}

// machineTable has the speed of everything on the machines, and the properties in which they
// differ. It has no row if all machines are alike in these, or a sentence says so of their speed.
func (c comparison) machineTable() Table {
	if c.alike() > 1 {
		return Table{}
	}
	t := Table{Columns: []Column{
		{Title: "machine", Style: Long, Key: true},
		{Title: "speed", Right: true, Key: true},
	}}
	if slices.Max(c.speeds) > 0 {
		t.Title = "Speed of everything together (1 is usual), and what tells the machines apart"
	}
	factors := c.factors()
	for _, factor := range factors {
		t.Columns = append(t.Columns, Column{Title: factor, Key: true})
	}
	for _, row := range c.rows() {
		var speeds []float64
		for _, i := range row {
			speeds = append(speeds, c.speeds[i])
		}
		texts := []string{c.names(row), ""}
		if slices.Min(speeds) > 0 {
			texts[1] = valueRange(speeds, func(v float64) string { return fmt.Sprintf("%.2f", v) })
		}
		for _, factor := range factors {
			texts = append(texts, c.valuesOf(factor, row))
		}
		t.Append(texts...)
	}
	telling := make(map[int]bool) // columns beside the names
	for _, row := range t.Rows {
		for i := 1; i < len(row); i++ {
			if row[i].Text != t.Rows[0][i].Text {
				telling[i] = true
			}
		}
	}
	if len(telling) == 0 || len(t.Rows) > mostGroups {
		return Table{}
	}
	return t.withColumns(func(i int) bool { return i < 2 && t.hasText(i) || telling[i] })
}

// valuesOf lists the values that a property has on some machines.
func (c comparison) valuesOf(factor string, machines []int) string {
	var values []string
	for _, same := range grouped(machines, func(i int) string {
		return factorOf(c.members[i], factor)
	}) {
		values = append(values, factorOf(c.members[same[0]], factor))
	}
	return nameSome(values)
}

// factors are properties of a machine that may influence figures, by their titles in machineFields.
var factors = []string{
	"imitation", "operating system", "architecture", "processor", "virtualisation", "page", "CPUs",
	"largest pipe", "governor", "pipebench", "Go",
}

// factorOf returns a property of a machine, such as its processor, or a label. If it was not the
// same in all runs of the machine, it returns all values.
func factorOf(m stat.Member, factor string) string {
	var values []string
	for _, e := range m.Runs {
		if value := factorIn(e, factor); !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return strings.Join(values, ", ")
}

func factorIn(e results.Environment, factor string) string {
	switch factor {
	case "operating system":
		return e.System()
	case "imitation":
		return cmp.Or(e.Imitation, "none")
	case "virtualisation":
		return cmp.Or(e.Virtualisation, "none")
	}
	for _, f := range machineFields(e) {
		if f.title == factor && f.text != "" {
			return f.text
		}
	}
	return cmp.Or(e.Labels[factor], unknown)
}

// unknown stands for a property that no record tells.
const unknown = "unknown"

// factorPhrase names a property of a machine by its value: "linux 6.1", "largest pipe 1 MiB".
func factorPhrase(m stat.Member, factor string) string {
	value := factorOf(m, factor)
	switch factor {
	case "operating system", "processor", "architecture":
		if value != unknown {
			return value
		}
	}
	return factor + " " + value
}

// nameSome lists the names or, if there are many, the first few and the number of the others.
func nameSome(names []string) string {
	more := len(names) - mostNamedMachines
	if more < 2 { // a name is as short as "and 1 more"
		return joinAnd(names)
	}
	return strings.Join(names[:mostNamedMachines], ", ") + fmt.Sprintf(" and %d more", more)
}

// mostNamedMachines is the number of machines that nameSome names if there are many.
const mostNamedMachines = 5
