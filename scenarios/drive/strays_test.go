package drive_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/drive"
)

// checkStrays fails the test unless the records have lines without a message, and a warning of
// them.
func checkStrays(t *testing.T, records []results.Target, want bool) {
	t.Helper()
	noted, warned := false, 0
	for _, r := range records {
		noted = noted || r.Evidence.Server.StrayLines > 0
		warnings := strings.Join(r.Warnings, " ")
		warned += strings.Count(warnings, "lines on standard output without a message")
	}
	if noted != want || (warned == 1) != want || warned > 1 {
		t.Errorf("stray lines noted: %v, warnings: %d", noted, warned)
	}
}

// Lines without a message are noted in all that drive does, though the process that wrote them
// failed later. The pieces of a broken answer are no such lines.
func TestStrayLinesAreNoted(t *testing.T) {
	for job, want := range map[string]bool{"logs": true, "pieces": false} {
		t.Run(job, func(t *testing.T) {
			t.Parallel()
			o := server(job)
			o.Patience = 300 * time.Millisecond
			limits, err := begin(t, o).FindLimits(t.Context(), 64<<10, discard)
			if err != nil {
				t.Fatal(err)
			}
			checkStrays(t, limits, want)
			_, sweep := sweepOf(t, o, 1<<10, 16<<10, 64<<10)
			checkStrays(t, sweep.Targets, want)
			if !want {
				return // a load would wait long for the broken answers
			}
			load := drive.Load{Size: 16 << 10, Duration: 60 * time.Millisecond}
			checkStrays(t, []results.Target{loaded(t, job, load)}, want)
		})
	}
}
