// Package catalogue lists the situations in which a program, a server or a client is tested, and
// what a good one does in each. It is for pipebench's commands and may change.
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

// A Situation is something that is done to the program, server or client that is tested.
type Situation struct {
	Name   string
	Title  string // what is done, in one line
	Advice string // what a good program does
	Mild   bool   // no protocol demands what Advice says, so the verdict "fails" becomes "slow"

	// The other fields are for a fault of a server.
	Sign    byte   // stands before a number of bytes: '@' a threshold, '=' a quantity; 0: none
	Default int64  // the number if it is left out
	Due     Duty   // what a client has to do if its server has the fault
	Asked   string // what check --client passes to serve --fault; "": the name
}

// A Duty is what a client has to do if its server has a fault.
type Duty int

const (
	Unjudged Duty = iota // the situation is no fault, or check --client has a special rule for it
	GiveUp               // end in time, with a code other than 0, and say why
	CarryOn              // do the same as with a good server
	PassOn               // pass on a text that the server has altered: a client cannot see that
	Decide               // GiveUp or CarryOn, as the client decides
)

// For returns the situations of one side, in the order in which they are tried. No two of them have
// the same name.
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

// Find returns the situation of that name. Its error lists the known names, and leaves it to the
// caller to quote the unknown one.
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

// Usage returns the argument of serve --fault for a fault with its default number, such as
// "deaf@1MiB".
func (s Situation) Usage() string { return s.Spec(s.Default) }

// Spec returns the argument of serve --fault for a fault with that number of bytes. It leaves out a
// quantity, or a default, of 0.
func (s Situation) Spec(bytes int64) string {
	if s.Sign == 0 || bytes == 0 && (s.Default == 0 || s.Sign == '=') {
		return s.Name
	}
	return s.Name + string(s.Sign) + results.SizeArgument(bytes)
}

// Cut splits an argument of serve --fault, such as "deaf@1MiB". sign is 0 if there is no number.
func Cut(spec string) (name string, sign byte, bytes string) {
	if i := strings.IndexAny(spec, "@="); i >= 0 {
		return spec[:i], spec[i], spec[i+1:]
	}
	return spec, 0, ""
}
