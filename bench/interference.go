package bench

import (
	"fmt"
	"time"

	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
)

// interference watches what disturbs the cells of a run: the machine's own faults, and who else
// uses the machine while the run goes on.
type interference struct {
	lasting []string      // warnings of the machine's own faults, found before the run
	before  machine.Usage // of the machine's CPUs, before the run
	usage   machine.Usage // of the machine's CPUs, when the latest slice was over

	// As update found them:
	current   []string // all warnings
	disturbed bool     // others used what the cells needed
}

func newInterference() *interference {
	usage := machine.ReadUsage()
	return &interference{
		lasting: warningsOf(machine.Disturbing(machine.Describe("", 0))),
		before:  usage,
		usage:   usage,
	}
}

// maxQueued is the share of a slice's time that its ends may wait for CPUs that others have. If
// they wait longer, the sample counts as disturbed.
const maxQueued = 0.05

// mark notes in a sample how much CPU time the hypervisor took since the slice before. If others
// disturbed the sample, mark says how in Disturbed, and the figures leave the sample out. The rule
// is the same for every sample and ignores the sample's speed.
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

// waitedForOthers returns how long the ends of a sample waited at least for CPUs that others had.
func waitedForOthers(s results.Sample, cpus placement.CPUs) (waited time.Duration, known bool) {
	w := s.Writer
	r := s.Reader
	if w.RunQueueNS == nil || r.RunQueueNS == nil || w.CPUNS == nil || r.CPUNS == nil {
		return 0, false
	}
	ns := *w.RunQueueNS + *r.RunQueueNS // an end that has its own CPU waits only for others
	switch {
	case cpus.Writer == placement.Any:
		// An end may have waited while the other ran; only what it waited beyond that counts.
		ns = max(0, *w.RunQueueNS-*r.CPUNS) + max(0, *r.RunQueueNS-*w.CPUNS)
	case cpus.Writer == cpus.Reader:
		// The ends also wait for each other; only the time in which neither ran counts.
		ns = min(ns, max(0, s.ElapsedNS-*w.CPUNS-*r.CPUNS))
	}
	return time.Duration(ns), true
}

// update collects the warnings about the machine so far. It is called once for all cells that
// finish together, so that all of them get the same warnings.
func (i *interference) update() {
	faults := machine.ReadUsage().Since(i.before).Faults()
	i.current = append(warningsOf(faults), i.lasting...)
	i.disturbed = len(faults) > 0
}

// warnings returns the warnings for a cell that is finished, and whether others used what the cell
// needed: whether more than half of its samples were disturbed, or, if the system does not tell how
// long threads wait for a CPU, whether the whole machine was.
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
