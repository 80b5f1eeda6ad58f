package bench

import (
	"fmt"
	"slices"

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
	latencies := map[string][]results.Latency{}
	for _, s := range r.Samples {
		if s.Load != nil {
			achieved = append(achieved, s.Load.Achieved)
		}
		for key, l := range s.Latency {
			latencies[key] = append(latencies[key], l)
		}
	}
	if len(achieved) == 0 {
		return nil
	}
	if share := stat.Median(achieved).Median / r.Cell.Rate; share < minAchieved {
		out = append(out, fmt.Sprintf("only %.1f %% of the rate asked for was achieved: latencies are those of an overload; ask for less (--rate)", 100*share))
	}
	own, err := results.MergeLatencies(latencies["lateness"])
	all, allErr := results.MergeLatencies(latencies["due"])
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
	undisturbed := slices.DeleteFunc(slices.Clone(r.Samples), func(s results.Sample) bool { return s.Disturbed != "" })
	times, free := stat.MustMetric("time").Values(undisturbed), r.Cell.Placement == "free"
	if _, two := stat.Bimodal(times); two && free {
		out = append(out, "the samples are bimodal: the scheduler put the ends now together, now apart; choose a placement")
	} else if two {
		out = append(out, "the samples are bimodal: something else changed while they were taken; look at them one by one")
	}
	if n := len(stat.Outliers(times)); float64(n) > maxOutliers*float64(len(times)) {
		out = append(out, fmt.Sprintf("%d of %d samples are outliers: close other programs, or take more (--samples)", n, len(times)))
	}
	together := 0
	for _, s := range r.Samples {
		if len(s.Writer.CPUs) == 1 && slices.Equal(s.Writer.CPUs, s.Reader.CPUs) {
			together++
		}
	}
	if free && together > 0 {
		out = append(out, fmt.Sprintf("in %d of %d samples both ends ran on one CPU, unasked; choose a placement", together, len(r.Samples)))
	}
	return out
}

// warnOnce adds a warning to the cell's record, if it is not there.
func (c *cellRun) warnOnce(text string) {
	if !slices.Contains(c.record.Warnings, text) {
		c.record.Warnings = append(c.record.Warnings, text)
	}
}
