package results_test

import (
	"testing"

	"github.com/pipebench/pipebench/results"
)

func TestOfRunLeavesNoKindOut(t *testing.T) {
	lines := func(run string) []results.Line {
		return []results.Line{
			results.Environment{Run: run},
			results.Record{Run: run},
			results.Finding{Run: run},
			results.Target{Run: run},
			results.Message{Run: run},
		}
	}
	s := &results.Set{}
	for _, run := range []string{"a", "b"} {
		for _, l := range lines(run) {
			s.Add(l)
		}
	}
	a := s.OfRun("a")
	for name, n := range map[string]int{
		"environment": len(a.Environments),
		"record":      len(a.Records),
		"finding":     len(a.Findings),
		"target":      len(a.Targets),
		"message":     len(a.Messages),
	} {
		if n != 1 {
			t.Errorf("%d %s lines of run a", n, name)
		}
	}
}
