package results_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A machine that ran on another day, too, has no wrong clock.
func TestASecondRunIsOfNoAnotherTime(t *testing.T) {
	noon := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	text := aRun(t, "host0", noon.Add(24*time.Hour), 256)
	text = strings.ReplaceAll(text, "run-of-host0", "again")
	for i := range 4 {
		text += aRun(t, fmt.Sprint("host", i), noon, 256)
	}
	if set := readText(t, text); len(set.Problems) > 0 {
		t.Errorf("got %v", set.Problems)
	}
}

// A run whose clock says another hour than most others of its command is one line, and counts.
func TestARunOfAnotherTimeIsNamed(t *testing.T) {
	noon := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name   string
		offset []time.Duration // of a run on a host of its own
		want   string
	}{
		{"together", []time.Duration{0, time.Minute, 2 * time.Minute, 59 * time.Minute}, ""},
		{"one is late", []time.Duration{0, 1, 2, -5 * time.Hour},
			"by its clock, run run-of-h of host3 began at 2026-11-25 07:00, " +
				"and 3 others of its command around 2026-11-25 12:00"},
		{"two are early", []time.Duration{0, 1, 2, 3, 4, 5, 2 * time.Hour, 24 * time.Hour},
			"by its clock, run run-of-h of host6 began at 2026-11-25 14:00, and 6 others of its " +
				"command around 2026-11-25 12:00 (and 1 more such runs)"},
		{"one clock was never set", []time.Duration{0, 1, 2, time.Unix(0, 0).Sub(noon)},
			"by its clock, run run-of-h of host3 began at 1970-01-01 00:00, " +
				"and 3 others of its command around 2026-11-25 12:00"},
		{"every night", []time.Duration{0, 24 * time.Hour, 48 * time.Hour, 72 * time.Hour}, ""},
		{"two hosts cannot tell", []time.Duration{0, -5 * time.Hour}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var text strings.Builder
			for i, offset := range tt.offset {
				text.WriteString(aRun(t, fmt.Sprint("host", i), noon.Add(offset), 256))
			}
			set := readText(t, text.String())
			var got []string
			for _, p := range set.Problems {
				got = append(got, p.String())
			}
			if strings.Join(got, "\n") != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if len(set.Records) != len(tt.offset) || set.Incomplete() {
				t.Errorf("%d records, incomplete %v", len(set.Records), set.Incomplete())
			}
		})
	}
}
