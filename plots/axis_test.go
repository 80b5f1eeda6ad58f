package plots

import (
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

// checkScale demands an axis that is not empty, with some labels, but not too many.
func checkScale(t *testing.T, f fitted) {
	t.Helper()
	labels := 0
	for _, tick := range f.ticks {
		if tick.Value >= f.min && tick.Value <= f.max {
			labels++
		}
	}
	if !(f.min < f.max) || labels == 0 || labels > mostTicks+1 {
		t.Errorf("axis from %v to %v with %d labels: %v", f.min, f.max, labels, f.ticks)
	}
}

// If names have no room, a unit that all share goes into the label of the axis. A name that still
// has no room before the next one is left out; the last one, which titles speak of, stays.
func TestNamesOfPlacesHaveRoom(t *testing.T) {
	places := []string{"256 B", "4,000 B", "65,000 B", "1,000,000 B"}
	mixed := []string{"256 B", "4 KiB", "64 KiB", "1 MiB"}
	for _, tt := range []struct {
		places []string
		length float64
		label  string
		want   []string
	}{
		{places, 300, "size", places},
		{places, 150, "size, B", []string{"256", "4,000", "65,000", "1,000,000"}},
		{places, 130, "size, B", []string{"256", "4,000", "1,000,000"}}, // a wider typeface
		{places, 60, "size, B", []string{"256", "1,000,000"}},
		{mixed, 60, "size", []string{"4 KiB", "1 MiB"}},
		{[]string{"whole", "64 KiB", "8 KiB"}, 60, "size, KiB", []string{"whole", "64", "8"}},
	} {
		f := Axis{Label: "size", Places: tt.places}.fit(nil, vg.Length(tt.length))
		var got []string
		for _, tick := range f.ticks {
			got = append(got, tick.Label)
		}
		if !slices.Equal(got, tt.want) || f.Label != tt.label {
			t.Errorf("%v points: %s %q, want %s %q", tt.length, f.Label, got, tt.label, tt.want)
		}
	}
}

// Whoever types a size as an axis shows it means that size.
func TestAxesShowSizesAsTablesDo(t *testing.T) {
	const want = "recorded|256 B|4 KiB|65,000 B|1,000,000 B"
	axis := sizeAxis("size", []int{0, 256, 4096, 65_000, 1_000_000})
	if got := strings.Join(axis.Places, "|"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Round values are labelled.
func TestAxesHaveRoundValues(t *testing.T) {
	for _, tt := range []struct {
		axis   Axis
		values []float64
		want   []string
	}{
		{Axis{Log: true, Unit: Rate}, []float64{3e8, 11e9},
			[]string{"500 MB/s", "1 GB/s", "2 GB/s", "5 GB/s", "10 GB/s"}},
		{Axis{Log: true, Unit: Percent}, []float64{0, 0.01, 10},
			[]string{"0 %", "0.01 %", "0.03 %", "0.1 %", "0.3 %", "1 %", "3 %", "10 %"}},
		{Axis{Log: true, Unit: Nanos}, []float64{1e3, 1e18},
			[]string{"10 µs", "1 ms", "100 ms", "10 s", "1000 s", "100000 s", "10000000 s",
				"1000000000 s"}},
		{Axis{Log: true, Unit: Nanos}, []float64{210e3, 1300e3}, []string{"200 µs", "300 µs",
			"400 µs", "500 µs", "700 µs", "1 ms"}},
		{Axis{Log: true, Unit: Nanos}, []float64{100, 118},
			[]string{"100 ns", "105 ns", "110 ns", "115 ns"}},
		{Axis{Unit: Times, FromZero: true}, []float64{0.8, 1},
			[]string{"0×", "0.2×", "0.4×", "0.6×", "0.8×", "1×"}},
	} {
		var got []string
		for _, tick := range tt.axis.fit(tt.values, 0).ticks {
			got = append(got, tick.Label)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%v: labels %q, want %q", tt.values, got, tt.want)
		}
	}
}
