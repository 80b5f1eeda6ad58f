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

// machineTable has the properties in which the machines differ, with a row for those that are
// alike. It has no row if all machines are alike.
func machineTable(members []stat.Member) Table {
	t := Table{Columns: []Column{{Title: "machine", Style: Long, Key: true}}}
	var differ []string
	for _, factor := range factors {
		if len(grouped(members, func(m stat.Member) string { return factorOf(m, factor) })) > 1 {
			differ = append(differ, factor)
			t.Columns = append(t.Columns, Column{Title: factor})
		}
	}
	if len(differ) == 0 {
		return Table{}
	}
	properties := func(m stat.Member) string {
		var all []string
		for _, factor := range differ {
			all = append(all, factorOf(m, factor))
		}
		return strings.Join(all, "\n")
	}
	for _, alike := range grouped(members, properties) {
		var names []string
		for _, m := range alike {
			names = append(names, m.Name)
		}
		row := []Value{textValue(nameSome(names))}
		for _, factor := range differ {
			row = append(row, textValue(factorOf(alike[0], factor)))
		}
		t.AppendValues(row...)
	}
	return t
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
