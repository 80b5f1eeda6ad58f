package bench

import (
	"fmt"
	"time"

	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
)

// An interference is what disturbs the cells of a run: the machine's own faults, and who else uses
// it while the run goes on.
type interference struct {
	lasting []string      // of the machine, found before the run
	before  machine.Usage // of its CPUs
	last    machine.Usage // when the latest slice was over
	latest  []string      // all of it, by the latest look

	disturbed bool // others had what the cells needed, by the same
}

func newInterference() *interference {
	usage := machine.ReadUsage()
	return &interference{
		lasting: warningsOf(machine.Disturbing(machine.Describe("", 0))),
		before:  usage,
		last:    usage,
	}
}

// maxQueued is the share of its time that a slice may have lost because others had a CPU on which
// one of its ends could have run.
const maxQueued = 0.05

// mark notes in a sample what the hypervisor took from it, and says why it is to be left out of the
// figures, if it is. The rule is the same for every sample and never looks at its speed: any of its
// CPUs' time was stolen or withheld by a quota since the slice before, or its ends waited for a CPU
// that others had for more than maxQueued of the time.
func (i *interference) mark(s *results.Sample, cpus placement.CPUs) {
	now := machine.ReadUsage()
	since := now.Since(i.last)
	i.last = now
	stolen, known := since.StolenFrom(cpus.Writer, cpus.Reader)
	if known {
		s.StealNS = new(stolen.Nanoseconds())
	}
	waited, _ := waitedForOthers(*s, cpus)
	switch {
	case stolen > 0:
		s.Disturbed = fmt.Sprintf("steal: the hypervisor took %s from its CPUs", stolen)
	case since.Throttled > 0:
		s.Disturbed = "throttled: a CPU quota stopped it"
	case float64(waited) > maxQueued*float64(s.ElapsedNS):
		share := float64(waited) / float64(s.ElapsedNS)
		s.Disturbed = fmt.Sprintf(
			"run queue: it waited %.0f %% of the time for CPUs that others had", 100*share)
	}
}

// waitedForOthers returns how long the ends of a sample could have run at least, but others had the
// CPU. Ends with a CPU each wait for others alone. Those on one CPU also wait for each other, so
// there it is no longer than the time in which neither ran. Where the scheduler chose, an end
// waited for others as far as it waited longer than the other end ran.
func waitedForOthers(s results.Sample, cpus placement.CPUs) (waited time.Duration, known bool) {
	w := s.Writer
	r := s.Reader
	if w.RunQueueNS == nil || r.RunQueueNS == nil || w.CPUNS == nil || r.CPUNS == nil {
		return 0, false
	}
	ns := *w.RunQueueNS + *r.RunQueueNS
	switch {
	case cpus.Writer == placement.Any:
		ns = max(0, *w.RunQueueNS-*r.CPUNS) + max(0, *r.RunQueueNS-*w.CPUNS)
	case cpus.Writer == cpus.Reader:
		ns = min(ns, max(0, s.ElapsedNS-*w.CPUNS-*r.CPUNS))
	}
	return time.Duration(ns), true
}

// look finds out what there is to say of the machine so far. It is called once for cells that are
// finished together, so that they are told the same.
func (i *interference) look() {
	faults := machine.ReadUsage().Since(i.before).Faults()
	i.latest, i.disturbed = append(warningsOf(faults), i.lasting...), len(faults) > 0
}

// warnings returns what a record that is finished now has to be read with. Disturbed means that
// others had what the cell needed: as its slices tell, if the system lets them, or else as the
// whole machine does.
func (i *interference) warnings(samples []results.Sample) (texts []string, disturbed bool) {
	tells := false
	marked := 0
	for _, s := range samples {
		if s.Writer.RunQueueNS != nil {
			tells = true
		}
		if s.Disturbed != "" {
			marked++
		}
	}
	if !tells {
		return i.latest, i.disturbed
	}
	return i.latest, 2*marked > len(samples)
}

func warningsOf(faults []machine.Fault) []string {
	var out []string
	for _, f := range faults {
		out = append(out, f.Warning())
	}
	return out
}
