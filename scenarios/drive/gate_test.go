package drive_test

import (
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/drive"
)

// A search that did not come as far as the size that failed does not clear that size.
func TestOnlyASearchBeyondAFailureSaysThatItIsNotOverASize(t *testing.T) {
	for searched, fails := range map[int64]bool{4 << 20: false, 16 << 20: true} {
		set := &results.Set{Targets: []results.Target{
			{Size: 8 << 20, Verdict: "ok"},
			{Size: 16 << 20, Verdict: "exit 0"},
			{Verdict: "ok", SearchedTo: &searched},
		}}
		if err := drive.Failed(set); (err != nil) != fails {
			t.Errorf("searched to %d: %v", searched, err)
		}
	}
}
