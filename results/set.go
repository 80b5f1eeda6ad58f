package results

import (
	"fmt"
	"slices"
	"strings"
)

// A Set has the lines of one or more results files, in the order in which they were read.
type Set struct {
	Environments []Environment `json:"environments,omitempty"`
	Records      []Record      `json:"records,omitempty"`
	Findings     []Finding     `json:"findings,omitempty"`
	Targets      []Target      `json:"targets,omitempty"`
	Messages     []Message     `json:"messages,omitempty"`

	// Problems has the lines that were skipped, and other doubts about the files.
	Problems []Problem `json:"problems,omitempty"`
}

// Environment finds the environment of a run. A file that was cut may lack it.
func (s *Set) Environment(run string) (Environment, bool) {
	i := slices.IndexFunc(s.Environments, func(e Environment) bool { return e.Run == run })
	if i < 0 {
		return Environment{}, false
	}
	return s.Environments[i], true
}

// Machine returns the [Environment.Node] of a run. It is blank if that is not known.
func (s *Set) Machine(run string) string {
	e, _ := s.Environment(run)
	return e.Node()
}

// Machines lists the [Environment.Node] of each machine, in the order of their first runs.
func (s *Set) Machines() []string {
	var out []string
	for _, e := range s.Environments {
		if !slices.Contains(out, e.Node()) {
			out = append(out, e.Node())
		}
	}
	return out
}

// RunOf returns the name of the run that a line belongs to.
func RunOf[L Line](line L) string { return line.run() }

// Add puts one line into the set. A pointer to a line is ignored. A target takes the place of an
// earlier one of its run that says [VerdictRunning].
func (s *Set) Add(line Line) {
	switch l := line.(type) {
	case Environment:
		s.Environments = append(s.Environments, l)
	case Record:
		s.Records = append(s.Records, l)
	case Finding:
		s.Findings = append(s.Findings, l)
	case Target:
		s.Targets = slices.DeleteFunc(s.Targets, func(earlier Target) bool {
			return earlier.Verdict == VerdictRunning && earlier.Run == l.Run
		})
		s.Targets = append(s.Targets, l)
	case Message:
		s.Messages = append(s.Messages, l)
	}
}

// Len returns the number of lines in the set.
func (s *Set) Len() int {
	return len(s.Environments) + len(s.Records) + len(s.Findings) + len(s.Targets) +
		len(s.Messages)
}

// Merge returns a new set with all lines and problems of the given sets, in their order.
func Merge(sets ...*Set) *Set {
	all := &Set{}
	for _, s := range sets {
		all.Environments = append(all.Environments, s.Environments...)
		all.Records = append(all.Records, s.Records...)
		all.Findings = append(all.Findings, s.Findings...)
		all.Targets = append(all.Targets, s.Targets...)
		all.Messages = append(all.Messages, s.Messages...)
		all.Problems = append(all.Problems, s.Problems...)
	}
	return all
}

// OfRun returns a set with the lines of one run, but without problems.
func (s *Set) OfRun(run string) *Set {
	return &Set{
		Environments: linesOf(run, s.Environments),
		Records:      linesOf(run, s.Records),
		Findings:     linesOf(run, s.Findings),
		Targets:      linesOf(run, s.Targets),
		Messages:     linesOf(run, s.Messages),
	}
}

func linesOf[L Line](run string, lines []L) []L {
	var own []L
	for _, l := range lines {
		if l.run() == run {
			own = append(own, l)
		}
	}
	return own
}

// IsEmpty reports whether the set has no results: it may still describe machines.
func (s *Set) IsEmpty() bool {
	return len(s.Records)+len(s.Findings)+len(s.Targets)+len(s.Messages) == 0
}

// FindingsOf returns the findings of an area, such as [AreaCheck].
func (s *Set) FindingsOf(area string) []Finding {
	var own []Finding
	for _, f := range s.Findings {
		if f.Area() == area {
			own = append(own, f)
		}
	}
	return own
}

// MachineNames returns a short name for each machine, by its [Environment.Node]: the host name or,
// if several machines have the same, the first label or longer name that no other machine has. A
// machine of which nothing is known is called "unknown".
func MachineNames(runs []Environment) map[string]string {
	machines := make(map[string]Environment)
	for _, e := range runs {
		machines[e.Node()] = e
	}
	count := make(map[string]int)
	for _, e := range machines {
		own := slices.Sorted(slices.Values(namesOf(e)))
		for _, name := range slices.Compact(own) { // the host and a label may be the same
			count[name]++
		}
	}
	names := make(map[string]string)
	for id, e := range machines {
		own := namesOf(e)
		unique := slices.IndexFunc(own, func(name string) bool { return count[name] == 1 })
		switch {
		case unique >= 0:
			names[id] = own[unique]
		case len(own) == 0:
			names[id] = "unknown"
		default:
			names[id] = own[0] + " " + ShortID(id)
		}
	}
	return names
}

// namesOf lists the known names of a machine, the best name first.
func namesOf(e Environment) []string {
	host := e.Hostname
	if host == "(none)" { // what Linux says of a host without a name
		host = ""
	}
	names := []string{host, e.Labels["node"], e.Labels["machine"]}
	for _, maker := range []string{"AMD", "Apple", "Intel"} {
		if host != "" && strings.HasPrefix(e.CPU, maker) {
			names = append(names, fmt.Sprintf("%s (%s, %s)", host, maker,
				FormatCount(e.CPUs, "CPU")))
		}
	}
	if e.OS != "" {
		exact := e.OS + " " + e.Kernel
		systems := []string{e.OS + "/" + e.Arch, e.System(), exact, exact + " " + e.Arch}
		for _, system := range systems {
			switch {
			case host != "" && e.Imitation != "":
				system = host + " (" + system + ", " + e.Imitation + ")"
			case host != "":
				system = host + " (" + system + ")"
			case e.Imitation != "":
				system += " (" + e.Imitation + ")"
			}
			names = append(names, system)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}
