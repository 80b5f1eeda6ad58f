package results

import "time"

// A Fault is one way in which stdio fails, or what disturbs measurements on this machine, before
// it becomes a [Finding].
type Fault struct {
	Kind string    `json:"kind"`
	Run  string    `json:"run"`
	Time time.Time `json:"time"`

	ID       string   `json:"id"`
	Verdict  string   `json:"verdict"`
	Evidence Evidence `json:"evidence"`
	Advice   string   `json:"advice,omitempty"`
}

// EnvironmentFault begins the ID of a [Fault] of the machine.
const EnvironmentFault = "environment/"

// Warning returns a fault of the machine in a line, with its remedy.
func (f Fault) Warning() string { return f.ID + ": " + f.Verdict + "; " + f.Advice }

// Finding returns the fault as a finding: "failure/orphan/ndjson" or "machine/governor".
func (f Fault) Finding() Finding {
	old := oldLine{ID: f.ID, Verdict: f.Verdict, Evidence: f.Evidence}
	out := Finding{
		Kind: KindFinding, Run: f.Run, Time: f.Time, Advice: f.Advice, Evidence: f.Evidence,
	}
	old.failure(&out)
	return out
}

func (Fault) kind() string  { return "fault" }
func (f Fault) run() string { return f.Run }

// A Claim is a checkable statement, judged on this machine, before it becomes a [Finding].
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

// Finding returns the claim as a finding: "claim/000-capacity".
func (c Claim) Finding() Finding {
	old := oldLine{ID: c.ID, Claim: c.Claim, Verdict: c.Verdict, Figure: c.Figure, Why: c.Why}
	out := Finding{
		Kind: KindFinding, Run: c.Run, Time: c.Time, Verdict: Verdict(c.Verdict),
		Evidence: c.Evidence,
	}
	old.claim(&out)
	return out
}

func (Claim) kind() string  { return "claim" }
func (c Claim) run() string { return c.Run }

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

// KindNoise is the kind of a [Noise].
const KindNoise = "noise"

func (Noise) kind() string  { return KindNoise }
func (n Noise) run() string { return n.Run }
