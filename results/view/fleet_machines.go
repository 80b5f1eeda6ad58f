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

// machineTable has the speed of everything on the machines, the slowest first, and the properties
// in which they differ. Machines that are alike in both share a row or, if there would be many
// rows, those with the same properties. It has no row if all machines are alike.
func (c comparison) machineTable() Table {
	var differ []string
	for _, factor := range factors {
		if len(grouped(c.members, func(m stat.Member) string { return factorOf(m, factor) })) > 1 {
			differ = append(differ, factor)
		}
	}
	properties := func(i int) string {
		var all []string
		for _, factor := range differ {
			all = append(all, factorOf(c.members[i], factor))
		}
		return strings.Join(all, "\n")
	}
	var order []int
	for i := range c.members {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.speeds[a], c.speeds[b]) })
	rows := grouped(order, properties)
	if divided := c.bySpeed(rows); len(divided) <= mostGroups {
		rows = divided
	}
	if len(rows) < 2 {
		return Table{}
	}
	t := Table{Columns: []Column{
		{Title: "machine", Style: Long, Key: true},
		{Title: "speed", Right: true, Key: true},
	}}
	if slices.Max(c.speeds) > 0 {
		t.Title = "Speed of everything together (1 is usual), and what tells the machines apart"
	}
	for _, factor := range differ {
		t.Columns = append(t.Columns, Column{Title: factor, Key: true})
	}
	for _, alike := range rows {
		var names []string
		for _, i := range slices.Sorted(slices.Values(alike)) {
			names = append(names, c.members[i].Name)
		}
		slowest, fastest := c.speeds[alike[0]], c.speeds[alike[len(alike)-1]]
		speed := FromTo(fmt.Sprintf("%.2f", slowest), fmt.Sprintf("%.2f", fastest))
		if slowest == 0 {
			speed = ""
		}
		row := []string{nameSome(names), speed}
		for _, factor := range differ {
			row = append(row, factorOf(c.members[alike[0]], factor))
		}
		t.Append(row...)
	}
	return t.dropEmpty()
}

// bySpeed divides rows of machines, the slowest of which come first, where a machine is faster than
// the first one of its row by a tenth. The slowest row comes first.
func (c comparison) bySpeed(rows [][]int) [][]int {
	var divided [][]int
	for _, row := range rows {
		first := 0
		for at, i := range row {
			if c.speeds[i] > leastRatio*c.speeds[row[first]] {
				divided = append(divided, row[first:at])
				first = at
			}
		}
		divided = append(divided, row[first:])
	}
	slices.SortStableFunc(divided, func(a, b []int) int {
		return cmp.Compare(c.speeds[a[0]], c.speeds[b[0]])
	})
	return divided
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
