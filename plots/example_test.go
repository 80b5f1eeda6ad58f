package plots_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pipebench/pipebench/plots"
	"github.com/pipebench/pipebench/results"
)

func ExampleWrite() {
	cell := results.Cell{Framing: "ndjson", Size: 4096, Pipe: "anonymous", IO: "blocking", Placement: "same", Peer: "process", Pattern: "stream", Payload: "json"}
	sample := results.Sample{ElapsedNS: 1e6, Messages: 100, PayloadBytes: 409_600, WireBytes: 409_700}
	set := &results.Set{Records: []results.Record{{Cell: cell, Samples: []results.Sample{sample}}}}

	dir, err := os.MkdirTemp("", "plots")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	files, omitted, err := plots.Write(dir, set)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range files {
		fmt.Println(filepath.Base(f))
	}
	for _, o := range omitted {
		fmt.Println("not drawn:", o)
	}
	// Output:
	// goodput.svg
	// goodput.png
	// overhead.svg
	// overhead.png
	// not drawn: ratio: no raw stream beside another of the same size
	// not drawn: latency: no latencies: twenty observations make the shortest curve
}
