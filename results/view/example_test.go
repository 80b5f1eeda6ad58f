package view_test

import (
	"fmt"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

// measured returns two cells of six samples each, a framing taking a tenth longer than raw.
func measured() *results.Set {
	set := &results.Set{}
	set.Add(results.Environment{Run: "run-1", Machine: "m1", OS: "linux", Arch: "amd64", CPUs: 2})
	for framing, ns := range map[string]int64{"raw": 10_000, "ndjson": 11_000} {
		cell := results.UsualCell(framing, "stream", "same", 65536)
		record := results.Record{Run: "run-1", Stopped: "samples", Cell: cell}
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

func ExampleSummarise() {
	sum := view.Summarise(measured())
	for _, r := range sum.Rows {
		goodput := r.Estimates["goodput"]
		fmt.Println(r.Cell.Framing, results.FormatGoodput(goodput.Median), "n =", goodput.N)
	}
	fmt.Println(view.Options{}.Wrap(sum.Meaning[0]))
	// Output:
	// raw 6.39 GB/s n = 6
	// ndjson 5.83 GB/s n = 6
	// If the reader does nothing with the bytes, speed compared with raw on one CPU
	//   (messages of 64 KiB): ndjson 91 % (±0 %).
}
