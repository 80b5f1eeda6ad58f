package bench

import (
	"slices"
	"testing"

	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/results"
)

// Cells that are finished together are told the same of the machine, however much is done
// meanwhile. Whether others disturbed them their slices tell, where the system lets them.
func TestCellsAreToldWhatWasSeen(t *testing.T) {
	s := newInterference()
	s.before, s.lasting = machine.Usage{}, []string{"clock: slow; find another"}
	s.update()
	if got, disturbed := s.warnings(nil); !slices.Equal(got, s.lasting) || disturbed {
		t.Errorf("nothing known of others: %q", got)
	}
	s.current, s.disturbed = []string{"as it was"}, true
	silent := make([]results.Sample, 4)
	if got, disturbed := s.warnings(silent); !slices.Equal(got, s.current) || !disturbed {
		t.Errorf("before the next update: %q, disturbed %v", got, disturbed)
	}
	told := slices.Clone(silent)
	for i := range told {
		told[i].Writer.RunQueueNS = new(int64(0))
		if _, disturbed := s.warnings(told); disturbed != (i >= 3) {
			t.Errorf("%d of 4 samples were disturbed: %v", i, disturbed)
		}
		told[i].Disturbed = "run queue"
	}
	s.update()
	if got, _ := s.warnings(nil); !slices.Equal(got, s.lasting) {
		t.Errorf("after the next update: %q", got)
	}
}

// What the machine's own faults are is in the record of every cell that was measured, and in none
// of those that were not.
func TestRecordsAreWarnedOfTheMachine(t *testing.T) {
	r, err := newRunner(small(cell()), func(results.Record) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	r.interference = &interference{current: []string{"load: others; stop them"}}
	for samples, want := range map[int]int{0: 0, 1: 1} {
		c := &cellRun{record: results.Record{
			Cell: cell(), Samples: make([]results.Sample, samples),
		}}
		if err := r.finishCell(c, "interrupted"); err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, w := range c.record.Warnings {
			if w == r.interference.current[0] {
				got++
			}
		}
		if got != want {
			t.Errorf("%d samples: %q", samples, c.record.Warnings)
		}
	}
}
