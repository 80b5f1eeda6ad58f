package bench_test

import (
	"context"
	"fmt"
	"log"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// The cell names a framing and a size. All else is usual: an anonymous pipe of the system's
// capacity, blocking ends, a stream of JSON, and the first placement that [bench.Placed] returns.
func ExampleMeasure() {
	r, err := bench.Measure(context.Background(), results.Cell{Framing: "ndjson", Size: 4000})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Cell.Framing, r.Cell.Pipe, r.Cell.Pattern, r.Goodput() > 0)
	// Output:
	// ndjson anonymous stream true
}

// Cells of one plan take turns, so that their ratio is free of what slows the whole machine down.
func ExampleRun() {
	plan := bench.Plan{
		Cells: []results.Cell{
			{Framing: results.FramingRaw, Size: 4000},
			{Framing: "length-prefix", Size: 4000},
		},
		Samples: 6,
		Forks:   1,
	}
	var records []results.Record
	err := bench.Run(context.Background(), plan, func(r results.Record) error {
		records = append(records, r)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	metric := stat.MustMetric("goodput")
	ratio := stat.PairedRatio(metric, records[1:], records[:1])
	fmt.Println(len(records), "cells,", ratio.Median > 0)
	// Output:
	// 2 cells, true
}

// A plan is checked before anything is started.
func ExamplePlan_Validate() {
	cell := results.Cell{Framing: "ndjson", Size: 4000, Pattern: "stream", Placement: "same"}
	plan := bench.Plan{Cells: []results.Cell{cell, cell}}
	fmt.Println(results.CellName(cell), plan.Validate() != nil)
	// Output:
	// ndjson 4,000 B stream on one CPU true
}
