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
			t.Errorf("%s has no entry in scenarios/catalogue/table.go", s.name)
		}
		if s.line != "" && strings.Count(s.line, "CMD") != 1 {
			t.Errorf("%s: %s", s.name, s.line)
		}
		if s.judge == nil {
			t.Errorf("%s: nothing judges it", s.name)
		}
	}
	for _, s := range catalogue.For(catalogue.Program) {
		if !tried[s.Name] {
			t.Errorf("%s has no line in programSituations (program.go)", s.Name)
		}
	}
}

// check --client tries each fault that serve --fault has.
func TestFaultsOfAServerAreThoseOfTheCatalogue(t *testing.T) {
	tried := new(clientCheck).situations()
	for _, s := range catalogue.Faults() {
		if tried[s.Name] == nil {
			t.Errorf("check --client does not try %s: its entry in catalogue/table.go has no Due",
				s.Name)
		}
		if name, _, _ := catalogue.Cut(s.Asked); s.Asked != "" && name != s.Name {
			t.Errorf("check --client asks for %s in place of %s", s.Asked, s.Name)
		}
	}
}
