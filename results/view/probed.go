package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A probedMachine is a machine with what was found there, such as the rules that the probe command
// tested.
type probedMachine struct {
	name        string              // the title of its column
	environment results.Environment // of the run of the first finding; may be empty
	found       []results.Finding
}

// probedMachines returns the machines on which the probe command tested rules. If there are more
// than stat.FewMachines, letters stand for their names.
func probedMachines(set *results.Set) []probedMachine {
	var machines []probedMachine
	var environments []results.Environment
	machineOf := func(f results.Finding) string { return set.Machine(f.Run) }
	for i, own := range grouped(latestRules(set), machineOf) {
		e, _ := set.Environment(own[0].Run) // a damaged file may have none
		machines = append(machines, probedMachine{name: letter(i), environment: e, found: own})
		environments = append(environments, e)
	}
	if len(machines) <= stat.FewMachines {
		names := results.MachineNames(environments)
		for i, e := range environments {
			machines[i].name = names[e.Node()]
		}
	}
	return machines
}

// probedLines describes each machine in a line, with the day on which it was probed.
func probedLines(machines []probedMachine) []string {
	var lines []string
	for _, m := range machines {
		e := m.environment
		if e.Run == "" {
			continue
		}
		line := JoinParts(machineLine(e), "pages of "+results.FormatSize(int64(e.PageSize)),
			e.Time.UTC().Format("2006-01-02"))
		if len(machines) > 1 && m.name != e.Hostname {
			line = m.name + "  " + line
		}
		lines = append(lines, line)
	}
	return lines
}

// machineColumns makes a column for each machine, with the machine's answers to questions about one
// kind of pipe.
func machineColumns(machines []probedMachine, kind string, questions []question) []column {
	var columns []column
	for _, m := range machines {
		about := aboutKind(m.found, kind)
		if lacksKind(m.found, kind) {
			about = nil
		}
		columns = append(columns, answersOf(m.name, about, questions))
	}
	return columns
}

// withoutKind returns the names of the machines that lack a kind of pipe, and whether another one
// has it.
func withoutKind(machines []probedMachine, kind string) (without []string, isThere bool) {
	for _, m := range machines {
		if lacksKind(m.found, kind) {
			without = append(without, m.name)
		} else if len(aboutKind(m.found, kind)) > 0 {
			isThere = true
		}
	}
	return without, isThere
}

// letter returns the name of a machine's column: "A" to "Z", and then "M26", "M27" and so on.
func letter(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return fmt.Sprintf("M%d", i)
}

// pipeNames say what each kind of pipe is.
var pipeNames = map[string]string{
	"anonymous":  "an anonymous pipe",
	"fifo":       "a FIFO",
	"named":      "a named pipe",
	"socketpair": "a pair of sockets",
	"unix":       "a Unix socket",
	"seqpacket":  "a Unix socket of packets",
	"pty":        "a pseudo-terminal",
	"ring":       "a ring in memory that both map",
}

// kindOf splits the name of a finding, such as "fifo/capacity/stated", into the kind of pipe and
// the rest. The kind is "" if the name has none.
func kindOf(f results.Finding) (kind, step string) {
	first, rest, _ := strings.Cut(f.Name(), "/")
	if pipeNames[first] != "" {
		return first, rest
	}
	return "", f.Name()
}

func kindsIn(all []results.Finding) []string {
	var kinds []string
	for _, f := range all {
		kind, _ := kindOf(f)
		if kind != "" && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func aboutKind(all []results.Finding, kind string) []results.Finding {
	return selected(all, func(f results.Finding) bool {
		own, _ := kindOf(f)
		return own == kind
	})
}

// lacksKind reports whether no pipe of a kind could be made, as the only finding about it says.
func lacksKind(all []results.Finding, kind string) bool {
	own := aboutKind(all, kind)
	return len(own) > 0 && !slices.ContainsFunc(own, func(f results.Finding) bool {
		_, step := kindOf(f)
		return step != "kind"
	})
}

func asked(questions []question) []string {
	var out []string
	for _, q := range questions {
		out = append(out, q.asks)
	}
	return out
}

// answersOf makes a column that answers the questions from the findings in found.
func answersOf(name string, found []results.Finding, questions []question) column {
	c := column{names: []string{name}, answers: make([]columnAnswer, len(questions))}
	for i, q := range questions {
		if f, ok := q.answer(found); ok {
			c.answers[i] = q.outcome(f)
		}
	}
	return c
}

// exactValue writes a size, or a number without a unit, with all its digits. It rounds other
// numbers.
func exactValue(value any, unit string) string {
	n, isNumber := (results.Finding{Value: value}).Number()
	switch {
	case isNumber && unit == "":
		return strconv.FormatFloat(n, 'f', -1, 64)
	case isNumber:
		return results.FormatExact(n, unit)
	case value == true:
		return "yes"
	case value == false:
		return "no"
	}
	return fmt.Sprint(value)
}
