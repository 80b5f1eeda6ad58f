package plots

import (
	"slices"
	"testing"

	"github.com/pipebench/pipebench/results"
)

// Writers that do not block have charts of their own, and no part in those of the framings.
func TestWaitingWritersHaveTheirCharts(t *testing.T) {
	set := testSet()
	before, _ := Charts(set)
	for _, r := range testStreams("run-1", 3, 1) {
		for i, io := range []string{"poll/blocking", "sleep=10ms/blocking"} {
			for _, reader := range []results.Cell{{}, {Drain: 50e6}, {ClosesAfter: 1}} {
				waits := r
				waits.Cell.IO, waits.Cell.Drain, waits.Cell.ClosesAfter = io, reader.Drain, reader.ClosesAfter
				waits.Samples = slices.Clone(r.Samples)
				for k := range waits.Samples {
					if waits.Samples[k].Writer.EAGAIN = new(int64(7)); reader.ClosesAfter > 0 {
						waits.Samples[k].Left = &results.Left{ToldNS: int64(1 + 999*i), Error: "EPIPE"}
					}
				}
				if r.Cell.Placement == "same" && (r.Cell.Size == 4096 || r.Cell.Size == 65536) {
					set.Add(waits)
				}
			}
		}
	}
	for _, pipe := range []string{"anonymous", "fifo"} {
		for _, when := range []string{"before", "during"} {
			e := results.MustEvidence(map[string]any{"pipe": pipe, "io": "poll", "when": when, "noticed_ns": 5000})
			set.Add(results.Fault{Run: "run-1", ID: "reader-gone/" + pipe + "/poll/" + when, Verdict: "noticed", Evidence: e})
		}
	}
	charts, _ := Charts(set)
	byName := map[string]Chart{}
	for _, c := range charts {
		byName[c.Name] = c
	}
	if len(charts) != len(before)+3 {
		t.Errorf("charts %q, %d without them", chartNames(charts), len(before))
	}
	for name, want := range map[string]struct{ panels, series, points int }{
		"refusals": {4, 5, 4 * 5 * 2}, "told": {2, 1, 4}, "told-by-pipe": {2, 2, 4},
	} {
		c := byName[name]
		if len(c.Panels) != want.panels || len(c.legend()) != want.series || len(c.points()) != want.points {
			t.Errorf("%s: %d panels, %d series, %d points; want %+v", name, len(c.Panels), len(c.legend()), len(c.points()), want)
		}
	}
	if title := byName["told"].Panels[0].Title; title != "reader leaves after 1 message · 4 KiB messages" {
		t.Errorf("title %q", title)
	}
}
