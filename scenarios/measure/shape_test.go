package measure

import (
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
)

func TestAShapeIsOneCellAPlacement(t *testing.T) {
	for _, shape := range Shapes() {
		s := DefaultSweep(twoCores)
		shape.Fit(&s)
		cells, err := s.Cells()
		if err != nil || len(cells) != 2 {
			t.Fatalf("%s: %d cells, %v", shape.Name, len(cells), err)
		}
		for _, c := range cells {
			if c.Framing != "raw" || c.Size != shape.size || c.Pattern != shape.pattern || c.Peer != "process" {
				t.Errorf("%s: %+v", shape.Name, c)
			}
		}
	}
}

func TestAShapesFigureIsInTheOthersUnit(t *testing.T) {
	// A million messages of 64 KiB in 8 s are 8,192 MB/s and 8 µs a message.
	r := results.Record{Cell: results.Cell{Placement: "same"}}
	for range 6 {
		r.Samples = append(r.Samples, results.Sample{ElapsedNS: 8e9, Messages: 1e6, PayloadBytes: 65536 * 1e6})
	}
	for name, want := range map[string]string{
		"lmbench-bw":      "lmbench-bw on same: 8192.00 MB/sec [8192, 8192]",
		"lmbench-lat":     "lmbench-lat on same: 8.0000 microseconds [8, 8]",
		"perf-sched-pipe": "perf-sched-pipe on same: 8.000000 usecs/op [8, 8]",
	} {
		shape, err := ParseShape(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := shape.Figure(r); !ok || got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if _, ok := shape.Figure(results.Record{}); ok {
			t.Errorf("%s: a figure of no samples", name)
		}
	}
	if _, err := ParseShape("dd"); err == nil || !strings.Contains(err.Error(), "lmbench-bw") {
		t.Errorf("an unknown shape: %v", err)
	}
}
