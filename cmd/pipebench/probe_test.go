package main

import (
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/claims"
)

// Each documented system has rules to show beside measurements, under the name that people use.
func TestDocumentedSystemsHaveTheirRules(t *testing.T) {
	for _, s := range documented(documentedSystems) {
		value, ok := s.Predict("slot")
		if !ok && s.Name != "windows" || s.Name == "macos" && value != 1 {
			t.Errorf("%s: a slot is %v, %v", s.Name, value, ok)
		}
		if len(s.Rules) == 0 || s.Rules[0].Says == "" || s.Rules[0].Source == "" {
			t.Errorf("%s: rules %+v", s.Name, s.Rules)
		}
	}
}

// Claims are judged by what any file holds: these, by findings on the pipes of other systems.
func TestClaimsAreJudgedOnOtherSystems(t *testing.T) {
	for file, want := range map[string]map[string]results.Verdict{
		"gvisor":      {"000-capacity": results.Holds, "000-write-eagain": results.Depends},
		"arm64-16k":   {"000-capacity": results.Refuted, "000-pipe-buf": results.Refuted},
		"ppc64le-64k": {"000-60k-leaves-room": results.Holds},
		"wine":        {"000-write-eagain": results.Refuted, "002-crash-isolation": results.Holds},
	} {
		set, err := results.Read("testdata/platforms/" + file + ".jsonl.gz")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range claims.Judge(set, claims.All()) {
			if verdict, ok := want[f.Name()]; ok && f.Verdict != verdict {
				t.Errorf("%s: %s: %s, want %s: %s", file, f.Name(), f.Verdict, verdict, f.Found)
			}
			delete(want, f.Name())
		}
		if len(want) > 0 {
			t.Errorf("%s: not judged: %v", file, want)
		}
	}
}
