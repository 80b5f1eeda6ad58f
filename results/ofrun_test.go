package results_test

import (
	"testing"

	"github.com/pipebench/pipebench/results"
)

func TestOfRunLeavesNoKindOut(t *testing.T) {
	lines := func(run string) []results.Line {
		return []results.Line{
			results.Environment{Run: run}, results.Record{Run: run}, results.Finding{Run: run}, results.Probe{Run: run}, results.Fault{Run: run}, results.Claim{Run: run},
			results.Target{Run: run}, results.Check{Run: run}, results.Tune{Run: run}, results.Noise{Run: run}, results.Message{Run: run},
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
		"environment": len(a.Environments), "record": len(a.Records) - 1, "finding": len(a.Findings) - 4,
		"target": len(a.Targets), "noise": len(a.Noise), "message": len(a.Messages),
	} {
		if n != 1 {
			t.Errorf("%d %s lines of run a", n, name)
		}
	}
}
