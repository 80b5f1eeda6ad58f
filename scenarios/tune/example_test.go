package tune_test

import (
	"fmt"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/tune"
)

// Records of two sizes, with a reader of 200 MB/s: larger chunks give a little more goodput, and
// make small messages wait five times as long.
func ExampleDecide() {
	record := func(framing string, goodput, wait int64) results.Tune {
		t := results.Tune{Cell: results.Cell{Framing: framing, Drain: 200e6}}
		for range 8 {
			t.Samples = append(t.Samples, results.Sample{
				ElapsedNS: 1e9, PayloadBytes: goodput,
				Latency: map[string]results.Latency{"due": {Count: 1000, P50NS: new(wait), P90NS: new(wait)}},
			})
		}
		return t
	}
	records := []results.Tune{record("chunked:8192", 198e6, 370_000), record("chunked:262144", 199e6, 1_640_000)}
	for _, o := range []tune.Objective{tune.Balanced, tune.Throughput} {
		d := tune.Decide(records, o)
		fmt.Println(o, d.Best, d.Alike, d.Flat)
	}
	// Output:
	// balanced 8192 [8192] false
	// throughput 8192 [8192 262144] true
}

func ExampleParseDrain() {
	fmt.Println(tune.ParseDrain("200MB/s"))
	fmt.Println(tune.ParseDrain("full"))
	// Output:
	// 200000000 <nil>
	// 0 <nil>
}
