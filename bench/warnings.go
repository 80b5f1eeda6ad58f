package bench

import (
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// warnings returns a text for each doubt about a record's figures. The parameter asked is how many
// samples the plan asked for.
func warnings(r results.Record, asked int) []string {
	if r.Unsupported != "" || len(r.Samples) == 0 {
		return nil
	}
	return slices.Concat(countWarnings(r, asked), loadWarnings(r), spreadWarnings(r))
}

// countWarnings warns of too few samples. The text leaves out their number, so that it is the same
// in all records.
func countWarnings(r results.Record, asked int) []string {
	if len(r.Samples) >= min(asked, stat.LeastSamples) {
		return nil
	}
	why := r.Stopped
	switch r.Stopped {
	case "max-time":
		why = "time was up; give it more (--max-time)"
	case "failed":
		why = "a cell of the run failed"
	}
	return []string{"fewer samples than asked for, too few for an interval: " + why}
}

// minAchieved is the share of the requested rate below which there is a warning.
const minAchieved = 0.99

// loadWarnings warns if messages were not sent at the rate asked for. It also warns if sending late
// explains most of the 99th percentile of latencies.
func loadWarnings(r results.Record) []string {
	var achieved []float64
	for _, s := range r.Samples {
		if s.Load != nil {
			achieved = append(achieved, s.Load.Achieved)
		}
	}
	if len(achieved) == 0 {
		return nil
	}
	var out []string
	share := stat.Median(achieved).Median / r.Cell.Rate
	if share < minAchieved {
		out = append(out, fmt.Sprintf("only %.1f %% of the rate asked for was achieved: "+
			"latencies are those of an overload; ask for less (--rate)", 100*share))
	}
	own, err := results.MergePercentiles(r.Samples, "lateness")
	if err != nil || own.P99NS == nil {
		return out
	}
	all, err := results.MergePercentiles(r.Samples, "due")
	if err != nil || all.P99NS == nil || *own.P99NS*2 < *all.P99NS { // less than half of it
		return out
	}
	p99 := results.FormatDuration(float64(*own.P99NS))
	return append(out, fmt.Sprintf("the generator's own lateness (p99 %s) explains most of the "+
		"p99: place the ends apart, or ask for a lower rate", p99))
}

// maxOutliers is the share of outliers among the samples above which there is a warning.
const maxOutliers = 0.2

// spreadWarnings warns if undisturbed samples differ too much. It also warns if both ends of the
// pipe ran on one CPU because they were not bound to CPUs.
func spreadWarnings(r results.Record) []string {
	var undisturbed []results.Sample
	together := false // in some sample, both ends ran on the same CPU only
	for _, s := range r.Samples {
		if s.Disturbed == "" {
			undisturbed = append(undisturbed, s)
		}
		if len(s.Writer.CPUs) == 1 && slices.Equal(s.Writer.CPUs, s.Reader.CPUs) {
			together = true
		}
	}
	var out []string
	times := stat.MustMetric("time").Values(undisturbed)
	unpinned := r.Cell.Placement == "free"
	if stat.Bimodal(times) {
		why := "something else changed meanwhile; run it again"
		if unpinned {
			why = "the scheduler put the ends now together, now apart; " +
				"--placement same or apart keeps them"
		}
		out = append(out, stat.TwoClusters+": "+why)
	}
	outliers := len(stat.Outliers(times))
	if float64(outliers) > maxOutliers*float64(len(times)) {
		out = append(out, fmt.Sprintf("outliers among the samples: %d of %d; "+
			"close other programs, or take more (--samples)", outliers, len(times)))
	}
	if unpinned && together {
		out = append(out, "unpinned, both ends shared one CPU; --placement apart parts them")
	}
	return out
}

func (c *cellRun) warnOnce(text string) {
	if !slices.Contains(c.record.Warnings, text) {
		c.record.Warnings = append(c.record.Warnings, text)
	}
}
