package bench

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
)

// A stall of 200 ms in 5 s holds up a twenty-fifth of the messages that fall due, so it has to show
// in the 99th percentile, and in that of a loop that waits for each answer it would not.
func TestAStallShowsInTheTail(t *testing.T) {
	const stall = 200 * time.Millisecond
	p := small(cell(func(c *results.Cell) { c.Rate = 2000 }))
	p.Samples, p.Duration = 1, 5*time.Second
	var stopping sync.WaitGroup
	p.Observe = func(now Progress) {
		if now.Step == Calibrated {
			stopping.Go(func() { stopWorkers(t, stall) })
		}
	}
	due := collect(t, p)[0].Samples[0].Latency["due"]
	stopping.Wait()
	if due.P99NS == nil || *due.P99NS < (stall/2).Nanoseconds() {
		t.Errorf("p99 of what was due: %+v", due)
	}
}

// stopWorkers stops every worker of the sample that is under way for a while, once it has been
// running for a fraction of it.
func stopWorkers(t *testing.T, d time.Duration) {
	// into the sample, however late a busy machine began it, or goes on here; the stall is found
	// wherever it lies
	time.Sleep(time.Second)
	for _, pid := range workers(t) {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Error(err)
		}
		defer syscall.Kill(pid, syscall.SIGCONT)
	}
	time.Sleep(d)
}

func workers(t *testing.T) []int {
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Error(err)
	}
	var pids []int
	for _, list := range lists {
		b, err := os.ReadFile(list)
		if err != nil {
			continue // a thread that ended
		}
		for _, f := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(f); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
