package bench

import (
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/results"
)

// fewest is the number of samples below which there is no 95 % interval.
const fewest = 6

// warnings are what a reader of the record should know of it.
func warnings(r results.Record, asked int) []string {
	n := len(r.Samples)
	if r.Unsupported != "" || n >= min(asked, fewest) {
		return nil
	}
	why := map[string]string{
		"max-time":    "time was up; give it more (--max-time)",
		"interrupted": "the run was interrupted",
		"failed":      "a cell of the run failed",
	}[r.Stopped]
	return []string{fmt.Sprintf("%d of %d samples, too few for an interval: %s", n, asked, why)}
}

// warnOnce adds a warning to the cell's record, if it is not there.
func (c *progress) warnOnce(text string) {
	if !slices.Contains(c.record.Warnings, text) {
		c.record.Warnings = append(c.record.Warnings, text)
	}
}
