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
	lasting []string      // faults of the machine, found before the run
	before  machine.Usage // of the machine's CPUs, before the run
	last    machine.Usage // when the latest slice was over
	latest  []string      // all warnings, by the latest look

	disturbed bool // others used what the cells needed, by the latest look
}

func newInterference() *interference {
	usage := machine.ReadUsage()
	return &interference{
		lasting: warningsOf(machine.Disturbing(machine.Describe("", 0))),
		before:  usage,
		last:    usage,
	}
}

// maxQueued is the largest share of a slice's time in which its ends may have waited for CPUs that
// others had.
const maxQueued = 0.05

// mark notes in a sample how much CPU time the hypervisor took from it. It leaves the sample out of
// the figures, by saying why in Disturbed, if the hypervisor took any since the slice before, if a
// quota stopped it, or if its ends waited more than maxQueued of the time for CPUs that others had.
// The rule is the same for every sample and ignores its speed.
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

// waitedForOthers returns how long the ends of a sample waited, at least, for a CPU that others
// had.
func waitedForOthers(s results.Sample, cpus placement.CPUs) (waited time.Duration, known bool) {
	w := s.Writer
	r := s.Reader
	if w.RunQueueNS == nil || r.RunQueueNS == nil || w.CPUNS == nil || r.CPUNS == nil {
		return 0, false
	}
	ns := *w.RunQueueNS + *r.RunQueueNS // if each has a CPU of its own, it waits only for others
	switch {
	case cpus.Writer == placement.Any:
		// An end may have waited for the other while that ran; what it waited beyond that counts.
		ns = max(0, *w.RunQueueNS-*r.CPUNS) + max(0, *r.RunQueueNS-*w.CPUNS)
	case cpus.Writer == cpus.Reader:
		// They also wait for each other; only the time in which neither ran counts.
		ns = min(ns, max(0, s.ElapsedNS-*w.CPUNS-*r.CPUNS))
	}
	return time.Duration(ns), true
}

// look collects the warnings about the machine so far. It is called once for cells that are
// finished together, so that all of them get the same warnings.
func (i *interference) look() {
	faults := machine.ReadUsage().Since(i.before).Faults()
	i.latest, i.disturbed = append(warningsOf(faults), i.lasting...), len(faults) > 0
}

// warnings returns the warnings for a record that is finished now. disturbed means that others used
// what the cell needed: that more than half of its samples were marked, or, if the system does not
// tell how long threads wait for a CPU, that the whole machine was disturbed.
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
