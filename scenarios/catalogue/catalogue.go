// Package catalogue lists the situations in which a program, a server or a client is tested, and
// what a good one does in each. It is for pipebench's commands and may change.
//
//	for _, s := range catalogue.Faults() {
//		fmt.Println(s.Usage(), s.Title) // what serve --fault can be asked for
//	}
//
// Other packages make the situations, and look them up here by name. The functions may be called
// concurrently.
package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A Side is who is tested.
type Side string

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
	Mild   bool   // no protocol demands what the advice says, so to do otherwise is no failure

	// For a fault of a server. It may take a number of bytes: Sign is '@' before a threshold, '='
	// before a quantity, and 0 for no number. Without a number, Default is used.
	Sign    byte
	Default int64
	Due     Duty   // what a client has to do about the fault
	Asked   string // the form in which check --client asks for the fault; "" is its name
}

// A Duty is what a client has to do about a fault of its server.
type Duty int

const (
	Unjudged Duty = iota // no fault, or one for which check --client has its own rule
	GiveUp               // end in time, with a code other than 0, and say why
	CarryOn              // do as with a good server
	PassOn               // pass on the altered text: a client cannot see that it was altered
	Decide               // carry on, or give up
)

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

// Faults returns what a faulty server does to its client: serve --fault does it, and check --client
// judges how the client reacts.
func Faults() []Situation { return slices.Clone(faults) }

// Find returns the situation of that name. Its error lists the known names, but not the one that
// was asked for: the caller adds that.
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

// Spec returns the form in which a fault is asked for with that number of bytes. It leaves out the
// number 0 if that is a quantity, or the default.
func (s Situation) Spec(bytes int64) string {
	if s.Sign == 0 || bytes == 0 && (s.Default == 0 || s.Sign == '=') {
		return s.Name
	}
	return s.Name + string(s.Sign) + results.SizeArgument(bytes)
}

// Cut splits the form in which a fault is asked for into its name, the sign, and the number of
// bytes after that. The sign is 0 if there is no number.
func Cut(spec string) (name string, sign byte, bytes string) {
	if i := strings.IndexAny(spec, "@="); i >= 0 {
		return spec[:i], spec[i], spec[i+1:]
	}
	return spec, 0, ""
}
