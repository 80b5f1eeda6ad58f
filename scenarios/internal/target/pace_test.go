package target

import (
	"testing"
	"time"
)

func TestDeadlinesFollowWhatOtherSizesTook(t *testing.T) {
	for _, row := range []struct {
		name  string
		known Pace
		size  int
		want  time.Duration
	}{
		{"nothing known", Pace{}, 1000, 800 * time.Microsecond},
		{"smaller than what is known", Pace{1 << 20, time.Second}, 10, time.Second},
		{"a large one known: as size grows", Pace{1 << 20, time.Second}, 4 << 20, 4 * time.Second},
		{"a small one known: its fixed cost stays", Pace{100, time.Second}, 1100,
			time.Second + 800*time.Microsecond},
	} {
		if got := row.known.Predict(row.size); got != row.want {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
}
