// Package catalogue lists the ways in which a program, a server or a client misbehaves at its
// pipes.
//
//	for _, m := range catalogue.Of(catalogue.Server) {
//		fmt.Println(m.Usage(), m.Title) // what serve --fault can be asked for
//	}
//
// It says what is done, and what to do about it; the packages that reproduce a misbehaviour pick
// theirs by side and name. Its functions may be called by any number of goroutines.
package catalogue

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/pipebench/pipebench/results"
)

// A Side is who misbehaves.
type Side string

// Sides. A name stands for one thing on each side.
const (
	Program Side = "program" // any program at its own pipes: run --scenario reproduces it
	Server  Side = "server"  // a server towards its client: serve --fault does it
	Client  Side = "client"  // a client, or the system, towards a server: drive --faults does it

	Surroundings Side = "surroundings" // whoever holds the other ends of a program's streams: check does it
	Habits       Side = "habits"       // of clients, whatever faults their server has: check --client looks at them
	Life         Side = "life"         // whoever starts, uses and ends a server: check --server does it
)

// A Misbehaviour is one way to fail, or to make another fail.
type Misbehaviour struct {
	Name   string
	Side   Side
	Title  string // what is done, in a line for a list
	Advice string // what a good program does

	// A Server's misbehaviour may take a number of bytes: Sign is '@' before a threshold and '='
	// before a quantity, or 0 where there is none; Default is used where no number is given.
	Sign    byte
	Default int64
}

// All returns the whole catalogue, side by side, and related ones together.
func All() []Misbehaviour { return slices.Clone(all) }

// Of returns the misbehaviours of one side.
func Of(side Side) []Misbehaviour {
	return slices.DeleteFunc(All(), func(m Misbehaviour) bool { return m.Side != side })
}

// Situations returns what check does to a program, a server or a client: how it behaves then is
// what is judged.
func Situations(checked Side) []Misbehaviour {
	switch checked {
	case Program:
		return Of(Surroundings)
	case Server:
		return append(Of(Client), Of(Life)...)
	}
	return append(Of(Server), Of(Habits)...)
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
func (m Misbehaviour) Usage() string { return m.Spec(m.Default) }

// Spec returns how m is asked for with that number of bytes; 0 is none, where a quantity is asked for
// and where it is the default.
func (m Misbehaviour) Spec(bytes int64) string {
	if m.Sign == 0 || bytes == 0 && (m.Default == 0 || m.Sign == '=') {
		return m.Name
	}
	return m.Name + string(m.Sign) + strings.ReplaceAll(results.FormatSize(bytes), " ", "")
}

// Cut takes apart how a misbehaviour is asked for: its name, and behind a sign its number of bytes,
// without which the sign is 0.
func Cut(spec string) (name string, sign byte, bytes string) {
	if i := strings.IndexAny(spec, "@="); i >= 0 {
		return spec[:i], spec[i], spec[i+1:]
	}
	return spec, 0, ""
}

// all is the whole catalogue.
var all = slices.Concat(programs, servers, clients, surroundings, habits, lives)

// Texts takes a file apart when it is first asked for: a name and a text a line.
func Texts(file string) func() map[string]string {
	return sync.OnceValue(func() map[string]string {
		of := map[string]string{}
		for line := range strings.Lines(file) {
			name, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
			of[name] = text
		}
		return of
	})
}
