package view

import (
	"testing"

	"github.com/pipebench/pipebench/results/stat"
)

// Only what is established and worse is bad: no change, and what is faster, are no alarm.
func TestOnlyWhatGotWorseIsAnAlarm(t *testing.T) {
	goodput := stat.MustMetric("goodput")
	ratio := func(r float64) *float64 { return &r }
	for _, row := range []struct {
		verdict stat.Verdict
		ratio   float64
		want    Tone
	}{
		{stat.NoChange, 1.001, Neutral},
		{stat.Slower, 0.5, Bad},
		{stat.Faster, 2, Good},
		{stat.TooNoisy, 0.9, Mixed},
		{stat.NoVerdict, 0.9, Mixed},
	} {
		ch := stat.Change{Verdict: row.verdict, Ratio: ratio(row.ratio)}
		ch.Before.Metric = goodput
		table := comparisonTable("", []stat.Change{ch}, stat.Tolerance)
		last := table.Rows[0][len(table.Columns)-1]
		if last.Tone != row.want {
			t.Errorf("%s: tone %q, want %q", row.verdict, last.Tone, row.want)
		}
	}
}
