package results

import (
	"reflect"
	"slices"
	"strings"
	"sync"
)

// A Set is what one or several results files hold, in the order of the files and of their lines.
//
// As JSON it is its findings alone: a view says more of environments and measurements.
type Set struct {
	Environments []Environment `json:"-"`
	Records      []Record      `json:"-"`
	Probes       []Probe       `json:"probes,omitempty"`
	Faults       []Fault       `json:"faults,omitempty"`
	Claims       []Claim       `json:"claims,omitempty"`
	Targets      []Target      `json:"targets,omitempty"`
	Checks       []Check       `json:"checks,omitempty"`
	Tunes        []Tune        `json:"tunes,omitempty"`
	Noise        []Noise       `json:"noise,omitempty"`
	Messages     []Message     `json:"messages,omitempty"`

	Problems []Problem `json:"-"` // lines that were skipped, and other doubts about the files
}

// Environment finds the environment line of a run. A file that was cut may lack it.
func (s *Set) Environment(run string) (Environment, bool) {
	i := slices.IndexFunc(s.Environments, func(e Environment) bool { return e.Run == run })
	if i < 0 {
		return Environment{}, false
	}
	return s.Environments[i], true
}

// Machine returns the hash of the machine that a run was measured on, "" where the file does not
// tell.
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
// architecture, and what imitates them; if several machines have those, the host name too; if
// several have that, the beginning of the hash.
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
	system := func(e Environment) string {
		return strings.TrimSuffix(e.OS+"/"+e.Arch+", "+e.Imitation, ", ")
	}
	name := system(own)
	if !others(func(e Environment) bool { return system(e) == name }) {
		return name
	}
	if own.Hostname != "" && !others(func(e Environment) bool { return e.Hostname == own.Hostname }) {
		return name + " " + own.Hostname
	}
	return name + " " + ShortID(id)
}

// A list is where a [Set] keeps the lines of one kind.
type list struct {
	field int          // of Set
	line  reflect.Type // what it is a list of
}

// lists are those of a Set by kind: they follow its fields, so that a kind of line is added there.
var lists = sync.OnceValue(func() map[string]list {
	out := make(map[string]list)
	for i, f := range reflect.VisibleFields(reflect.TypeFor[Set]()) {
		if zero, ok := reflect.Zero(f.Type.Elem()).Interface().(Line); ok {
			out[zero.kind()] = list{i, f.Type.Elem()}
		}
	}
	return out
})

// RunOf returns the run that a line belongs to.
func RunOf[L Line](line L) string { return reflect.ValueOf(line).FieldByName("Run").String() }

// Add puts one line into the set, as reading it from a file would. A pointer, or a line of another
// package, is ignored.
func (s *Set) Add(line Line) {
	l, v := lists()[line.kind()], reflect.ValueOf(line)
	if v.Type() == l.line {
		field := reflect.ValueOf(s).Elem().Field(l.field)
		field.Set(reflect.Append(field, v))
	}
}

// Len returns the number of lines that were read.
func (s *Set) Len() int {
	n := 0
	for _, l := range lists() {
		n += reflect.ValueOf(s).Elem().Field(l.field).Len()
	}
	return n
}

// Merge returns one set of all that the sets hold, in their order. They are left as they are.
func Merge(sets ...*Set) *Set {
	all := &Set{}
	into := reflect.ValueOf(all).Elem()
	for _, s := range sets {
		for i := range into.NumField() {
			into.Field(i).Set(reflect.AppendSlice(into.Field(i), reflect.ValueOf(s).Elem().Field(i)))
		}
	}
	return all
}

// OfRun returns what the set holds of one run: its environment and all its lines, of whatever kind.
// The problems of the files are not a run's.
func (s *Set) OfRun(run string) *Set {
	own := &Set{}
	for _, l := range lists() {
		lines := reflect.ValueOf(s).Elem().Field(l.field)
		for i := range lines.Len() {
			if line := lines.Index(i).Interface().(Line); RunOf(line) == run {
				own.Add(line)
			}
		}
	}
	return own
}
