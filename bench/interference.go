package bench

import (
	"fmt"
	"time"

	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
)

// An interference records what disturbs measurements: faults of the machine, and other programs or
// virtual machines on its CPUs.
type interference struct {
	lasting []string      // warnings of faults that the machine had before the run
	before  machine.Usage // of the machine's CPUs, before the run
	usage   machine.Usage // of the machine's CPUs, after the latest sample

	// The next two fields are set by update.
	current   []string // all warnings, including those in lasting
	disturbed bool     // something took CPU time that the measurements needed
}

func newInterference() *interference {
	usage := machine.ReadUsage()
	return &interference{
		lasting: warningsOf(machine.Disturbing(machine.Describe("", 0))),
		before:  usage,
		usage:   usage,
	}
}

// maxQueued is a share of a sample's time. If the two ends of the pipe wait longer than that for
// CPUs that other programs use, the sample counts as disturbed.
const maxQueued = 0.05

// mark sets StealNS and Disturbed of the sample s by the CPU time that other programs and virtual
// machines took since the previous sample. The speed of the messages plays no part.
func (i *interference) mark(s *results.Sample, cpus placement.CPUs) {
	now := machine.ReadUsage()
	since := now.Since(i.usage)
	i.usage = now
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

// waitedForOthers returns how long both ends of the pipe together waited for CPUs that other
// programs used. The true wait may be longer, but not shorter.
func waitedForOthers(s results.Sample, cpus placement.CPUs) (waited time.Duration, known bool) {
	w := s.Writer
	r := s.Reader
	if w.RunQueueNS == nil || r.RunQueueNS == nil || w.CPUNS == nil || r.CPUNS == nil {
		return 0, false
	}
	ns := *w.RunQueueNS + *r.RunQueueNS // ends on two CPUs wait only for other programs
	switch {
	case cpus.Writer == placement.Any:
		// An end may have waited while the other end ran. Only the wait beyond that time counts.
		ns = max(0, *w.RunQueueNS-*r.CPUNS) + max(0, *r.RunQueueNS-*w.CPUNS)
	case cpus.Writer == cpus.Reader:
		// The ends also wait for each other. Only the time in which neither of them ran counts.
		ns = min(ns, max(0, s.ElapsedNS-*w.CPUNS-*r.CPUNS))
	}
	return time.Duration(ns), true
}

// update collects the warnings about the run so far. Call it once for measurements that finish
// together, so that all of them get the same warnings.
func (i *interference) update() {
	faults := machine.ReadUsage().Since(i.before).Faults()
	i.current = append(warningsOf(faults), i.lasting...)
	i.disturbed = len(faults) > 0
}

// warnings returns the warnings for a finished measurement. The second result says whether more
// than half of the samples were disturbed. If that is not known, it says whether the machine was
// disturbed.
func (i *interference) warnings(samples []results.Sample) (texts []string, disturbed bool) {
	knowsWaits := false
	marked := 0
	for _, s := range samples {
		if s.Writer.RunQueueNS != nil {
			knowsWaits = true
		}
		if s.Disturbed != "" {
			marked++
		}
	}
	if !knowsWaits {
		// Disturbed samples may have gone unnoticed, so whatever disturbed the machine counts.
		return i.current, i.disturbed
	}
	return i.current, 2*marked > len(samples)
}

func warningsOf(faults []machine.Fault) []string {
	var out []string
	for _, f := range faults {
		out = append(out, f.Warning())
	}
	return out
}
