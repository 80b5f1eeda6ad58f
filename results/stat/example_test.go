package stat_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/pipebench/pipebench/results/stat"
)

// A median has an interval from six values on.
func ExampleMedian() {
	few := stat.Median([]float64{3, 1, 2})
	many := stat.Median([]float64{9, 11, 10, 12, 8, 10, 10, 9, 11, 10})
	fmt.Println(few.Median, few.N, few.Interval != nil)
	fmt.Println(many.Median, many.N, many.Interval != nil)
	// Output:
	// 2 3 false
	// 10 10 true
}

// The time of a message that grows with the square of its size has the slope 2.
func ExampleFitGrowth() {
	sizes := []float64{1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14}
	var times []float64
	for _, size := range sizes {
		times = append(times, size*size)
	}
	g, err := stat.FitGrowth(sizes, times)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f\n", g.Slope)
	// Output:
	// 2.0
}

// Go benchmark text of any module is compared as results files are. Its times give a verdict only
// if Across is set, because the machine may have become slower between the two.
func ExampleCompare() {
	text := func(ns int) string {
		line := fmt.Sprintf("BenchmarkParse 1000 %d ns/op 64 B/op\n", ns)
		return strings.Repeat(line, 10)
	}
	old, err := stat.ReadDatasetFrom("old", strings.NewReader(text(1000)))
	if err != nil {
		log.Fatal(err)
	}
	new, err := stat.ReadDatasetFrom("new", strings.NewReader(text(1500)))
	if err != nil {
		log.Fatal(err)
	}
	c := stat.Compare(old, new, stat.CompareOptions{Across: true})
	for _, change := range c.Changes {
		fmt.Println(change.Metric, change.Verdict)
	}
	// Output:
	// B/op no change
	// ns/op slower
}
