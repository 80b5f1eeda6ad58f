package results

import "testing"

func TestOfRunLeavesNoKindOut(t *testing.T) {
	lines := func(run string) []Line {
		return []Line{
			Environment{Run: run}, Record{Run: run}, Probe{Run: run}, Fault{Run: run}, Claim{Run: run},
			Target{Run: run}, Tune{Run: run}, Noise{Run: run}, Message{Run: run},
		}
	}
	s := &Set{}
	for _, run := range []string{"a", "b"} {
		for _, l := range lines(run) {
			s.Add(l)
		}
	}
	a := s.OfRun("a")
	for name, n := range map[string]int{
		"environment": len(a.Environments), "record": len(a.Records), "probe": len(a.Probes), "fault": len(a.Faults), "claim": len(a.Claims),
		"target": len(a.Targets), "tune": len(a.Tunes), "noise": len(a.Noise), "message": len(a.Messages),
	} {
		if n != 1 {
			t.Errorf("%d %s lines of run a", n, name)
		}
	}
}
