package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/bench/placement"
)

// Workers that wait for their next job lie in a read. Only Go's watchdog runs then, some hundred
// times a second, and what it wakes. Two workers that polled every millisecond would be put on a
// CPU some two thousand times a second.
func TestIdleWorkersDoNotRun(t *testing.T) {
	p := small(cell())
	any := placement.CPUs{Writer: placement.Any, Reader: placement.Any}
	start := func() *fork {
		f, err := startFork(
			t.Context(), p.jobOf(cell()), any, func() time.Duration { return grace },
		)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(f.close)
		return f
	}
	idle, busy := start(), start()
	work := func(f *fork, slices int) {
		for range slices {
			j := p.jobOf(cell())
			j.Messages = 1000
			j.Warmup = 125
			if _, err := f.run(j); err != nil {
				t.Fatal(err)
			}
		}
	}
	work(idle, 2)
	work(busy, 20) // until the others' runtime has come to rest
	was, began := switchesOf(t, idle), time.Now()
	work(busy, 100)
	took := time.Since(began)
	if now := switchesOf(t, idle) - was; float64(now) > 1000*took.Seconds() {
		t.Errorf("%d switches of idle workers in %v", now, took)
	}
}

// switchesOf counts the context switches of a fork's workers, all threads.
func switchesOf(t *testing.T, f *fork) (n int) {
	t.Helper()
	for _, w := range f.workers {
		lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", w.Cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range lists {
			text, err := os.ReadFile(list)
			if err != nil {
				continue // a thread that ended
			}
			for line := range strings.Lines(string(text)) {
				var count int
				if _, found, ok := strings.Cut(line, "voluntary_ctxt_switches:"); ok {
					fmt.Sscan(found, &count)
					n += count
				}
			}
		}
	}
	return n
}
