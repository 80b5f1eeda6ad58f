package bench

import (
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// minSamples is the number of samples below which there is no 95 % interval.
const minSamples = 6

// warnings are what a reader of the record should know of it.
func warnings(r results.Record, asked int) []string {
	if r.Unsupported != "" {
		return nil
	}
	var all []string
	for _, w := range []string{
		tooFewSamples(r, asked), overloaded(r), generatorLate(r), bimodal(r), outliers(r), sharedCPU(r),
	} {
		if w != "" {
			all = append(all, w)
		}
	}
	return all
}

// tooFewSamples has no number in it, so that cells which differ by a sample are told the
// same. A cell without samples says why by itself.
func tooFewSamples(r results.Record, asked int) string {
	n := len(r.Samples)
	if n == 0 || n >= min(asked, minSamples) {
		return ""
	}
	why := map[string]string{
		"max-time":    "time was up; give it more (--max-time)",
		"interrupted": "the run was interrupted",
		"failed":      "a cell of the run failed",
	}[r.Stopped]
	return fmt.Sprintf("fewer samples than asked for, too few for an interval: %s", why)
}

// minAchieved is the share of an asked rate below which the rate was not kept.
const minAchieved = 0.99

func overloaded(r results.Record) string {
	var achieved []float64
	for _, s := range r.Samples {
		if s.Load != nil {
			achieved = append(achieved, s.Load.Achieved)
		}
	}
	if len(achieved) == 0 {
		return ""
	}
	if share := stat.Median(achieved).Median / r.Cell.Rate; share < minAchieved {
		return fmt.Sprintf("only %.1f %% of the rate asked for was achieved: latencies are those of an overload; ask for less (--rate)", 100*share)
	}
	return ""
}

// generatorLate compares the tail of the generator's own lateness with that of
// the latency it is part of.
func generatorLate(r results.Record) string {
	own, all := merged(r, "lateness"), merged(r, "due")
	if own.P99NS == nil || all.P99NS == nil || *own.P99NS*2 < *all.P99NS {
		return ""
	}
	return fmt.Sprintf("the generator's own lateness (p99 %s) explains most of the p99: place the ends apart, or ask for a lower rate",
		results.FormatDuration(float64(*own.P99NS)))
}

func merged(r results.Record, key string) results.Latency {
	var all []results.Latency
	for _, s := range r.Samples {
		if l, ok := s.Latency[key]; ok {
			all = append(all, l)
		}
	}
	l, err := results.MergeLatencies(all)
	if err != nil {
		return results.Latency{}
	}
	return l
}

// times are the times a message of the record's samples.
func times(r results.Record) []float64 {
	m, err := stat.MetricByName("time")
	if err != nil {
		return nil
	}
	return m.Values(r.Samples)
}

func bimodal(r results.Record) string {
	if _, two := stat.Bimodal(times(r)); !two {
		return ""
	}
	if r.Cell.Placement == "free" {
		return "the samples fall into two groups: the scheduler put the ends now together, now apart; choose a placement"
	}
	return "the samples fall into two groups: something else changed while they were taken; look at them one by one"
}

func outliers(r results.Record) string {
	if n := len(stat.Outliers(times(r))); n > 0 {
		return fmt.Sprintf("%d of %d samples lie far from the others: let nothing else run, or take more (--samples)", n, len(r.Samples))
	}
	return ""
}

// sharedCPU tells of ends that the scheduler put on one CPU unasked.
func sharedCPU(r results.Record) string {
	if r.Cell.Placement != "free" {
		return ""
	}
	together := 0
	for _, s := range r.Samples {
		if len(s.Writer.CPUs) == 1 && slices.Equal(s.Writer.CPUs, s.Reader.CPUs) {
			together++
		}
	}
	if together > 0 {
		return fmt.Sprintf("in %d of %d samples both ends ran on one CPU, unasked; choose a placement", together, len(r.Samples))
	}
	return ""
}

// warnOnce adds a warning to the cell's record, if it is not there.
func (c *cellRun) warnOnce(text string) {
	if !slices.Contains(c.record.Warnings, text) {
		c.record.Warnings = append(c.record.Warnings, text)
	}
}

// interference are what disturbs all cells of a run alike: the machine's own
// faults, and who else uses it while the run goes on. Nil ones tell nothing.
type interference struct {
	lasting []string      // of the machine, found before the run
	before  machine.Usage // of its CPUs
	latest  []string      // all of it, as it was found last
	stale   bool          // a round was taken since then

	disturbed bool // others had what the cells needed so far
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
// Disturbed means that others had what the cells needed so far.
func (s *interference) warnings() (texts []string, disturbed bool) {
	if s == nil {
		return nil, false
	}
	if s.stale {
		faults := machine.ReadUsage().Since(s.before).Faults()
		s.latest, s.disturbed = append(warningsOf(faults), s.lasting...), len(faults) > 0
		s.stale = false
	}
	return s.latest, s.disturbed
}

func warningsOf(faults []results.Fault) []string {
	var out []string
	for _, f := range faults {
		out = append(out, f.Warning())
	}
	return out
}
