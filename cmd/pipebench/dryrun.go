package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

// showTime is about how long a run takes to draw its pictures and to write its page.
const showTime = 4 * time.Second

// printPlan prints what the runs would measure and how long that takes, and the reasons why cells
// cannot be measured. If this machine can measure none of them, it returns the error that the run
// would end with.
func (f *runFlags) printPlan(w io.Writer, p bench.Plan) error {
	lacking := map[string]int{} // cells, by the reason
	var here []results.Cell
	for _, c := range p.Cells {
		if err := bench.Unsupported(c); err != nil {
			lacking[err.Error()]++
			continue
		}
		here = append(here, c)
	}
	reasons := slices.Sorted(maps.Keys(lacking))
	if len(here) == 0 {
		return fmt.Errorf("no cell can be measured here: %s", strings.Join(reasons, "; "))
	}
	if f.detail {
		for _, c := range here {
			fmt.Fprintln(w, c.Key())
		}
	}
	for _, reason := range reasons {
		fmt.Fprintf(w, "unsupported: %s: %s\n",
			results.FormatCount(lacking[reason], "cell"), reason)
	}
	runs := time.Duration(f.repeat)
	one := min(p.Estimate(), p.MaxTime)
	measuring := runs * one
	writeNotice(w, planned(here))
	if f.repeat > 1 {
		fmt.Fprintf(w, "%d runs of ", f.repeat)
	}
	fmt.Fprintf(w, "%s of up to %s: about %s of measuring (--max-time %s)\n",
		results.FormatCount(len(here), "cell"), results.FormatCount(p.Samples, "sample"),
		measuring.Round(100*time.Millisecond), (runs * p.MaxTime).Round(100*time.Millisecond))
	total := measuring + showTime
	if f.repeat > 1 { // the last run begins at the end of --over
		total = max(measuring, f.over+one) + showTime
	}
	_, err := fmt.Fprintf(w, "with the pictures and the page: about %s\n", total.Round(time.Second))
	return err
}

// planned says which lists the cells are the product of.
func planned(cells []results.Cell) string {
	least, most := cells[0].Size, cells[0].Size
	var framings, patterns, placements []string
	for _, c := range cells {
		least, most = min(least, c.Size), max(most, c.Size)
		framings = append(framings, view.FieldValue("framing", c.Framing))
		patterns = append(patterns, c.Pattern)
		placements = append(placements, c.Placement)
	}
	sizes := results.FormatSize(int64(least))
	if most > least {
		sizes += " to " + results.FormatSize(int64(most))
	}
	return fmt.Sprintf("messages of %s; framings %s; patterns %s; placements %s",
		sizes, distinct(framings), distinct(patterns), distinct(placements))
}

// distinct lists each name once, in the order in which they came.
func distinct(names []string) string {
	var once []string
	for _, name := range names {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	return strings.Join(once, ", ")
}
