package main

import "testing"

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
