package results

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

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
	Documented string `json:"documented,omitempty"` // what the system's documented rule predicts, and its source
	Agrees     *bool  `json:"agrees,omitempty"`     // nil: not documented
}

// Number returns what was found if it is a number: a float64 once it was in a file.
func (p Probe) Number() (float64, bool) {
	switch n := p.Value.(type) {
	case float64:
		return n, true
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	}
	return 0, false
}

// NoResult reports whether the experiment came to none, or the system has no such kind of pipe.
func (p Probe) NoResult() bool { return p.Value == "hangs" || p.Value == "fails" || p.Step == "kind" }

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
	Reproduce string   `json:"reproduce,omitempty"` // a shell line that shows the same without pipebench
	Command   []string `json:"command"`             // what was checked
	Runtime   string   `json:"runtime,omitempty"`   // what it runs on, as far as that was found: "Node", "Go"
	Evidence  Evidence `json:"evidence,omitempty"`
}

// Verdicts of a [Check].
const (
	CheckOK         = "ok"
	CheckFails      = "fails"
	CheckSlow       = "slow"
	CheckCannotTell = "cannot-tell"
)

// A Tune is what one chunk size costs and gains, or the recommendation.
type Tune struct {
	Kind string    `json:"kind"`
	Run  string    `json:"run"`
	Time time.Time `json:"time"`

	Cell        Cell         `json:"cell"`
	Samples     []Sample     `json:"samples,omitempty"`
	Recommended bool         `json:"recommended,omitempty"`
	Evidence    TuneEvidence `json:"evidence,omitzero"`
	Warnings    []string     `json:"warnings,omitempty"`
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

// LeastStall is the longest time that a write takes which does not wait: copying 128 KiB and waking the
// reader take less than half of it. What takes no longer is not recorded as a stall.
const LeastStall = 100 * time.Microsecond

// A Message is one message that tap saw pass.
type Message struct {
	Kind string `json:"kind"`
	Run  string `json:"run"`

	Dir    string          `json:"dir"`  // "request" (client to server) or "reply"
	T      int64           `json:"t_ns"` // since the recording began, when the write of it had returned
	Size   int64           `json:"size"` // message bytes, terminator not counted
	Method string          `json:"method,omitempty"`
	ID     json.RawMessage `json:"id,omitempty"`
	Error  bool            `json:"error,omitempty"`    // it answers by an error
	Cuts   []int64         `json:"cuts,omitempty"`     // bytes each read brought, where it took several
	CutNS  []int64         `json:"cut_ns,omitempty"`   // when each of them was passed on, since the first
	Stall  int64           `json:"stall_ns,omitempty"` // how long the other side did not take what there was of it
	Body   string          `json:"body,omitempty"`
}

func (Probe) kind() string   { return KindProbe }
func (Fault) kind() string   { return KindFault }
func (Claim) kind() string   { return KindClaim }
func (Target) kind() string  { return KindTarget }
func (Check) kind() string   { return KindCheck }
func (Tune) kind() string    { return KindTune }
func (Noise) kind() string   { return KindNoise }
func (Message) kind() string { return KindMessage }

// environment tells a fault of the machine, which disturbs measurements, from one of stdio.
func (f Fault) IsEnvironment() bool { return strings.HasPrefix(f.ID, EnvironmentFault) }

// Evidence is what a [Fault] or a [Claim] rests on: a JSON object, kept as its text. Each kind of
// finding has a struct of its own, which lives with the experiment that makes it: [NewEvidence]
// writes that struct once, and [Evidence.Decode] gives it back. The empty Evidence is an object
// without fields.
type Evidence string

// NewEvidence returns v, a struct or a map, as it stands in the file. What is no JSON object is an
// error.
func NewEvidence(v any) (Evidence, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("write evidence: %w", err)
	}
	var e Evidence
	if err := e.UnmarshalJSON(text); err != nil {
		return "", fmt.Errorf("write evidence of %T: %w", v, err)
	}
	return e, nil
}

// MustEvidence makes evidence of plain data, of which [NewEvidence] has no error.
func MustEvidence(v any) Evidence {
	e, err := NewEvidence(v)
	if err != nil {
		panic("results: " + err.Error())
	}
	return e
}

// Decode gives the evidence back as the type that it was made from; v is a pointer to one.
func (e Evidence) Decode(v any) error {
	if err := json.Unmarshal([]byte(e.text()), v); err != nil {
		return fmt.Errorf("read evidence: %w", err)
	}
	return nil
}

func (e Evidence) text() string { return cmp.Or(string(e), "{}") }

// MarshalJSON writes the object.
func (e Evidence) MarshalJSON() ([]byte, error) { return []byte(e.text()), nil }

// UnmarshalJSON keeps an object; null is an empty one.
func (e *Evidence) UnmarshalJSON(text []byte) error {
	text = bytes.TrimSpace(text)
	switch {
	case bytes.Equal(text, []byte("null")):
		*e = ""
		return nil
	case !bytes.HasPrefix(text, []byte("{")):
		return errors.New("evidence is no JSON object")
	}
	*e = Evidence(slices.Clone(text))
	return nil
}

// TuneEvidence says more of a chunk size; the Recommendation of the one that is recommended is in
// the file with the rest, as one object.
type TuneEvidence struct {
	Compared    int64 `json:"compared,omitempty"`     // rounds in which the size met the others
	PredictedNS int64 `json:"predicted_ns,omitempty"` // the wait that capacity, chunk and reader rate suggest
	Frame       int   `json:"frame,omitempty"`        // bytes of a frame, where the sender waits between them
	*RecommendationEvidence
}

// RecommendationEvidence says why a chunk size is recommended.
type RecommendationEvidence struct {
	Objective string  `json:"objective,omitempty"`
	Margin    float64 `json:"margin"`         // no other size is worth more by more than this share, with 95 % confidence
	Cost      string  `json:"cost,omitempty"` // the metric that counts as cost
	Alike     []int   `json:"alike"`          // sizes worth as much within 5 %, ascending
	Possible  []int   `json:"possible"`       // sizes that another run may recommend
	Flat      bool    `json:"flat,omitempty"` // the size does not matter
}

// A Curve is evidence that says more as a picture. It is the field "curve" of a fault's evidence.
type Curve struct {
	Title  string  `json:"title"`
	X      string  `json:"x"` // what the axis shows, with its unit: "message size, B"
	Y      string  `json:"y"`
	Series []Trace `json:"series"`
}

// A Trace is one line of a curve.
type Trace struct {
	Name   string       `json:"name"`
	Points []CurvePoint `json:"points"` // ascending by X
}

// A CurvePoint is known within an interval; an exact one has Low and High equal to Y.
type CurvePoint struct {
	X    float64 `json:"x"`
	Y    float64 `json:"y"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`

	Extrapolated bool `json:"extrapolated,omitempty"` // computed from a fitted slope, not measured
}
