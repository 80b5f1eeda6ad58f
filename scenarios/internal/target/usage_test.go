package target

import (
	"testing"
	"time"
)

func TestAServerComputesIfItUsesNearlyAllItsTime(t *testing.T) {
	for used, want := range map[time.Duration]bool{
		9 * time.Second: true, 20 * time.Second: true, 7 * time.Second: false,
	} {
		before := new(int64(1e9))
		now := new(*before + int64(used))
		if got := hasComputed(before, now, 10*time.Second); got != want {
			t.Errorf("%s of 10 s: %v", used, got)
		}
		if hasComputed(nil, now, 0) {
			t.Error("the time is not known")
		}
	}
}
