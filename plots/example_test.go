package plots_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pipebench/pipebench/plots"
	"github.com/pipebench/pipebench/results"
)

func ExampleWrite() {
	cell := results.Cell{
		Framing: "ndjson", Size: 4096, Pipe: "anonymous", IO: "blocking",
		Placement: "same", Pattern: "stream", Payload: "json",
	}
	sample := results.Sample{
		ElapsedNS: 1e6, Messages: 100, PayloadBytes: 409_600, WireBytes: 409_700,
	}
	larger := cell
	larger.Size = 65536
	set := &results.Set{Records: []results.Record{
		{Cell: cell, Samples: []results.Sample{sample}},
		{Cell: larger, Samples: []results.Sample{sample}},
	}}

	dir, err := os.MkdirTemp("", "plots")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	files, err := plots.Write(dir, plots.Charts(set))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range files {
		fmt.Println(filepath.Base(f))
	}
	// Output:
	// goodput.svg
	// goodput.png
	// overhead.svg
	// overhead.png
}

func ExampleReport() {
	set := &results.Set{Findings: []results.Finding{{
		ID: "claim/000-pipe-buf", Title: "PIPE_BUF is 512", Verdict: results.Refuted,
		Found: "4096 B: Linux keeps writes up to a page whole",
	}}}
	var page strings.Builder
	o := plots.ReportOptions{Title: "Claims", Command: "pipebench report results.jsonl"}
	if err := plots.Report(&page, set, o); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(page.Len() < plots.ReportLimit, strings.Contains(page.String(), " src="))
	// Output: true false
}

// A chart of one's own is drawn as those of the results are.
func ExampleChart() {
	chart := plots.Chart{
		Name:  "memory",
		Title: "Memory of a reader against what it was sent",
		X:     plots.Axis{Label: "sent", Places: []string{"1 MiB", "1 GiB"}},
		Y:     plots.Axis{Label: "resident memory", Unit: "MiB", FromZero: true},
		Panels: []plots.Panel{{Series: []plots.Series{
			{Name: "ndjson", Points: []plots.Point{
				{X: 0, Y: 8, Low: 8, High: 9},
				{X: 1, Y: 24, Low: 23, High: 25},
			}},
		}}},
	}
	svg, err := chart.SVG()
	fmt.Println(len(svg) > 0, err)
	// Output: true <nil>
}
