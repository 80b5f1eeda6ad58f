package bench

import (
	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/results"
)

// interference are what disturbs all cells of a run alike: the machine's own
// faults, and who else uses it while the run goes on. Nil ones tell nothing.
type interference struct {
	lasting []string      // of the machine, found before the run
	before  machine.Usage // of its CPUs
	latest  []string      // all of it, as it was found last
	stale   bool          // a round was taken since then
}

func newInterference() *interference {
	s := &interference{before: machine.ReadUsage(), stale: true}
	s.lasting = warningsOf(machine.Disturbing(machine.Describe("", 0)))
	return s
}

// nextRound notes that time has passed. It is said once a round, so that cells that
// are finished in the same one are told the same.
func (s *interference) nextRound() {
	if s != nil {
		s.stale = true
	}
}

// warnings are what a record that is finished now has to be read with.
func (s *interference) warnings() []string {
	if s == nil {
		return nil
	}
	if s.stale {
		s.latest = append(warningsOf(machine.ReadUsage().Since(s.before).Faults()), s.lasting...)
		s.stale = false
	}
	return s.latest
}

func warningsOf(faults []results.Fault) []string {
	var out []string
	for _, f := range faults {
		out = append(out, f.Warning())
	}
	return out
}
