package results_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// measured are two cells of six samples each, a framing taking a tenth longer than raw.
func measured() *results.Set {
	set := &results.Set{}
	set.Add(results.Environment{Run: "run-1", Machine: "m1", OS: "linux", Arch: "amd64", CPUs: 2})
	for framing, ns := range map[string]int64{"raw": 10_000, "ndjson": 11_000} {
		record := results.Record{Run: "run-1", Stopped: "samples", Cell: results.Cell{
			Framing: framing, Size: 65536, Pipe: "anonymous", IO: "blocking",
			Placement: "same", Pattern: "stream", Payload: "json",
		}}
		for i := range int64(6) {
			record.Samples = append(record.Samples, results.Sample{
				ElapsedNS: 1000 * (ns + 100*i), Messages: 1000,
				PayloadBytes: 65536 * 1000, WireBytes: 65536 * 1000,
			})
		}
		set.Add(record)
	}
	return set
}

func ExampleAppend() {
	dir, err := os.MkdirTemp("", "results")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "results.jsonl")

	w, err := results.Append(path)
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range measured().Records {
		if err := w.Write(r); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	set, err := results.Read(path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(set.Records), "records,", len(set.Problems), "problems")
	// Output: 2 records, 0 problems
}

func ExampleSummarise() {
	sum := view.Summarise(measured())
	for _, r := range sum.Rows {
		goodput := r.Estimates["goodput"]
		fmt.Println(r.Cell.Framing, results.FormatGoodput(goodput.Median), "n =", goodput.N)
	}
	fmt.Println(sum.Meaning[0])
	// Output:
	// raw 6.39 GB/s n = 6
	// ndjson 5.83 GB/s n = 6
	// Speed compared with raw bytes on one CPU (messages of 64 KiB): ndjson 91 %.
}

func ExampleReadFrom() {
	const file = `{"kind":"measurement","run":"run-1","time":"2026-11-21T08:00:00Z","cell":{"fr`
	_, err := results.ReadFrom("results.jsonl", strings.NewReader(file))
	fmt.Println(errors.Is(err, results.ErrEmpty))
	// Output: true
}

func ExampleCompare() {
	before := stat.DatasetOf("before", measured())
	after := stat.DatasetOf("after", measured())
	c := stat.Compare(before, after, stat.CompareOptions{})
	for _, change := range c.Changes {
		if !change.Exact {
			fmt.Println(change.Cell.Framing, change.Metric, change.Verdict)
		}
	}
	fmt.Println(c.Outcome(0.05))
	// Output:
	// ndjson to-raw no change
	// ok
}

func ExampleFormatSize() {
	for _, n := range []int64{64, 61440, 61441, 1 << 20} {
		fmt.Println(results.FormatSize(n))
	}
	// Output:
	// 64 B
	// 60 KiB
	// 61,441 B
	// 1 MiB
}

func ExampleFitGrowth() {
	sizes := []float64{1024, 4096, 16384}
	times := []float64{1e3, 16e3, 256e3} // sixteen times the time for four times the size
	g, err := stat.FitGrowth(sizes, times)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("slope %.1f: quadratic\n", g.Slope)
	// Output: slope 2.0: quadratic
}
