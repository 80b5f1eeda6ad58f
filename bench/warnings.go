package bench

import (
	"fmt"
	"slices"
	"time"

	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// minSamples is the number of samples below which there is no 95 % interval.
const minSamples = 6

// warnings returns what a reader of the record should know of it.
func warnings(r results.Record, asked int) []string {
	if r.Unsupported != "" || len(r.Samples) == 0 {
		return nil // which says why by itself
	}
	var all []string
	if len(r.Samples) < min(asked, minSamples) { // without a number, so that cells which differ by a sample are told the same
		why := map[string]string{
			"max-time":    "time was up; give it more (--max-time)",
			"interrupted": "the run was interrupted",
			"failed":      "a cell of the run failed",
		}[r.Stopped]
		all = append(all, fmt.Sprintf("fewer samples than asked for, too few for an interval: %s", why))
	}
	return slices.Concat(all, loadWarnings(r), spreadWarnings(r))
}

// minAchieved is the share of an asked rate below which the rate was not kept.
const minAchieved = 0.99

// loadWarnings tells of a load that was not kept, and of a generator whose own lateness is most of
// the tail of the latency that it is part of.
func loadWarnings(r results.Record) (out []string) {
	var achieved []float64
	for _, s := range r.Samples {
		if s.Load != nil {
			achieved = append(achieved, s.Load.Achieved)
		}
	}
	if len(achieved) == 0 {
		return nil
	}
	if share := stat.Median(achieved).Median / r.Cell.Rate; share < minAchieved {
		out = append(out, fmt.Sprintf("only %.1f %% of the rate asked for was achieved: latencies are those of an overload; ask for less (--rate)", 100*share))
	}
	own, err := results.MergeLatencies(r.Samples, "lateness")
	all, allErr := results.MergeLatencies(r.Samples, "due")
	if err == nil && allErr == nil && own.P99NS != nil && all.P99NS != nil && *own.P99NS*2 >= *all.P99NS {
		out = append(out, fmt.Sprintf("the generator's own lateness (p99 %s) explains most of the p99: place the ends apart, or ask for a lower rate",
			results.FormatDuration(float64(*own.P99NS))))
	}
	return out
}

// maxOutliers is the share of samples that may lie far from the others before a median of them is
// in doubt.
const maxOutliers = 0.2

// spreadWarnings tells of samples that do not agree, although nothing is known to have disturbed
// them, and of ends that the scheduler put on one CPU unasked.
func spreadWarnings(r results.Record) (out []string) {
	undisturbed := stat.Filter(r.Samples, func(s results.Sample) bool { return s.Disturbed == "" })
	times, free := stat.MustMetric("time").Values(undisturbed), r.Cell.Placement == "free"
	if _, two := stat.Bimodal(times); two && free {
		out = append(out, "the samples are bimodal: the scheduler put the ends now together, now apart; choose a placement")
	} else if two {
		out = append(out, "the samples are bimodal: something else changed while they were taken; look at them one by one")
	}
	if n := len(stat.Outliers(times)); float64(n) > maxOutliers*float64(len(times)) {
		out = append(out, fmt.Sprintf("%d of %d samples are outliers: close other programs, or take more (--samples)", n, len(times)))
	}
	together := stat.Filter(r.Samples, func(s results.Sample) bool {
		return len(s.Writer.CPUs) == 1 && slices.Equal(s.Writer.CPUs, s.Reader.CPUs)
	})
	if n := len(together); free && n > 0 {
		out = append(out, fmt.Sprintf("in %d of %d samples both ends ran on one CPU, unasked; choose a placement", n, len(r.Samples)))
	}
	return out
}

// warnOnce adds a warning to the cell's record, if it is not there.
func (c *cellRun) warnOnce(text string) {
	if !slices.Contains(c.record.Warnings, text) {
		c.record.Warnings = append(c.record.Warnings, text)
	}
}

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
		s.Disturbed = fmt.Sprintf("run queue: it waited %.0f %% of the time for CPUs that others had", 100*float64(waited)/float64(s.ElapsedNS))
	}
}

// waitedForOthers returns how long the ends of a sample could have run at least, but others had the
// CPU. Ends with a CPU each wait for others alone. Those on one CPU also wait for each other, so
// there it is no longer than the time in which neither ran. Where the scheduler chose, an end
// waited for others as far as it waited longer than the other end ran.
func waitedForOthers(s results.Sample, cpus placement.CPUs) (waited time.Duration, known bool) {
	w, r := s.Writer, s.Reader
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
// others had what the cell needed: as its slices tell, where the system lets them, or else as the
// whole machine does.
func (i *interference) warnings(samples []results.Sample) (texts []string, disturbed bool) {
	if !slices.ContainsFunc(samples, func(s results.Sample) bool { return s.Writer.RunQueueNS != nil }) {
		return i.latest, i.disturbed
	}
	marked := stat.Filter(samples, func(s results.Sample) bool { return s.Disturbed != "" })
	return i.latest, 2*len(marked) > len(samples)
}

func warningsOf(faults []results.Fault) []string { return stat.Map(faults, results.Fault.Warning) }
