package drive

import (
	"testing"
	"time"
)

func TestForecast(t *testing.T) {
	for _, row := range []struct {
		name  string
		known forecast
		size  int
		want  time.Duration
	}{
		{"nothing known", forecast{}, 1000, 800 * time.Microsecond},
		{"smaller than what is known", forecast{1 << 20, time.Second}, 10, time.Second},
		{"a large one known: as size grows", forecast{1 << 20, time.Second}, 4 << 20, 4 * time.Second},
		{"a small one known: its fixed cost stays", forecast{100, time.Second}, 1100, time.Second + 800*time.Microsecond},
	} {
		if got := row.known.predict(row.size); got != row.want {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
}
