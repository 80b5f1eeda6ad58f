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
	if r.Unsupported != "" {
		return nil
	}
	var w []string
	if n := len(r.Samples); n < min(asked, fewest) {
		w = append(w, fmt.Sprintf("%d samples of %d asked for: too few for an interval; give it more time (--max-time)", n, asked))
	}
	return w
}

// warnOnce adds a warning to the cell's record, if it is not there.
func (c *progress) warnOnce(text string) {
	if !slices.Contains(c.record.Warnings, text) {
		c.record.Warnings = append(c.record.Warnings, text)
	}
}
