package main

import (
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results/stat"
)

func TestAdviceOnPairsHasNumbers(t *testing.T) {
	four := pace{pairs: 4, sinceBegin: 100 * time.Second, inPairs: 96 * time.Second}
	bench := four
	bench.better = " or a narrower -test.bench"
	six := pace{pairs: 6, sinceBegin: 100 * time.Second, inPairs: 96 * time.Second}
	for _, tt := range []struct {
		pace  pace
		pairs int
		want  string
	}{
		{four, 5, "give it --max-time 2m29s: a pair takes 24.0 s, and a verdict about 5 of them"},
		{four, 3, "give it --max-time 2m29s: a pair takes 24.0 s, and a verdict about 5 of them"},
		{six, 3, "give it --max-time 2m20s: a pair takes 16.0 s, and a verdict about 7 of them"},
		{bench, 5, "give it --max-time 2m29s or a narrower -test.bench: a pair takes 24.0 s, " +
			"and a verdict about 5 of them"},
		{four, 400, "a verdict takes more than an hour at this noise: use a quieter machine"},
		{bench, 400, "a verdict takes more than an hour at this noise: use a quieter machine " +
			"or a narrower -test.bench"},
		{pace{pairs: 4, wanted: 4, inPairs: time.Second}, 40,
			"give it --pairs 40: it had 4, and a pair takes 250 ms"},
	} {
		if got := tt.pace.advice(tt.pairs); got != tt.want {
			t.Errorf("%d pairs: got %q, want %q", tt.pairs, got, tt.want)
		}
	}
}

// A gate without a verdict names no count that is only shown as the reason.
func TestFiguresThatAreOnlyShownLeaveNoVerdictOpen(t *testing.T) {
	for _, isShownOnly := range []bool{false, true} {
		faults := stat.Change{Verdict: stat.Varies, Basis: "judge it without --counts"}
		faults.Before.Metric = stat.Metric{Counter: true, ByRange: true, ShownOnly: isShownOnly}
		cpu := stat.Change{Verdict: stat.TooNoisy}
		c := &stat.Comparison{Pairs: 5, Changes: []stat.Change{faults, cpu}}
		hint := new(gateFlags).hint(c, 0.05)
		if strings.Contains(hint, "without --counts") == isShownOnly {
			t.Errorf("shown only: %t: %s", isShownOnly, hint)
		}
	}
}
