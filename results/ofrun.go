package results

// OfRun is what the set holds of one run: its environment and all its lines,
// of whatever kind. The problems of the files are not a run's.
func (s *Set) OfRun(run string) *Set {
	return &Set{
		Environments: linesOf(s.Environments, run, func(l Environment) string { return l.Run }),
		Records:      linesOf(s.Records, run, func(l Record) string { return l.Run }),
		Probes:       linesOf(s.Probes, run, func(l Probe) string { return l.Run }),
		Faults:       linesOf(s.Faults, run, func(l Fault) string { return l.Run }),
		Claims:       linesOf(s.Claims, run, func(l Claim) string { return l.Run }),
		Targets:      linesOf(s.Targets, run, func(l Target) string { return l.Run }),
		Tunes:        linesOf(s.Tunes, run, func(l Tune) string { return l.Run }),
		Noise:        linesOf(s.Noise, run, func(l Noise) string { return l.Run }),
		Messages:     linesOf(s.Messages, run, func(l Message) string { return l.Run }),
	}
}

func linesOf[L Line](lines []L, run string, of func(L) string) []L {
	var out []L
	for _, l := range lines {
		if of(l) == run {
			out = append(out, l)
		}
	}
	return out
}
