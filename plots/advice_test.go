package plots

import (
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
)

// Records come shuffled; readers' rates are shown by their value.
func TestReadersAreOrderedByRate(t *testing.T) {
	tunes := testTunes()
	slices.Reverse(tunes)
	tunes = append(tunes[8:], tunes[:8]...)
	set := &results.Set{Environments: []results.Environment{testMachine("run-1", "linux")}, Tunes: tunes}
	want := []string{"reader at full speed", "reader at 200 MB/s", "reader at 20 MB/s"}
	for _, c := range tuneCharts(set) {
		got := titles(c)
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], "wait: ")
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: panels %q, want %q", c.Name, got, want)
		}
	}
}

// A choice that was tried with messages of two more sizes is one choice, drawn once; the same
// choice made for another size has pictures of its own.
func TestMessagesOfOtherSizesAreNoChoiceOfTheirOwn(t *testing.T) {
	tunes := testTunes()
	resized := func(keep func(results.Tune) bool) []results.Tune {
		var out []results.Tune
		for _, u := range tunes {
			if u.Cell.Size = 64 << 10; keep(u) {
				out = append(out, u)
			}
		}
		return out
	}
	set := &results.Set{Environments: []results.Environment{testMachine("run-1", "linux")}}
	for _, row := range []struct {
		name string
		more []results.Tune
		want []string
	}{
		{"one size", nil, []string{"wait", "pareto"}},
		{"tried with another", resized(func(u results.Tune) bool {
			return u.Cell.Drain == 0 && u.Cell.Framing != "chunked:512" && results.ChunkSize(u.Cell.Framing) < 8192
		}), []string{"wait", "pareto"}},
		{"chosen for two", resized(func(results.Tune) bool { return true }), []string{"wait-64KiB", "pareto-64KiB", "wait-1MiB", "pareto-1MiB"}},
	} {
		set.Tunes = slices.Concat(tunes, row.more)
		if got := chartNames(tuneCharts(set)); !slices.Equal(got, row.want) {
			t.Errorf("%s: charts %q, want %q", row.name, got, row.want)
		}
	}
}
