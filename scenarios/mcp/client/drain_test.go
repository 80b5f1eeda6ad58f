package client

import (
	"testing"
	"testing/synctest"
	"time"
)

// A server that has ended is read to its end, however late this process gets to it; one whose end
// of the pipe another process holds is not waited for.
func TestTheOutputOfAServerThatEndedIsReadToItsEnd(t *testing.T) {
	for _, row := range []struct {
		name   string
		after  time.Duration // until the end is met; 0: never
		unread int
		known  bool
		want   bool
		took   time.Duration
	}{
		{"read late", 3 * time.Second, 7, true, true, 3 * time.Second},
		{"held by another", 0, 0, true, false, drainInterval},
		{"held and full", 0, 7, true, false, maxDrainChecks * drainInterval},
		{"no way to tell", 3 * time.Second, 7, false, false, drainInterval},
	} {
		synctest.Test(t, func(t *testing.T) {
			over := make(chan struct{})
			if row.after > 0 {
				time.AfterFunc(row.after, func() { close(over) })
			}
			began := time.Now()
			got := awaitEnd(over, func() (int, bool) { return row.unread, row.known })
			if took := time.Since(began); got != row.want || took != row.took {
				t.Errorf("%s: %v after %v, want %v after %v",
					row.name, got, took, row.want, row.took)
			}
		})
	}
}
