package view

import (
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
)

// What touches all records is said once, what touches one with its name.
func TestTuneWarningsAreCounted(t *testing.T) {
	var records []results.Tune
	for i := range 4 {
		s := results.Sample{ElapsedNS: 1, Capacity: 64 << 10, Load: &results.Load{Due: 6000, Late: int64(1000 * i)}}
		records = append(records, results.Tune{Cell: results.Cell{Framing: "chunked:4096"}, Samples: []results.Sample{s}})
	}
	records[0].Warnings = []string{"unsupported: no such pipe"}
	for i := range records[1:] {
		warning, late := LateWarning(records[i+1].Samples)
		if !late {
			t.Errorf("%d of 6000 late: no warning", 1000*(i+1))
		}
		records[i+1].Warnings = []string{warning}
	}
	got := tuneWarnings(records)
	want := []string{
		"warning: chunked:4096, pipe of 64 KiB, reader at full speed: unsupported: no such pipe",
		"warning: in 3 of 4 cells the generator offered over 5.0 % of the small messages late, up to 50 %: the machine did other work, and p99 may be that",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if _, late := LateWarning(records[0].Samples); late {
		t.Error("none was late")
	}
}
