// Package catalogue lists the ways in which a program, a server or a client misbehaves at its
// pipes.
//
//	for _, m := range catalogue.Of(catalogue.Server) {
//		fmt.Println(m.Usage(), m.Title) // what serve --fault can be asked for
//	}
//
// It says what is done, which rule judges the outcome, and what to do about it; the packages that
// reproduce a misbehaviour pick theirs by side and name. Its functions may be called by any number
// of goroutines.
package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A Side is who misbehaves.
type Side string

// Sides. A name stands for one thing on each side.
const (
	Program Side = "program" // any program at its own pipes: run --scenario reproduces it
	Server  Side = "server"  // a server towards its client: serve --fault does it
	Client  Side = "client"  // a client, or the system, towards a server: drive --faults does it
)

// A Misbehaviour is one way to fail, or to make another fail.
type Misbehaviour struct {
	Name   string
	Side   Side
	Title  string // what is done, in a line for a list
	Detail string // what is done and why it matters, where the title does not say it all
	Rule   string // the rule that judges the outcome
	Advice string // what a good program does
	Seen   string // where it was seen, of servers

	// A Server's misbehaviour may take a number of bytes: Sign is '@' before a threshold and '='
	// before a quantity, or 0 where there is none; Default is used where no number is given.
	Sign    byte
	Default int64
}

// All returns the whole catalogue: programs, servers, clients, and related ones together.
func All() []Misbehaviour { return slices.Concat(programs, servers, clients) }

// Of returns the misbehaviours of one side.
func Of(side Side) []Misbehaviour {
	return slices.DeleteFunc(All(), func(m Misbehaviour) bool { return m.Side != side })
}

// Find returns the misbehaviour of that side and name. Its error only lists the known names: the
// caller says what was asked for.
func Find(side Side, name string) (Misbehaviour, error) {
	var known []string
	for _, m := range Of(side) {
		if m.Name == name {
			return m, nil
		}
		known = append(known, m.Name)
	}
	return Misbehaviour{}, fmt.Errorf("known are %s", strings.Join(known, ", "))
}

// Usage returns the form in which m is asked for, such as "deaf@1MiB".
func (m Misbehaviour) Usage() string {
	if m.Default == 0 {
		return m.Name
	}
	return m.Spec(m.Default)
}

// Spec returns how m is asked for with that number of bytes.
func (m Misbehaviour) Spec(bytes int64) string {
	if m.Sign == 0 || bytes == 0 {
		return m.Name
	}
	return m.Name + string(m.Sign) + strings.ReplaceAll(results.FormatSize(bytes), " ", "")
}
