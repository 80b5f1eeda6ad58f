package measure

import (
	"os"
	"testing"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
)

func TestMain(m *testing.M) {
	bench.Worker()
	os.Exit(m.Run())
}

func TestTheEngineTakesEachPreset(t *testing.T) {
	topology, err := placement.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range Presets() {
		cells := p.Cells(topology)
		plan := bench.Plan{Run: "r", Cells: cells, Samples: 1, Duration: bench.SliceTime}
		if err := plan.Validate(); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		for _, c := range cells {
			if err := bench.Unsupported(c); err != nil && c.Transfer == "" && c.IO == "blocking" {
				t.Errorf("%s: %s: %v", p.Name, c.Key(), err)
			}
		}
	}
}

func TestAPresetIsFoundByItsName(t *testing.T) {
	for _, p := range Presets() {
		found, err := FindPreset(p.Name)
		if err != nil || found.Name != p.Name {
			t.Errorf("%s: found %q, %v", p.Name, found.Name, err)
		}
	}
	if _, err := FindPreset("nope"); err == nil {
		t.Error("found a preset that does not exist")
	}
}

// A writer that waits has a fast reader, a slow one, and one that leaves, with messages that fit
// into the pipe and messages that do not.
func TestWaitingWritersMeetThreeReaders(t *testing.T) {
	readers := map[results.Cell]int{}
	for _, c := range Waiting.Cells(twoCores) {
		if !c.IsWaiting() {
			t.Errorf("%s does not wait", c.Key())
		}
		readers[results.Cell{Drain: c.Drain, ClosesAfter: c.ClosesAfter}]++
	}
	if len(readers) != 3 {
		t.Errorf("readers: %v", readers)
	}
	for reader, n := range readers {
		if n != 6 {
			t.Errorf("reader %+v has %d cells, want 3 ways of waiting × 2 sizes", reader, n)
		}
	}
}
