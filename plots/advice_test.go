package plots

import (
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

// tuneRun is what a run of tune leaves of its answer, as it is read
// from a file.
func tuneRun(run, framing, objective string, size int, alike ...any) []results.Tune {
	var out []results.Tune
	for _, drain := range []int64{0, 200e6} {
		c := testCell(framing, size, "same", "stream")
		c.Drain, c.Rate = drain, 1000
		out = append(out, results.Tune{Run: run, Cell: c, Recommended: true, Evidence: map[string]any{"objective": objective, "alike": alike, "possible": alike}})
	}
	return out
}

// undecidedRun is what a run of tune leaves that could not tell.
func undecidedRun(run string) []results.Tune {
	out := tuneRun(run, "chunked:4096", "", 1<<20)
	for i := range out {
		out[i].Recommended, out[i].Evidence = false, nil
	}
	return out
}

// flatRun is one of a run to which all sizes were worth the same.
func flatRun(run string, alike ...any) []results.Tune {
	out := tuneRun(run, "chunked:4096", "balanced", 1<<20, alike...)
	for i := range out {
		out[i].Evidence["flat"] = true
	}
	return out
}

// Each question is answered once, whatever its runs say.
func TestRunsOfTuneAreHeldAgainstEachOther(t *testing.T) {
	const small, large = 4096.0, 61440.0
	for _, row := range []struct {
		name  string
		tunes [][]results.Tune
		want  []string
	}{
		{"one run", [][]results.Tune{tuneRun("run-1", "chunked:4096", "balanced", 1<<20, small)},
			[]string{"For a chunk size on this machine: use 4 KiB."}},
		{"one run with a plateau", [][]results.Tune{tuneRun("run-1", "chunked:4096", "balanced", 1<<20, small, large)},
			[]string{"For a chunk size on this machine: use 4 KiB (worth the same within 5 %: 60 KiB)."}},
		{"runs that say the same", [][]results.Tune{tuneRun("run-1", "chunked:4096", "balanced", 1<<20, small), tuneRun("run-2", "chunked:4096", "balanced", 1<<20, small, large)},
			[]string{"For a chunk size on this machine: use 4 KiB, as all of 2 runs recommend."}},
		{"runs that agree within their margin", [][]results.Tune{tuneRun("run-1", "chunked:4096", "balanced", 1<<20, small, large), tuneRun("run-2", "chunked:61440", "balanced", 1<<20, large, small)},
			[]string{"For a chunk size on this machine: use 4 KiB or 60 KiB: 2 runs recommend these, which are worth the same as far as runs can tell."}},
		{"runs that do not", [][]results.Tune{tuneRun("run-1", "chunked:4096", "balanced", 1<<20, small, large), tuneRun("run-2", "chunked:61440", "balanced", 1<<20, large)},
			[]string{"For a chunk size on this machine: 2 runs recommend 4 KiB and 60 KiB, and differ by more than runs do by themselves, so that none of them is an answer: measure again on a machine that does nothing else."}},
		{"runs that were asked something else", [][]results.Tune{tuneRun("run-1", "chunked:4096", "latency", 1<<20, small), tuneRun("run-2", "chunked:61440", "throughput", 16<<20, large)},
			[]string{"For a chunk size on this machine, objective latency, 1 MiB messages: use 4 KiB.", "For a chunk size on this machine, objective throughput, 16 MiB messages: use 60 KiB."}},
		{"a run that could not tell", [][]results.Tune{undecidedRun("run-1")},
			[]string{"For a chunk size on this machine, 1 run could not tell: noise hid it, or the time was too short; stop what else runs, or give it more time (--max-time)."}},
		{"one that could, and one that could not", [][]results.Tune{tuneRun("run-1", "chunked:4096", "balanced", 1<<20, small), undecidedRun("run-2")},
			[]string{"For a chunk size on this machine: use 4 KiB.", "For a chunk size on this machine, 1 run could not tell: noise hid it, or the time was too short; stop what else runs, or give it more time (--max-time)."}},
		{"sizes that make no difference", [][]results.Tune{flatRun("run-1", small, large)},
			[]string{"For a chunk size on this machine: the size does not matter: all that were measured are worth the same within 5 %."}},
		{"sizes that make none to one run of two", [][]results.Tune{flatRun("run-1", small, large), tuneRun("run-2", "chunked:4096", "balanced", 1<<20, small)},
			[]string{"For a chunk size on this machine: use 4 KiB, as all of 2 runs recommend."}},
		{"another machine", [][]results.Tune{tuneRun("run-1", "chunked:4096", "balanced", 1<<20, small), tuneRun("run-3", "chunked:61440", "balanced", 1<<20, large)},
			[]string{"For a chunk size on linux/amd64: use 4 KiB.", "For a chunk size on darwin/arm64: use 60 KiB."}},
	} {
		t.Run(row.name, func(t *testing.T) {
			set := &results.Set{Environments: []results.Environment{testMachine("run-1", "linux"), testMachine("run-2", "linux")}, Tunes: slices.Concat(row.tunes...)}
			if slices.ContainsFunc(set.Tunes, func(u results.Tune) bool { return u.Run == "run-3" }) {
				set.Environments = append(set.Environments, testMachine("run-3", "darwin"))
			}
			got := newReporter(set, view.Summarise(set), maxTableRows).advice()
			if !slices.Equal(got, row.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(row.want, "\n"))
			}
		})
	}
}

// Records come shuffled; readers' rates are shown by their value.
func TestReadersAreOrderedByRate(t *testing.T) {
	tunes := testTunes()
	slices.Reverse(tunes)
	tunes = append(tunes[8:], tunes[:8]...)
	set := &results.Set{Environments: []results.Environment{testMachine("run-1", "linux")}, Tunes: tunes}
	want := []string{"reader at full rate", "reader at 200 MB/s", "reader at 20 MB/s"}
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

// A choice that was tried with messages of two more sizes is one choice, drawn
// once; the same choice made for another size has pictures of its own.
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
			return u.Cell.Drain == 0 && u.Cell.Framing != "chunked:512" && chunkOf(u.Cell.Framing) < 8192
		}), []string{"wait", "pareto"}},
		{"chosen for two", resized(func(results.Tune) bool { return true }), []string{"wait-64KiB", "pareto-64KiB", "wait-1MiB", "pareto-1MiB"}},
	} {
		set.Tunes = slices.Concat(tunes, row.more)
		if got := chartNames(tuneCharts(set)); !slices.Equal(got, row.want) {
			t.Errorf("%s: charts %q, want %q", row.name, got, row.want)
		}
	}
}
