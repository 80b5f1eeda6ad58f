package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// An oldLine is a line of a kind that only earlier versions wrote. The comment of each field names
// the kinds of lines that have the field.
type oldLine struct {
	Run  string
	Time time.Time

	ID        string // fault, claim
	Verdict   string // fault, claim, check
	Advice    string // fault, check
	Evidence  Evidence
	Found     string   // check: what happened, in a sentence
	How       string   // probe, check: the experiment
	Reproduce string   // check
	Command   []string // check: what was checked
	Side      string   // check: "program", "server", "client"
	Name      string   // check: the name of the situation

	Pipe       string // probe
	Step       string // probe: "capacity/fill/2049"
	Value      any    // probe: a number, a text or a bool
	Unit       string // probe
	Documented string // probe: what the system's documents say
	Agrees     *bool  // probe: whether Value is as documented; nil if nothing is documented

	Claim  string // claim: what is claimed, in a sentence
	Figure string // claim
	Why    string // claim

	Cell     Cell     // tune, noise
	Samples  []Sample // tune
	Warnings []string // tune: if there are no samples, why not

	Metric string    // noise
	Values []float64 // noise: the median of each run
	Spread float64   // noise: the largest ratio between two of Values, less 1
}

// decodeOld decodes a line of a kind that is no longer written. A line of kind "tune" becomes a
// [Record], any other line a [Finding].
func decodeOld(kind string, text []byte) (Line, error) {
	var old oldLine
	if err := json.Unmarshal(text, &old); err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	if kind == "tune" {
		return old.measurement(), nil
	}
	f := Finding{
		Kind: KindFinding, Run: old.Run, Time: old.Time, Title: old.How, About: old.Command,
		Verdict: Verdict(old.Verdict), Found: old.Found, Advice: old.Advice,
		Reproduce: old.Reproduce, Evidence: old.Evidence,
	}
	switch kind {
	case "probe":
		old.rule(&f)
	case "fault":
		old.failure(&f)
	case "claim":
		old.claim(&f)
	case "check":
		f.ID = AreaCheck + "/" + old.Side + "/" + old.Name
	case "noise":
		f.ID = AreaMachine + "/noise"
		f.Verdict = Noted
		f.Value = 100 * old.Spread
		f.Unit = "%"
		f.Found = fmt.Sprintf("%d runs of %s differ by up to %s in %s", len(old.Values),
			CellLabel(old.Cell, nil), FormatPercent(100*old.Spread), old.Metric)
	default:
		return nil, fmt.Errorf("kind %q is not known to this version", kind)
	}
	return f, nil
}

// The method rule fills in a finding about the system's pipes, such as
// "rule/fifo/capacity/fill/2049".
func (old oldLine) rule(f *Finding) {
	f.ID = AreaRule + "/" + old.Step
	if old.Pipe != "" {
		f.ID = AreaRule + "/" + old.Pipe + "/" + old.Step
	}
	f.Value = old.Value
	f.Unit = old.Unit
	f.Found = fmt.Sprint(old.Value)
	if n, ok := number(old.Value); ok {
		f.Found = FormatExact(n, old.Unit)
	}
	if old.Documented != "" {
		f.Found += "; documented: " + old.Documented
		f.Evidence = MustEvidence(map[string]string{"documented": old.Documented})
	}
	switch {
	case old.Step == "kind": // the system has no such kind of pipe
		f.Verdict = Unsupported
	case old.Value == "hangs", old.Value == "fails": // it was stopped, perhaps because of load
		f.Verdict = CannotTell
		f.Class = f.Found
	case old.Agrees == nil:
		f.Verdict = Noted
	case *old.Agrees:
		f.Verdict = Holds
	default:
		f.Verdict = Refuted
	}
}

// The method failure fills in a finding from a line of kind "fault", about stdio or about this
// machine.
func (old oldLine) failure(f *Finding) {
	f.Found = old.Verdict
	if name, ok := strings.CutPrefix(old.ID, "environment/"); ok {
		f.ID = AreaMachine + "/" + name
		f.Verdict = Noted
		return
	}
	f.ID = AreaFailure + "/" + old.ID
	f.Class = old.Verdict
	var evidence struct{ Summary string }
	if old.Evidence.Decode(&evidence) == nil && evidence.Summary != "" {
		f.Found = evidence.Summary
	}
	switch old.Verdict {
	case "ok", "sound", "exit 0", "yes":
		f.Verdict = OK
	case "slow", "grows", "noticed", "refused", "error reply":
		f.Verdict = Depends
	case "unsupported":
		f.Verdict = Unsupported
	default:
		f.Verdict = Fails
	}
}

func (old oldLine) claim(f *Finding) {
	f.ID = AreaClaim + "/" + old.ID
	f.Title = old.Claim
	f.Found = old.Why
	if old.Figure != "" {
		f.Found = old.Figure + ": " + old.Why
	}
	if old.Verdict == "not-testable-here" {
		f.Verdict = CannotTell
	}
}

// measurement returns the record for a line of kind "tune".
func (old oldLine) measurement() Record {
	r := Record{
		Kind: KindMeasurement, Run: old.Run, Time: old.Time, Cell: old.Cell, Samples: old.Samples,
		Warnings: old.Warnings,
	}
	switch {
	case len(old.Samples) > 0:
		r.Stopped = "samples"
	case len(old.Warnings) > 0:
		r.Unsupported = strings.TrimPrefix(strings.Join(old.Warnings, "; "), "unsupported: ")
	default:
		r.Stopped = "interrupted"
	}
	return r
}

// decodeMeasurement decodes a measurement. In older files, the field "closed" of a sample is called
// "left".
func decodeMeasurement(text []byte) (Line, error) {
	line, err := decodeAs[Record](text)
	if err != nil || !bytes.Contains(text, []byte(`"left":`)) {
		return line, err
	}
	// This is not done in a method UnmarshalJSON of Sample, because types that embed Sample would
	// inherit the method.
	var old struct {
		Samples []struct{ Left *Closed }
	}
	if err := json.Unmarshal(text, &old); err != nil {
		return nil, err
	}
	r := line.(Record)
	for i, s := range old.Samples {
		if s.Left != nil {
			r.Samples[i].Closed = s.Left
		}
	}
	return r, nil
}
