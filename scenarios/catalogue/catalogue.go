// Package catalogue lists the situations in which pipebench tests a program, a server or a client,
// and what a good one does in each. The package is for pipebench's commands and may change.
//
//	for _, s := range catalogue.Faults() {
//		fmt.Println(s.Usage(), s.Title) // an argument of serve --fault, and what it does
//	}
//
// The functions may be called concurrently.
package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A Side says who is tested.
type Side string

const (
	Program Side = "program" // any program, at its own standard streams
	Server  Side = "server"  // a server that speaks over its standard input and output
	Client  Side = "client"  // a client that starts such a server
)

// A Situation is one thing that a test does to a program, a server or a client.
type Situation struct {
	Name   string
	Title  string // what is done, in one line
	Advice string // what a good program does
	Mild   bool   // no protocol demands what Advice says: the verdict is "slow", not "fails"

	// The other fields are for faults of our test server, the command "serve --fault".

	// Sign stands before a number of bytes in the argument of --fault: '@' if larger messages have
	// the fault, '=' for any other quantity. It is 0 if there is no number.
	Sign    byte
	Default int64  // the number of bytes if none is given
	Due     Duty   // what a client has to do if its server has the fault
	Asked   string // the argument in tests of clients; "": the name alone
}

// A Duty is what a client has to do if its server has a fault.
type Duty int

const (
	Unjudged Duty = iota // for no fault, or for one that is judged in another way
	GiveUp               // end in time with an exit code other than 0, and say why
	CarryOn              // do the same as with a good server
	PassOn               // pass on the server's text: a client cannot see that it was altered
	Decide               // GiveUp or CarryOn: the client may choose
)

// For returns the situations for programs, servers or clients, in the order in which they are
// tested. No two have the same name.
func For(side Side) []Situation {
	switch side {
	case Program:
		return slices.Clone(surroundings)
	case Server:
		return slices.Concat(clients, lives)
	}
	return slices.Concat(faults, habits, shapes)
}

// Faults returns the faults of a server that serve --fault imitates.
func Faults() []Situation { return slices.Clone(faults) }

// Find returns the situation with this name. Its error lists the known names, but does not quote
// the unknown one.
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

// Usage returns the argument of "serve --fault" for a fault with its default number of bytes, such
// as "deaf@1MiB".
func (s Situation) Usage() string {
	if s.Default == 0 {
		return s.Name
	}
	return s.Name + string(s.Sign) + results.SizeArgument(s.Default)
}

// Cut splits an argument of "serve --fault", such as "deaf@1MiB". The result sign is 0 if there is
// no number.
func Cut(spec string) (name string, sign byte, bytes string) {
	if i := strings.IndexAny(spec, "@="); i >= 0 {
		return spec[:i], spec[i], spec[i+1:]
	}
	return spec, 0, ""
}
