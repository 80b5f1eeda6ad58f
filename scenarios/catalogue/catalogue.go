// Package catalogue lists the situations in which a program, a server or a client is tested, and
// what a good one does in each. It is for pipebench's commands and may change.
//
//	for _, s := range catalogue.Faults() {
//		fmt.Println(s.Usage(), s.Title) // what serve --fault can be asked for
//	}
//
// The packages that make a situation pick theirs by name. The functions may be called by any number
// of goroutines.
package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A Side is who is tested.
type Side string

// Sides.
const (
	Program Side = "program" // any program, at its own standard streams
	Server  Side = "server"  // a server that speaks over its standard input and output
	Client  Side = "client"  // a client that starts such a server
)

// A Situation is something that is done to whoever is tested.
type Situation struct {
	Name   string
	Title  string // what is done, in a line for a list
	Advice string // what a good program does
	Mild   bool   // to do otherwise is no failure: no protocol demands it

	// The fault of a server may take a number of bytes: Sign is '@' before a threshold and '='
	// before a quantity, or 0 where there is none; Default is used where no number is given.
	Sign    byte
	Default int64
}

// For returns the situations of one side, in the order in which they are tried and shown. Names
// are unique within a side.
func For(side Side) []Situation {
	switch side {
	case Program:
		return slices.Clone(surroundings)
	case Server:
		return slices.Concat(clients, lives)
	}
	return slices.Concat(faults, habits, shapes)
}

// Faults returns what a server does to its client: serve --fault does it, and check --client looks
// at what the client makes of it.
func Faults() []Situation { return slices.Clone(faults) }

// Find returns the situation of that name. Its error only lists the known names: the caller says
// what was asked for.
func Find(all []Situation, name string) (Situation, error) {
	var known []string
	for _, s := range all {
		if s.Name == name {
			return s, nil
		}
		known = append(known, s.Name)
	}
	return Situation{}, fmt.Errorf("known are %s", strings.Join(known, ", "))
}

// Usage returns the form in which a fault is asked for, such as "deaf@1MiB".
func (s Situation) Usage() string { return s.Spec(s.Default) }

// Spec returns how a fault is asked for with that number of bytes; 0 is none, where a quantity is
// asked for and where it is the default.
func (s Situation) Spec(bytes int64) string {
	if s.Sign == 0 || bytes == 0 && (s.Default == 0 || s.Sign == '=') {
		return s.Name
	}
	return s.Name + string(s.Sign) + strings.ReplaceAll(results.FormatSize(bytes), " ", "")
}

// Cut takes apart how a fault is asked for: its name, and behind a sign its number of bytes.
// Without a number the sign is 0.
func Cut(spec string) (name string, sign byte, bytes string) {
	if i := strings.IndexAny(spec, "@="); i >= 0 {
		return spec[:i], spec[i], spec[i+1:]
	}
	return spec, 0, ""
}
