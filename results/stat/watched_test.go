package stat

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results/resultstest"
)

// moved is a side whose records were finished at another time.
func moved(s Dataset, by time.Duration) Dataset {
	for i := range s.Series {
		s.Series[i].Since = s.Series[i].Since.Add(by)
		s.Series[i].Until = s.Series[i].Until.Add(by)
	}
	return s
}

// A machine that was watched for ten minutes may do in an hour what it was not seen to do: the
// bound holds for as long as it was watched.
func TestABoundHoldsForAsLongAsTheMachineWasWatched(t *testing.T) {
	cell := resultstest.Cell("ndjson", 4096)
	watch := noiseAround(cell, 0.005, 8)
	watch.Since, watch.Until = resultstest.Time, resultstest.Time.Add(10*time.Minute)
	again := watch
	again.Since = resultstest.Time.Add(50 * time.Minute)
	again.Until = resultstest.Time.Add(70 * time.Minute)
	for _, tt := range []struct {
		name  string
		apart time.Duration
		noise []Noise
		want  Verdict
	}{
		{"within it", 5 * time.Minute, []Noise{watch}, Slower},
		{"the new file first", -5 * time.Minute, []Noise{watch}, Slower},
		{"beyond it", 30 * time.Minute, []Noise{watch}, Indicative},
		{"beyond it, the new file first", -30 * time.Minute, []Noise{watch}, Indicative},
		{"within what it was watched for on two occasions", time.Hour, []Noise{watch, again},
			Slower},
		{"noise that does not tell when it was seen", time.Hour,
			[]Noise{noiseAround(cell, 0.005, 8)}, Slower},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := side("old", resultstest.Record(cell, 4097, resultstest.Around(1000, 0.01)...))
			after := moved(side("new", resultstest.Record(cell, 4097, resultstest.Around(2000, 0.01)...)), tt.apart)
			ch := find(t, Compare(before, after, CompareOptions{Noise: tt.noise}), "goodput")
			if ch.Verdict != tt.want {
				t.Errorf("got %q (%s), want %q", ch.Verdict, ch.Basis, tt.want)
			}
			if tt.want == Indicative && !strings.Contains(ch.Basis, "30m0s apart or more, and this machine was watched for 10m0s alone") {
				t.Errorf("basis %q", ch.Basis)
			}
		})
	}
}

func TestFreeEndsNeverGate(t *testing.T) {
	free := resultstest.Cell("ndjson", 4096)
	free.Placement = "free"
	r := resultstest.Record(free, 4097, resultstest.Around(1000, 0.01)...)
	slow := resultstest.Record(free, 4097, resultstest.Around(3000, 0.01)...)
	c := Compare(side("old", r), side("new", slow),
		CompareOptions{Noise: []Noise{noiseAround(free, 0.005, 8)}, Metrics: []string{"goodput"}})
	if v := find(t, c, "goodput").Verdict; v != Slower || len(c.Changes) != 1 {
		t.Errorf("got %q among %d changes, want slower alone", v, len(c.Changes))
	}
	if got := c.Outcome(0.05); got != OutcomeInconclusive {
		t.Errorf("nothing but free ends: outcome %q, want inconclusive", got)
	}
	if c.Conclusive() {
		t.Error("nothing but free ends was conclusive")
	}
}

func TestMetricsAreChosen(t *testing.T) {
	cell := resultstest.Cell("ndjson", 4096)
	s := side("s", resultstest.Record(cell, 4097, resultstest.Around(1000, 0.01)...))
	c := Compare(s, s, CompareOptions{Metrics: []string{"wire"}})
	if len(c.Changes) != 1 || c.Changes[0].Metric != "wire" {
		t.Errorf("got %+v, want wire alone", c.Changes)
	}
}

func TestTheBoundOfANoiseRecord(t *testing.T) {
	// Five runs, sd of the logarithms 0.01: 9.925 (Student, 2 degrees, 0.995) · 0.01 · √2 is 0.15,
	// and two parts in five are more. Four times as far apart it is the other way round.
	near := Noise{Values: []float64{0.9876, 0.9938, 1, 1.0063, 1.0126}}
	if share, ok := near.Detectable(); !ok || math.Abs(share-0.4) > 1e-9 {
		t.Errorf("got %v, %v; want 0.4", share, ok)
	}
	far := Noise{Values: []float64{0.9512, 0.9753, 1, 1.0253, 1.0513}}
	if share, ok := far.Detectable(); !ok || share < 0.65 || share > 0.85 {
		t.Errorf("got %v, %v; want about 0.75", share, ok)
	}
	if share, ok := (Noise{Values: []float64{0.8, 0.9, 1, 1.1, 1.2}}).Detectable(); ok {
		t.Errorf("figures that get no verdict have a bound of %v", share)
	}
	if _, ok := (Noise{Values: []float64{1, 1}}).Detectable(); ok {
		t.Error("two runs gave a bound")
	}
}

// A figure that was taken while others used the machine is no ground for a verdict, on whichever
// side it is.
func TestADisturbedRunGetsNoVerdict(t *testing.T) {
	cell := resultstest.Cell("ndjson", 4096)
	o := CompareOptions{Noise: []Noise{noiseAround(cell, 0.005, 8)}, Metrics: []string{"goodput"}}
	quiet := resultstest.Record(cell, 4097, resultstest.Around(1000, 0.01)...)
	slow := resultstest.Record(cell, 4097, resultstest.Around(3000, 0.01)...)
	for _, tt := range []struct {
		name     string
		old, new bool
		want     Verdict
	}{
		{"left alone", false, false, Slower},
		{"others on the new side", false, true, TooNoisy},
		{"a hypervisor on the old one", true, false, TooNoisy},
	} {
		before, after := quiet, slow
		before.Disturbed, after.Disturbed = tt.old, tt.new
		after.Warnings = []string{"2 of 6 samples lie far from the others"}
		c := Compare(side("old", before), side("new", after), o)
		if ch := find(t, c, "goodput"); ch.Verdict != tt.want || tt.want == TooNoisy && !strings.Contains(ch.Basis, "disturbed") {
			t.Errorf("%s: got %q (%s), want %q", tt.name, ch.Verdict, ch.Basis, tt.want)
		}
	}
}
