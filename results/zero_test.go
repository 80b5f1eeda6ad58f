package results_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/pipebench/pipebench/results"
)

// The parts of evidence that a record lacks are nil, and the zero value can be looked at: no field
// of it is reached through a pointer that is nil.
func TestTheZeroTargetHasNoEvidence(t *testing.T) {
	var target results.Target
	e := target.Evidence
	if e.Server != nil || e.Failure != nil || e.Size != nil || e.Load != nil ||
		e.Limit != nil || e.Growth != nil || e.Replay != nil || e.Traffic != nil {
		t.Errorf("a target of which nothing is known has evidence: %+v", e)
	}
	if target.Served() {
		t.Error("a target of which nothing is known was served")
	}
	text, err := json.Marshal(target.Evidence)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != "{}" {
		t.Errorf("the evidence is written as %s", text)
	}
}

// As JSON a set is all that it holds: none of its lists is left out.
func TestASetAsJSONHoldsAllOfIt(t *testing.T) {
	set := results.Set{
		Environments: make([]results.Environment, 1),
		Records:      make([]results.Record, 1),
		Findings:     make([]results.Finding, 1),
		Targets:      make([]results.Target, 1),
		Messages:     make([]results.Message, 1),
		Problems:     make([]results.Problem, 1),
	}
	text, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	var back results.Set
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	before, after := reflect.ValueOf(set), reflect.ValueOf(back)
	for i := range before.NumField() {
		name := before.Type().Field(i).Name
		if before.Field(i).Len() != after.Field(i).Len() {
			t.Errorf("%s is lost", name)
		}
	}
}
