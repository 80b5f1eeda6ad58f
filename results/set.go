package results

import "slices"

// A Set is what one or several results files hold, in the order of the files and of their lines.
type Set struct {
	Environments []Environment
	Records      []Record
	Probes       []Probe
	Faults       []Fault
	Claims       []Claim
	Targets      []Target
	Tunes        []Tune
	Noise        []Noise
	Messages     []Message

	Problems []Problem // lines that were skipped, and other doubts about the files
}

// Environment finds the environment line of a run. A file that was cut may lack it.
func (s *Set) Environment(run string) (Environment, bool) {
	i := slices.IndexFunc(s.Environments, func(e Environment) bool { return e.Run == run })
	if i < 0 {
		return Environment{}, false
	}
	return s.Environments[i], true
}

// Machine is the hash of the machine that a run was measured on, "" where the file does not tell.
func (s *Set) Machine(run string) string {
	e, _ := s.Environment(run)
	return e.Machine
}

// Machines lists the machines of the set, in the order in which they appear.
func (s *Set) Machines() []string {
	var out []string
	for _, e := range s.Environments {
		if !slices.Contains(out, e.Machine) {
			out = append(out, e.Machine)
		}
	}
	return out
}

// MachineName returns a short name that differs between the machines of the set: the system and
// architecture; if several machines have those, the host name too; if several have that, the
// beginning of the hash.
func (s *Set) MachineName(id string) string {
	var own Environment
	for _, e := range s.Environments {
		if e.Machine == id {
			own = e
		}
	}
	if own.OS == "" {
		return "unknown"
	}
	others := func(same func(Environment) bool) bool {
		return slices.ContainsFunc(s.Environments, func(e Environment) bool { return e.Machine != id && same(e) })
	}
	name := own.OS + "/" + own.Arch
	if !others(func(e Environment) bool { return e.OS == own.OS && e.Arch == own.Arch }) {
		return name
	}
	if own.Hostname != "" && !others(func(e Environment) bool { return e.Hostname == own.Hostname }) {
		return name + " " + own.Hostname
	}
	return name + " " + ShortID(id)
}

// Add puts one line into the set, as reading it from a file would. A pointer, or a line of another
// package, is ignored.
func (s *Set) Add(line Line) {
	switch l := line.(type) {
	case Environment:
		s.Environments = append(s.Environments, l)
	case Record:
		s.Records = append(s.Records, l)
	case Probe:
		s.Probes = append(s.Probes, l)
	case Fault:
		s.Faults = append(s.Faults, l)
	case Claim:
		s.Claims = append(s.Claims, l)
	case Target:
		s.Targets = append(s.Targets, l)
	case Tune:
		s.Tunes = append(s.Tunes, l)
	case Noise:
		s.Noise = append(s.Noise, l)
	case Message:
		s.Messages = append(s.Messages, l)
	}
}

// Len is the number of lines that were read.
func (s *Set) Len() int {
	return len(s.Environments) + len(s.Records) + len(s.Probes) + len(s.Faults) + len(s.Claims) +
		len(s.Targets) + len(s.Tunes) + len(s.Noise) + len(s.Messages)
}

// Merge is one set of all that the sets hold, in their order. They are left as they are.
func Merge(sets ...*Set) *Set {
	all := &Set{}
	for _, s := range sets {
		all.merge(s)
	}
	return all
}

// merge appends what another file holds.
func (s *Set) merge(o *Set) {
	s.Environments = append(s.Environments, o.Environments...)
	s.Records = append(s.Records, o.Records...)
	s.Probes = append(s.Probes, o.Probes...)
	s.Faults = append(s.Faults, o.Faults...)
	s.Claims = append(s.Claims, o.Claims...)
	s.Targets = append(s.Targets, o.Targets...)
	s.Tunes = append(s.Tunes, o.Tunes...)
	s.Noise = append(s.Noise, o.Noise...)
	s.Messages = append(s.Messages, o.Messages...)
	s.Problems = append(s.Problems, o.Problems...)
}

// OfRun is what the set holds of one run: its environment and all its lines, of whatever kind. The
// problems of the files are not a run's.
func (s *Set) OfRun(run string) *Set {
	return &Set{
		Environments: linesOf(s.Environments, run, func(l Environment) string { return l.Run }),
		Records:      linesOf(s.Records, run, func(l Record) string { return l.Run }),
		Probes:       linesOf(s.Probes, run, func(l Probe) string { return l.Run }),
		Faults:       linesOf(s.Faults, run, func(l Fault) string { return l.Run }),
		Claims:       linesOf(s.Claims, run, func(l Claim) string { return l.Run }),
		Targets:      linesOf(s.Targets, run, func(l Target) string { return l.Run }),
		Tunes:        linesOf(s.Tunes, run, func(l Tune) string { return l.Run }),
		Noise:        linesOf(s.Noise, run, func(l Noise) string { return l.Run }),
		Messages:     linesOf(s.Messages, run, func(l Message) string { return l.Run }),
	}
}

func linesOf[L Line](lines []L, run string, of func(L) string) []L {
	var out []L
	for _, l := range lines {
		if of(l) == run {
			out = append(out, l)
		}
	}
	return out
}
