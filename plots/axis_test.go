package plots

import (
	"slices"
	"testing"

	"gonum.org/v1/plot/vg"
)

// checkScale demands an axis that is not empty, with at least one label and room for all of them.
func checkScale(t *testing.T, f fitted) {
	t.Helper()
	labels := 0
	for _, tick := range f.ticks {
		if tick.Value >= f.min && tick.Value <= f.max {
			labels++
		}
	}
	if !(f.min < f.max) || labels == 0 {
		t.Errorf("axis from %v to %v with %d labels: %v", f.min, f.max, labels, f.ticks)
	}
	if f.Scale == Nines || f.Scale == Category {
		return // their labels are fixed
	}
	for i := 1; i < len(f.ticks); i++ {
		if f.cover(f.ticks[i-1], f.ticks[i]) {
			t.Errorf("labels cover each other: %v", f.ticks)
		}
	}
}

// Sizes that are no powers of two stand on the axis as they are.
func TestSizesStandAsTheyAre(t *testing.T) {
	for _, tt := range []struct {
		sizes []float64
		width vg.Length
		want  []string
		label string
	}{
		{[]float64{256, 4000, 65000, 1e6}, 130,
			[]string{"256", "4000", "65,000", "1,000,000"}, "size, B"},
		{[]float64{256, 4096, 65536, 1 << 20}, 130,
			[]string{"256 B", "4 KiB", "64 KiB", "1 MiB"}, "size"},
		{[]float64{65000}, 130, []string{"65,000"}, "size, B"},
		// where there is no room for all, the rounder ones stay
		{[]float64{1, 511, 512, 4095, 4096, 4097, 65536}, 200,
			[]string{"1", "512", "4096", "65,536"}, "size, B"},
	} {
		axis := Axis{Label: "size", Scale: Log, Unit: Bytes, AtValues: true}
		f := axis.fit(tt.sizes, tt.width, true)
		var got []string
		for _, tick := range f.ticks {
			got = append(got, tick.Label)
		}
		if !slices.Equal(got, tt.want) || f.Label != tt.label {
			t.Errorf("%v on %v points: %q on %q, want %q",
				tt.sizes, tt.width, got, f.Label, tt.want)
		}
	}
}

// Round values are labelled elsewhere, with powers of two for bytes.
func TestAxesHaveRoundValues(t *testing.T) {
	for _, tt := range []struct {
		axis   Axis
		values []float64
		want   []string
	}{
		{Axis{Scale: Log, Unit: Bytes}, []float64{1 << 15, 1 << 16}, []string{"32 KiB", "64 KiB"}},
		{Axis{Scale: Log, Unit: Rate}, []float64{3e8, 11e9},
			[]string{"500 MB/s", "1 GB/s", "2 GB/s", "5 GB/s", "10 GB/s"}},
		{Axis{Scale: Log, Unit: Percent}, []float64{0, 0.01, 10},
			[]string{"0 %", "0.01 %", "0.1 %", "1 %", "10 %"}},
		{Axis{Scale: Log, Unit: Nanos}, []float64{100, 108},
			[]string{"100 ns", "102 ns", "104 ns", "106 ns", "108 ns"}},
		{Axis{Unit: Times, FromZero: true}, []float64{0.8, 1},
			[]string{"0×", "0.2×", "0.4×", "0.6×", "0.8×", "1×"}},
	} {
		var got []string
		for _, tick := range tt.axis.fit(tt.values, 150, false).ticks {
			got = append(got, tick.Label)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%v: labels %q, want %q", tt.values, got, tt.want)
		}
	}
}
