package check

import (
	"strings"
	"testing"

	"github.com/pipebench/pipebench/scenarios/catalogue"
)

// Each situation that the catalogue has for a program is tried, and each command line holds the
// command once.
func TestSituationsOfAProgramAreThoseOfTheCatalogue(t *testing.T) {
	tried := map[string]bool{"reference": true, "block-buffer": true}
	for _, s := range programSituations {
		tried[s.name] = true
		if _, err := catalogue.Find(catalogue.For(catalogue.Program), s.name); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		if s.line != "" && strings.Count(s.line, "CMD") != 1 {
			t.Errorf("%s: %s", s.name, s.line)
		}
		if s.reaction == nil {
			t.Errorf("%s: nothing judges it", s.name)
		}
	}
	for _, s := range catalogue.For(catalogue.Program) {
		if !tried[s.Name] {
			t.Errorf("%s is not tried", s.Name)
		}
	}
}

// serve --fault and check --client share their faults.
func TestFaultsOfAServerAreThoseOfTheCatalogue(t *testing.T) {
	tried := map[string]bool{"large-answer": true} // a search of its own
	for _, fault := range serverFaults {
		name, _, _ := catalogue.Cut(fault.spec)
		tried[name] = true
		if _, err := catalogue.Find(catalogue.Faults(), name); err != nil {
			t.Errorf("serverFaults: %s: %v", fault.spec, err)
		}
	}
	for _, s := range catalogue.Faults() {
		if !tried[s.Name] {
			t.Errorf("check --client does not try %s: it is not among serverFaults", s.Name)
		}
	}
}
