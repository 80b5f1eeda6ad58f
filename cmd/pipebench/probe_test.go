package main

import "testing"

// What is shown beside measurements is what the rules of a system say, under the name that people
// use for it.
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
