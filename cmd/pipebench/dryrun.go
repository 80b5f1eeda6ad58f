package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

// drawTime is about how long a run takes to draw its pictures and to write its page.
const drawTime = 4 * time.Second

// printPlan prints for --dry-run what would be measured, how long that would take, and what this
// machine cannot measure. It returns an error if that leaves nothing to measure, or to assert.
func (f *runFlags) printPlan(cmd *cobra.Command, p bench.Plan) error {
	w := cmd.OutOrStdout()
	unsupported := map[string]int{} // from a reason to the number of cells
	var supported []results.Cell
	for _, c := range p.Cells {
		if err := bench.Unsupported(c); err != nil {
			unsupported[err.Error()]++
			continue
		}
		supported = append(supported, c)
	}
	reasons := slices.Sorted(maps.Keys(unsupported))
	if len(supported) == 0 {
		return fmt.Errorf("no cell can be measured here: %s", strings.Join(reasons, "; "))
	}
	for _, condition := range f.asserts {
		if !slices.ContainsFunc(supported, condition.IsAbout) {
			return &statusError{exitInconclusive, fmt.Errorf("it cannot be told whether %s: "+
				"no cell of it is measured here", condition.Text)}
		}
	}
	if f.detail {
		for _, c := range supported {
			fmt.Fprintln(w, c.Key())
		}
	}
	for _, reason := range reasons {
		fmt.Fprintf(w, "unsupported: %s: %s\n",
			results.FormatCount(unsupported[reason], "cell"), reason)
	}
	runs := time.Duration(f.repeat)
	oneRun := min(p.Estimate(), p.MaxTime)
	allRuns := runs * oneRun
	fmt.Fprintln(w, viewOptions(cmd, f.detail).Wrap(summary(supported)))
	if f.repeat > 1 {
		fmt.Fprintf(w, "%d runs of ", f.repeat)
	}
	fmt.Fprintf(w, "%s of up to %s: about %s of measuring (--max-time %s)\n",
		results.FormatCount(len(supported), "cell"), results.FormatCount(p.Samples, "sample"),
		allRuns.Round(100*time.Millisecond), (runs * p.MaxTime).Round(100*time.Millisecond))
	if f.repeat > 1 { // the last run begins at the end of --over
		allRuns = max(allRuns, f.over+oneRun)
	}
	total := (allRuns + drawTime).Round(time.Second)
	_, err := fmt.Fprintf(w, "with the pictures and the page: about %s\n", total)
	return err
}

// summary names the sizes, framings, patterns and placements that are measured.
func summary(cells []results.Cell) string {
	smallest, largest := cells[0].Size, cells[0].Size
	var framings, patterns, placements []string
	for _, c := range cells {
		smallest = min(smallest, c.Size)
		largest = max(largest, c.Size)
		framings = append(framings, view.FieldValue("framing", c.Framing))
		patterns = append(patterns, c.Pattern)
		placements = append(placements, c.Placement)
	}
	sizes := results.FormatSize(int64(smallest))
	if largest > smallest {
		sizes += " to " + results.FormatSize(int64(largest))
	}
	return fmt.Sprintf("messages of %s; framings %s; patterns %s; placements %s",
		sizes, distinct(framings), distinct(patterns), distinct(placements))
}

// distinct joins the names with commas, without repeated ones.
func distinct(names []string) string {
	var once []string
	for _, name := range names {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	return strings.Join(once, ", ")
}
