package results

import (
	"errors"
	"strings"
	"time"
)

// A Verdict says how a [Finding] turned out.
type Verdict string

// Verdicts of what was tested: a program, a server, a client, this machine.
const (
	OK          Verdict = "ok"
	Fails       Verdict = "fails"
	Expected    Verdict = "expected" // it fails, and its user listed it as a known failure
	Slow        Verdict = "slow"
	CannotTell  Verdict = "cannot-tell" // the experiment ran and could not decide
	Unsupported Verdict = "unsupported" // this system cannot run the experiment
)

// Verdicts on sentences: a documented rule of the system, a claim of a document. Those that could
// not be judged are [CannotTell] or [Unsupported].
const (
	Holds   Verdict = "holds"
	Refuted Verdict = "refuted"
	Depends Verdict = "depends" // it holds under a condition
	Noted   Verdict = "noted"   // there is no sentence to judge it by
)

// Verdicts lists all verdicts. Those that most need a person's attention come first.
func Verdicts() []Verdict {
	return []Verdict{
		Fails, Refuted, Slow, Expected, Depends, CannotTell, Unsupported, Noted, Holds, OK,
	}
}

// Areas of findings: the first part of an ID.
const (
	AreaRule    = "rule"    // "rule/fifo/capacity/fill/4096": a rule of the system's pipes
	AreaFailure = "failure" // "failure/dirty-lines/lenient": a way in which stdio fails, reproduced
	AreaClaim   = "claim"   // "claim/000-pipe-buf": a sentence that people say
	AreaTrial   = "trial"   // "trial/chunks/early": what earlier versions judged claims by
	AreaCheck   = "check"   // "check/server/ids": how a program, server or client behaves
	AreaMachine = "machine" // "machine/governor": what disturbs measurements on this machine
	AreaTune    = "tune"    // "tune/goodput": which chunk size to use
	AreaCompare = "compare" // "compare/CPU-time": a figure of two commands, value: new over old
)

// A Finding is one conclusion: about this system's pipes, this machine, a common claim, or the
// behaviour of somebody's program.
type Finding struct {
	Kind string    `json:"kind"`
	Run  string    `json:"run"`
	Time time.Time `json:"time"`

	ID      string   `json:"id"`              // "check/server/ids": an area, and names in it
	Title   string   `json:"title,omitempty"` // the claim, or the experiment
	About   []string `json:"about,omitempty"` // the command that was tested; absent: this system
	Verdict Verdict  `json:"verdict"`

	// Class says how something fails: "silent-loss", "stuck", "corrupted". It picks advice and
	// colour.
	Class string `json:"class,omitempty"`

	Value any    `json:"value,omitempty"` // the figure that decided: a number, a text or a bool
	Unit  string `json:"unit,omitempty"`  // "B", "ns"

	Found     string   `json:"found"` // one sentence with the figure, or why there is no verdict
	Advice    string   `json:"advice,omitempty"`
	Reproduce string   `json:"reproduce,omitempty"` // a shell line that shows it without pipebench
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

// Number returns the value if it is a number. A number that was read from a file is a float64.
func (f Finding) Number() (float64, bool) { return number(f.Value) }

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	}
	return 0, false
}

// Validate reports what is wrong with a finding: no ID, or an unknown verdict.
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
