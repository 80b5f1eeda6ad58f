package results

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// The types below are kinds of lines that earlier versions wrote. Most have a method Finding, which
// says the same as a [Finding]; a Tune has a method Record.

// A Probe is one rule of the operating system's pipes, found by experiment.
type Probe struct {
	Kind string    `json:"kind"`
	Run  string    `json:"run"`
	Time time.Time `json:"time"`

	Pipe       string `json:"pipe,omitempty"`
	Step       string `json:"step"`                 // "capacity/fill/2049"
	Value      any    `json:"value"`                // number, string or bool
	Unit       string `json:"unit,omitempty"`       // "B", "ns"
	How        string `json:"how"`                  // the experiment, in a line
	Documented string `json:"documented,omitempty"` // what the system's documents say, and where
	Agrees     *bool  `json:"agrees,omitempty"`     // nil: not documented
}

// Number returns what was found if it is a number: a float64 once it was in a file.
func (p Probe) Number() (float64, bool) { return number(p.Value) }

// NoResult reports whether the experiment came to none, or the system has no such kind of pipe.
func (p Probe) NoResult() bool {
	return p.Value == "hangs" || p.Value == "fails" || p.Step == "kind"
}

// EnvironmentFault begins the ID of a [Fault] of the machine itself, which disturbs what is
// measured on it: "environment/governor".
const EnvironmentFault = "environment/"

// A Fault is one way in which stdio fails, reproduced.
type Fault struct {
	Kind string    `json:"kind"`
	Run  string    `json:"run"`
	Time time.Time `json:"time"`

	ID       string   `json:"id"`
	Verdict  string   `json:"verdict"`
	Evidence Evidence `json:"evidence"`
	Advice   string   `json:"advice,omitempty"`
}

// Warning returns a fault of the environment in a line, as the records of a run have it, with its
// remedy.
func (f Fault) Warning() string { return fmt.Sprintf("%s: %s; %s", f.ID, f.Verdict, f.Advice) }

// A Claim is a checkable statement of a document, judged on this machine.
type Claim struct {
	Kind string    `json:"kind"`
	Run  string    `json:"run"`
	Time time.Time `json:"time"`

	ID       string   `json:"id"`
	Seed     string   `json:"seed"` // "000" to "004"
	Claim    string   `json:"claim"`
	Verdict  string   `json:"verdict"` // "holds", "refuted", "depends", "not-testable-here"
	Figure   string   `json:"figure,omitempty"`
	Why      string   `json:"why"`
	Evidence Evidence `json:"evidence,omitempty"`
}

// A Check is how a program, a server or a client of others behaved in one situation.
type Check struct {
	Kind string    `json:"kind"`
	Run  string    `json:"run"`
	Time time.Time `json:"time"`

	Side      string   `json:"side"`    // who was checked: "program", "server", "client"
	Name      string   `json:"name"`    // of the situation
	Verdict   string   `json:"verdict"` // "ok", "fails", "slow", "cannot-tell"
	Found     string   `json:"found"`   // what happened, in a sentence with its figure
	How       string   `json:"how"`     // what was done
	Advice    string   `json:"advice,omitempty"`
	Reproduce string   `json:"reproduce,omitempty"` // a shell line that shows it without pipebench
	Command   []string `json:"command"`             // what was checked
	Runtime   string   `json:"runtime,omitempty"`   // "Node", "Go", if that was found
	Evidence  Evidence `json:"evidence,omitempty"`
}

// Verdicts of a [Check].
const (
	CheckOK         = "ok"
	CheckFails      = "fails"
	CheckSlow       = "slow"
	CheckCannotTell = "cannot-tell"
)

// A Tune holds the samples of one chunk size with one reader. Its lines also had what was
// recommended, which is not read any more.
type Tune struct {
	Kind string    `json:"kind"`
	Run  string    `json:"run"`
	Time time.Time `json:"time"`

	Cell     Cell     `json:"cell"`
	Samples  []Sample `json:"samples,omitempty"`
	Warnings []string `json:"warnings,omitempty"` // without samples: why there are none
}

// A Noise is how far one cell's figure moves on this machine between runs that nothing
// distinguishes.
type Noise struct {
	Kind string    `json:"kind"`
	Run  string    `json:"run"`
	Time time.Time `json:"time"` // when the last of the invocations was finished

	Since   time.Time `json:"since,omitzero"` // when the first of them was
	Machine string    `json:"machine"`
	Cell    Cell      `json:"cell"`
	Metric  string    `json:"metric"`
	Values  []float64 `json:"values"` // the median of each invocation
	Spread  float64   `json:"spread"` // the largest ratio between two of them, less 1
}

// IsEnvironment reports whether the fault is one of the machine, which disturbs measurements.
func (f Fault) IsEnvironment() bool { return strings.HasPrefix(f.ID, EnvironmentFault) }

func (Probe) kind() string  { return KindProbe }
func (p Probe) run() string { return p.Run }
func (Fault) kind() string  { return KindFault }
func (f Fault) run() string { return f.Run }
func (Claim) kind() string  { return KindClaim }
func (c Claim) run() string { return c.Run }
func (Check) kind() string  { return KindCheck }
func (c Check) run() string { return c.Run }
func (Tune) kind() string   { return KindTune }
func (t Tune) run() string  { return t.Run }
func (Noise) kind() string  { return KindNoise }
func (n Noise) run() string { return n.Run }

// Finding returns the rule as a finding: "rule/fifo/capacity/fill/2049".
func (p Probe) Finding() Finding {
	f := Finding{
		Kind: KindFinding, Run: p.Run, Time: p.Time, ID: AreaRule + "/" + p.Step, Title: p.How,
		Verdict: Noted, Value: p.Value, Unit: p.Unit, Found: p.found(),
	}
	if p.Pipe != "" {
		f.ID = AreaRule + "/" + p.Pipe + "/" + p.Step
	}
	switch {
	case p.Step == "kind":
		f.Verdict = Unsupported
	case p.Value == "hangs", p.Value == "fails":
		f.Verdict = CannotTell
	case p.Agrees != nil && *p.Agrees:
		f.Verdict = Holds
	case p.Agrees != nil:
		f.Verdict = Refuted
	}
	if p.Documented != "" {
		f.Evidence = MustEvidence(map[string]string{"documented": p.Documented})
	}
	return f
}

// found is the value in words, with what the system's documented rule says.
func (p Probe) found() string {
	text := fmt.Sprint(p.Value)
	if n, ok := p.Number(); ok {
		text = FormatExact(n, p.Unit)
	}
	if p.Documented != "" {
		text += "; documented: " + p.Documented
	}
	return text
}

// Finding returns the fault as a finding: "failure/orphan/ndjson" or "machine/governor". A verdict
// of a machine is a sentence, one of a failure is a class.
func (f Fault) Finding() Finding {
	out := Finding{
		Kind: KindFinding, Run: f.Run, Time: f.Time, ID: AreaFailure + "/" + f.ID, Verdict: Fails,
		Class: f.Verdict, Found: f.Verdict, Advice: f.Advice, Evidence: f.Evidence,
	}
	var evidence struct{ Summary string }
	if f.Evidence.Decode(&evidence) == nil && evidence.Summary != "" {
		out.Found = evidence.Summary
	}
	switch f.Verdict {
	case "ok", "sound", "exit 0", "yes":
		out.Verdict = OK
	case "slow", "grows", "noticed", "refused", "error reply":
		out.Verdict = Depends
	case "unsupported":
		out.Verdict = Unsupported
	}
	if name, ok := strings.CutPrefix(f.ID, EnvironmentFault); ok {
		out.ID = AreaMachine + "/" + name
		out.Verdict = Noted
		out.Class = ""
		out.Found = f.Verdict
	}
	return out
}

// Finding returns the claim as a finding: "claim/000-capacity".
func (c Claim) Finding() Finding {
	f := Finding{
		Kind: KindFinding, Run: c.Run, Time: c.Time, ID: AreaClaim + "/" + c.ID, Title: c.Claim,
		Verdict: Verdict(c.Verdict), Found: c.Why, Evidence: c.Evidence,
	}
	if c.Verdict == "not-testable-here" {
		f.Verdict = CannotTell
	}
	if c.Figure != "" {
		f.Found = c.Figure + ": " + c.Why
	}
	return f
}

// Finding returns the check as a finding: "check/server/ids".
func (c Check) Finding() Finding {
	return Finding{
		Kind:      KindFinding,
		Run:       c.Run,
		Time:      c.Time,
		ID:        AreaCheck + "/" + c.Side + "/" + c.Name,
		Title:     c.How,
		About:     c.Command,
		Verdict:   Verdict(c.Verdict),
		Found:     c.found(),
		Advice:    c.Advice,
		Reproduce: c.Reproduce,
		Evidence:  c.Evidence,
	}
}

// Record returns the chunk size as a measurement: the same cell, samples and warnings.
func (t Tune) Record() Record {
	r := Record{
		Kind: KindMeasurement, Run: t.Run, Time: t.Time, Cell: t.Cell, Samples: t.Samples,
		Stopped: "samples", Warnings: t.Warnings,
	}
	if len(t.Samples) > 0 {
		return r
	}
	r.Stopped = "interrupted"
	if len(t.Warnings) > 0 {
		r.Stopped = ""
		r.Unsupported = strings.TrimPrefix(strings.Join(t.Warnings, "; "), "unsupported: ")
	}
	return r
}

var (
	oldSilentExit = regexp.MustCompile(`(^|: )exit 0($|;| at )`)
	oldNoReply    = regexp.MustCompile(`(^|: )deaf($|;| at )`)
)

// found says in words what the sentence has verdicts of the file for. Such a verdict stands at the
// beginning or after a colon, and up to the end, a semicolon or the size that it is about: the rest
// is free text, of programs too. A program that did well has not left silently.
func (c Check) found() string {
	exit := "exited silently (code 0)"
	if c.Verdict == string(OK) {
		exit = "code 0"
	}
	text := oldSilentExit.ReplaceAllString(c.Found, "${1}"+exit+"${2}")
	return oldNoReply.ReplaceAllString(text, "${1}no reply, process alive${2}")
}
