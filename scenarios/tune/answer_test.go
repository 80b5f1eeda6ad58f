package tune

import (
	"encoding/csv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// explained is the answer, in sentences, for a model's records and those of its variants.
func explained(m model, samples int, o Objective, change func([]results.Tune) []results.Tune) []string {
	opts := Default()
	records := m.records(opts, samples, 1)
	for _, c := range opts.variants(16 << 10) {
		records = append(records, m.record(c, 3, rand.New(rand.NewPCG(4, 4))))
	}
	if change != nil {
		records = change(records)
	}
	_, sentences := explain(records, o, "a lab (2 CPUs)", true)
	return sentences
}

// The first screen has what does more than any chunk size, and says that there is more.
func TestWhatElseWasTriedIsADetail(t *testing.T) {
	opts := Default()
	records := quiet.records(opts, 12, 1)
	for _, c := range opts.variants(16 << 10) {
		records = append(records, quiet.record(c, 3, rand.New(rand.NewPCG(4, 4))))
	}
	_, sentences := explain(records, Balanced, "a lab", false)
	text := strings.Join(sentences, "\n")
	if strings.Contains(text, alsoTried) || !strings.Contains(text, "does more than any chunk size: a pipe of 16 KiB") ||
		!strings.Contains(text, "what else was tried does no more than chunk sizes do (--detail)") {
		t.Error(text)
	}
}

func TestTheAnswerIsInSentences(t *testing.T) {
	noisy := quiet
	noisy.noise = 0.9
	for _, row := range []struct {
		name   string
		answer []string
		says   []string
		not    []string
	}{
		{
			"a size to use, what it gains, what others cost, and what does more",
			explained(quiet, 12, Balanced, nil),
			[]string{
				"use 16 KiB on a lab (2 CPUs): 1.88 GB/s of goodput", "% below the best (plateau within 5 %: 32 KiB to 1 MiB)", "objective balanced", "behind a reader of 200 MB/s small messages wait 37", "are predicted",
				"behind unchunked messages (ndjson)", "unchunked messages (ndjson) through the same sender have 1.0", "frames of 60 KiB, the usual choice, have 1.0",
				"the smallest of those within 5 % of the best: 16 KiB to 128 KiB, ±", "another run may name 4 KiB to 8 KiB, 32 KiB to 512 KiB",
				"with messages of 64 KiB the goodput of 16 KiB is 0.9", " of that of 60 KiB and ", "with messages of 16 MiB the", "not the chunk size but this does most: a pipe of 4 KiB", "this too does more than any chunk size: a pipe of 16 KiB", "also tried: a sender that keeps unread bytes below 16 KiB",
			},
			[]string{"noise hides", "does not matter", "NaN", "Inf"},
		},
		{
			"goodput alone: what is not cut is as good",
			explained(quiet, 12, Throughput, nil),
			[]string{"do not chunk on a lab (2 CPUs): frames of", "× the goodput of unchunked messages (ndjson), which buys nothing", "objective throughput"},
			[]string{"use ", "NaN", "Inf"},
		},
		{
			"frames cost more than they gain, and gain something",
			explained(quiet, 12, Balanced, func(all []results.Tune) []results.Tune {
				for _, r := range all {
					for i := range r.Samples {
						if chunkOf(r.Cell) > 0 {
							r.Samples[i].ElapsedNS *= 3
						}
					}
				}
				return all
			}),
			[]string{"do not chunk on a lab (2 CPUs), unless small messages must be quick (--objective latency): frames of", "which buys waits that are ", "× shorter behind a reader of 200 MB/s"},
			[]string{"buys nothing"},
		},
		{
			"one reader, as fast as it can be",
			explained(loaded, 12, Balanced, func(all []results.Tune) []results.Tune {
				return slices.DeleteFunc(all, func(r results.Tune) bool { return r.Cell.Drain > 0 })
			}),
			[]string{"do not chunk where no small message may have to wait"},
			nil,
		},
		{
			"too few samples for an interval",
			explained(quiet, 5, Balanced, nil),
			[]string{"nothing is recommended on a lab (2 CPUs): 16 KiB did best so far, by 5 samples where 6 tell an interval"},
			[]string{"use ", "do not chunk"},
		},
		{
			"a machine that did other work",
			explained(quiet, 12, Balanced, func(all []results.Tune) []results.Tune {
				for i := range all {
					for j := range all[i].Samples {
						all[i].Samples[j].Load.Late = 100
					}
				}
				return all
			}),
			[]string{"nothing is recommended on a lab (2 CPUs): the machine did other work in 100 % of the measurements"},
			[]string{"use ", "do not chunk"},
		},
		{
			"sizes that make no difference",
			explained(model{frameNS: 0.001, byteNS: 0.5, capacity: 64 << 20, noise: 0.001}, 8, Balanced, nil),
			[]string{"the chunk size does not matter on a lab (2 CPUs): from 512 B to 1 MiB", "do not chunk, it buys nothing"},
			[]string{"use ", "the usual choice"},
		},
		{
			"ends that share a CPU: cost is CPU time",
			explained(loaded, 12, Balanced, nil),
			[]string{"use 16 KiB on a lab (2 CPUs): 559 µs of CPU time a MiB, which is 1.88 GB/s", "% over the least", "unchunked messages (ndjson) through the same sender take 0.9", "the usual choice, take 0.9", " of the CPU time"},
			[]string{"of goodput,", "NaN", "Inf"},
		},
		{
			"noise",
			explained(noisy, 6, Balanced, nil),
			[]string{"noise hides the answer on a lab (2 CPUs)", "--max-time"},
			[]string{"use ", "--placement same"}, // which is in use already
		},
		{
			"nothing measured in full",
			explained(quiet, 6, Balanced, func(all []results.Tune) []results.Tune { return all[:0] }),
			[]string{"give it more time"},
			[]string{"use "},
		},
		{
			"no baseline: what was not measured is not spoken of",
			explained(quiet, 12, Throughput, func(all []results.Tune) []results.Tune {
				return slices.DeleteFunc(all, func(r results.Tune) bool { return r.Cell.Framing == "ndjson" })
			}),
			[]string{"objective throughput"},
			[]string{"ndjson"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			text := strings.Join(row.answer, "\n")
			for _, want := range row.says {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
			for _, unwanted := range row.not {
				if strings.Contains(text, unwanted) {
					t.Errorf("%q in\n%s", unwanted, text)
				}
			}
		})
	}
}

func TestEveryFormatShowsTheRecords(t *testing.T) {
	var set results.Set
	set.Add(results.Environment{Run: "test", Hostname: "lab", CPU: "Testium", CPUs: 2, OS: "linux", Kernel: "6"})
	for _, r := range quiet.records(Default(), 8, 1) {
		r.Recommended = chunkOf(r.Cell) == 16<<10
		set.Add(r)
	}
	for format, want := range map[view.Format]string{
		view.FormatTable:    "<- use",
		view.FormatMarkdown: "- use 16 KiB on lab (Testium, 2 CPUs, linux 6)",
		view.FormatCSV:      "chunked:8192",
		view.FormatJSON:     `"best": 16384`,
		view.FormatBench:    "framing=chunked:8192",
	} {
		var out strings.Builder
		if err := View(&out, format, &set, Balanced, view.Options{}); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v, no %q in\n%s", format, err, want, out.String())
		}
	}
	if err := View(&strings.Builder{}, view.FormatTable, &results.Set{}, Balanced, view.Options{}); err != view.ErrNothing {
		t.Errorf("of nothing: %v", err)
	}
}

// The Pareto front: what is marked is beaten by nothing in both figures.
func TestTheTableMarksWhatNothingBeats(t *testing.T) {
	records := quiet.records(Default(), 8, 1)
	var set results.Set
	for _, r := range records {
		set.Add(r)
	}
	var out strings.Builder
	if err := View(&out, view.FormatCSV, &set, Balanced, view.Options{}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	if err != nil || len(rows) != len(records)+1 {
		t.Fatalf("%d rows of %d records: %v", len(rows), len(records), err)
	}
	wait := func(r results.Tune) float64 {
		return stat.EstimateOf(view.TuneWaitMetric(r.Samples), r.Samples).Median
	}
	for i, r := range records {
		beaten := slices.ContainsFunc(records, func(o results.Tune) bool {
			return o.Cell.Drain == r.Cell.Drain && stat.EstimateOf("goodput", o.Samples).Median > stat.EstimateOf("goodput", r.Samples).Median && wait(o) < wait(r)
		})
		if marked := rows[i+1][len(rows[0])-1] == "*"; marked && beaten {
			t.Errorf("%s is marked, and another is better in both", r.Cell.Framing)
		}
	}
	if !strings.Contains(out.String(), "*") {
		t.Error("nothing is marked")
	}
}
