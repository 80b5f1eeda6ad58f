package main

import (
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results/stat"
)

func TestAdviceOnPairsHasNumbers(t *testing.T) {
	four := pace{pairs: 4, sinceBegin: 100 * time.Second, inPairs: 96 * time.Second}
	four.noise = "this noise"
	six := pace{pairs: 6, sinceBegin: 100 * time.Second, inPairs: 96 * time.Second}
	six.noise = "load 9.0 on 2 CPUs"
	bench := six
	bench.better = " or a narrower -test.bench"
	const least = "at this noise a verdict takes about 5 pairs of 24.0 s or more: "
	for _, tt := range []struct {
		pace  pace
		pairs int
		want  string
	}{
		{four, 5, least + "give it --max-time 2m29s"},
		{four, 3, least + "give it --max-time 2m29s"},
		{six, 3, "at load 9.0 on 2 CPUs a verdict takes about 7 pairs of 16.0 s or more: " +
			"give it --max-time 2m20s"},
		{bench, 20, "at load 9.0 on 2 CPUs a verdict takes about 20 pairs of 16.0 s or more: " +
			"give it --max-time 6m29s or a narrower -test.bench"},
		{four, 400, "at this noise a verdict takes more than an hour: use a quieter machine"},
		{bench, 400, "at load 9.0 on 2 CPUs a verdict takes more than an hour: " +
			"use a quieter machine or a narrower -test.bench"},
		{pace{pairs: 4, wanted: 4, inPairs: 96 * time.Second, noise: "load 9.0"}, 40,
			"at load 9.0 a verdict takes about 40 pairs of 24.0 s or more: give it --pairs 40"},
	} {
		if got := tt.pace.advice("a verdict", tt.pairs); got != tt.want {
			t.Errorf("%d pairs: got %q, want %q", tt.pairs, got, tt.want)
		}
	}
}

// A time that certainly got worse may have got worse by less than the gate allows.
func TestAFailedGateSaysHowSureItIs(t *testing.T) {
	for _, tt := range []struct {
		least float64
		want  string
	}{
		{1.06, "worse by more than 5.0 %: ns/op"},
		{1.01, "worse by more than 5.0 %: ns/op; at best estimate, and by 1.0 % at least: " +
			"equal code in another file may differ by some percent"},
	} {
		change := stat.Change{Metric: "ns/op", Verdict: stat.Slower, Ratio: new(1.07)}
		change.Before.Metric.Better = stat.Lower
		change.Interval = &stat.Interval{Lo: tt.least, Hi: 1.13}
		c := &stat.Comparison{Changes: []stat.Change{change}}
		if got := worseText(c, 0.05); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// The option that measures memory is named only where memory was not measured.
func TestAMistypedMetricOfMemoryIsNoMissingMemory(t *testing.T) {
	g := &gateFlags{metrics: []string{"alocs/op"}}
	for _, measured := range []bool{false, true} {
		names := []string{"ns/op"}
		if measured {
			names = []string{"B/op", "allocs/op", "ns/op"}
		}
		err := g.checkMetrics(&stat.Comparison{Names: names})
		if err == nil || strings.Contains(err.Error(), "-test.benchmem") == measured {
			t.Errorf("memory is measured: %t: %v", measured, err)
		}
	}
}

// A figure that no run can settle hides no advice on those that more runs settle.
func TestAdviceOnTimesStandsBesideOpenFigures(t *testing.T) {
	bytes := stat.Change{Metric: "B/op", Verdict: stat.NoVerdict, Basis: "many figures are 0"}
	cpu := stat.Change{Metric: "ns/op", Verdict: stat.TooNoisy}
	c := &stat.Comparison{Pairs: 5, Changes: []stat.Change{bytes, cpu}}
	g := &gateFlags{pace: pace{pairs: 5, inPairs: time.Second, noise: "this noise"}}
	hint := g.hint(c, 0.05)
	for _, want := range []string{
		"many figures are 0; for the rest, at this noise ", "--max-time",
	} {
		if !strings.Contains(hint, want) {
			t.Errorf("no %q in %s", want, hint)
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
