package results

import (
	"errors"
	"strings"
	"time"
)

// A Verdict says how a [Finding] turned out.
type Verdict string

// Verdicts on something that was tested: a program, a server, a client or this machine.
const (
	OK          Verdict = "ok"
	Fails       Verdict = "fails"
	Expected    Verdict = "expected" // it fails, but its user listed that as a known failure
	Slow        Verdict = "slow"
	CannotTell  Verdict = "cannot-tell" // the experiment ran and could not decide
	Unsupported Verdict = "unsupported" // this system cannot run the experiment
)

// Verdicts on a statement about pipes. A statement that could not be judged is [CannotTell] or
// [Unsupported].
const (
	Holds   Verdict = "holds"
	Refuted Verdict = "refuted"
	Depends Verdict = "depends" // it holds under a condition
	Noted   Verdict = "noted"   // there is no statement to judge it by
)

// Verdicts lists all verdicts. Those that most need a person's attention come first.
func Verdicts() []Verdict {
	return []Verdict{
		Fails, Refuted, Slow, Expected, Depends, CannotTell, Unsupported, Noted, Holds, OK,
	}
}

// Areas of findings. The area is the first part of a finding's ID.
const (
	AreaRule    = "rule"    // "rule/fifo/capacity/fill/4096": a rule of the system's pipes
	AreaFailure = "failure" // "failure/dirty-lines/lenient": a way in which stdio fails, reproduced
	AreaClaim   = "claim"   // "claim/000-pipe-buf": a common claim
	AreaCheck   = "check"   // "check/server/ids": how a program, server or client behaves
	AreaMachine = "machine" // "machine/governor": what disturbs measurements on this machine
	AreaTune    = "tune"    // "tune/goodput": which chunk size to use
	AreaCompare = "compare" // "compare/CPU-time": the ratio of two commands, new over old
)

// A Finding is one conclusion about this system's pipes, this machine, a program, or a sentence
// that people say about pipes.
type Finding struct {
	Kind string    `json:"kind"`
	Run  string    `json:"run"`
	Time time.Time `json:"time"`

	ID      string   `json:"id"`              // area and name: "check/server/ids"
	Title   string   `json:"title,omitempty"` // the claim, or the experiment
	About   []string `json:"about,omitempty"` // the command that was tested; absent: this system
	Verdict Verdict  `json:"verdict"`

	// Class is the way in which something fails, such as "silent-loss", "stuck" or "corrupted".
	Class string `json:"class,omitempty"`

	Value any    `json:"value,omitempty"` // what decided the verdict: number, text or bool
	Unit  string `json:"unit,omitempty"`  // "B", "ns"

	Found     string   `json:"found"` // sentences, one a line, or why there is no verdict
	Advice    string   `json:"advice,omitempty"`
	Reproduce string   `json:"reproduce,omitempty"` // a shell line to see it without pipebench
	Evidence  Evidence `json:"evidence,omitempty"`
}

func (Finding) kind() string  { return KindFinding }
func (f Finding) run() string { return f.Run }

// Area returns the first part of the ID: "check" of "check/server/ids".
func (f Finding) Area() string {
	area, _, _ := strings.Cut(f.ID, "/")
	return area
}

// Name returns the ID without its area: "server/ids" of "check/server/ids".
func (f Finding) Name() string {
	_, name, _ := strings.Cut(f.ID, "/")
	return name
}

// Number returns the value if it is a number.
func (f Finding) Number() (float64, bool) {
	switch n := f.Value.(type) {
	case float64:
		return n, true
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	}
	return 0, false
}

// Validate returns an error if a finding has no ID, or an unknown verdict.
func (f Finding) Validate() error {
	if f.ID == "" {
		return errors.New("a finding without an id")
	}
	var known []string
	for _, v := range Verdicts() {
		known = append(known, string(v))
	}
	return oneOf("verdict", string(f.Verdict), known...)
}
