package main

import (
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/probe"
)

func TestOnlyResultsCount(t *testing.T) {
	hanging := results.Probe{Run: "a", Pipe: "anonymous", Step: "deadlock", Value: "hangs", How: "killed"}
	found := results.Probe{Run: "a", Pipe: "anonymous", Step: "slot", Value: 4096.0, Unit: "B", How: "read"}
	if !probeFailed(&results.Set{Probes: []results.Probe{hanging}}) || probeFailed(&results.Set{Probes: []results.Probe{hanging, found}}) {
		t.Error("a set has failed if and only if nothing in it came to a result")
	}
	set := &results.Set{
		Environments: []results.Environment{{Run: "a"}, {Run: "b"}},
		Probes:       []results.Probe{found, {Run: "another", Pipe: "anonymous"}, {Run: "a", Step: "memory/copy/1/same"}},
	}
	if part := onPipes(set.OfRun("a"), nil); len(part.Probes) != 1 || len(part.Environments) != 1 {
		t.Errorf("of one run: %+v", part)
	}
}

func TestARecordKeepsTheFinding(t *testing.T) {
	yes := true
	f := probe.Finding{Pipe: syspipe.FIFO, Step: "slot", Value: 4096, Unit: "B", How: "h", Documented: "d", Agrees: &yes}
	r := probeRecord("r", f)
	if r.Kind != results.KindProbe || r.Run != "r" || r.Pipe != "fifo" || r.Step != "slot" || r.Value != 4096 || r.Unit != "B" ||
		r.How != "h" || r.Documented != "d" || r.Agrees != &yes || r.Time.IsZero() {
		t.Errorf("record %+v", r)
	}
}

// What is shown beside measurements is what the rules of a system say, under the name that people
// use for it.
func TestDocumentedSystemsHaveTheirRules(t *testing.T) {
	for _, s := range documented(documentedSystems) {
		if value, ok := s.Predict("slot"); !ok && s.Name != "windows" || s.Name == "macos" && value != 1 {
			t.Errorf("%s: a slot is %v, %v", s.Name, value, ok)
		}
		if len(s.Rules) == 0 || s.Rules[0].Says == "" || s.Rules[0].Source == "" {
			t.Errorf("%s: rules %+v", s.Name, s.Rules)
		}
	}
}
