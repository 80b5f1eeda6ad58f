package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

// A memoryUse is how much memory a server used while it served requests.
type memoryUse struct {
	requests int64 // how many the server has served so far
	// The server used resident[i] bytes of memory when it had served after[i] requests.
	after    []float64
	resident []float64

	// How memory grows in the later half of the measurements, in bytes per request.
	growth stat.Growth
	// The bytes in use at the first and at the last measurement of that half.
	from, to int64
}

const (
	usualRequests = 10_000 // per round of measurements
	memoryPoints  = 20     // measurements per round
	// How many rounds are made even if memory does not grow: until its heap is full for the first
	// time, a process may use again the room of requests that are answered.
	memoryRounds = 5
	// How long a round of requests may take. At least half of the requests are made, even if they
	// take longer. No further round begins after this time if memory does not grow.
	memoryTime = 10 * time.Second

	memoryMinor = 100     // bytes per request; slower growth may come from an allocator alone
	memoryShare = 50      // growth by less than 1/memoryShare of the memory in use does not count
	firstHeap   = 4 << 20 // bytes that a heap may take before anything is collected, as in Go
	// A leak counts only if memory grows to leakGrowth times its first size, or by more than two
	// first heaps in leakRounds rounds. A heap may double before its garbage is collected, and a
	// history of limited length may triple the memory.
	leakGrowth = 4
	leakRounds = 10
)

// watchesMemory judges whether memory grows with the number of requests. Even without a leak it may
// grow at first, so only growth counts that goes on for three rounds of requests, and is at least
// half as fast as when half of the requests were made.
func watchesMemory(ctx context.Context, c *serverCase) error {
	_, known := c.server.Process.Resident()
	if !known {
		return errors.New("this system does not tell how much memory a process has")
	}
	m := &memoryUse{}
	began := time.Now()
	var rounds []memoryUse // after each round
	for round := 1; ; round++ {
		served, err := c.measureMemory(ctx, m)
		if err != nil || !served {
			return err
		}
		took := time.Since(began)
		if !m.grows() && (round >= memoryRounds || took > memoryTime) {
			later := m.after[len(m.after)-1] - m.after[len(m.after)/2] // requests
			hidden := max(memoryMinor, max(firstHeap, m.from/memoryShare)/int64(later))
			c.ok("%s; growth by less than %d B a request would not show", m, hidden)
			return nil
		}
		rounds = append(rounds, *m)
		if round < 3 {
			continue
		}
		first := rounds[0]
		isLong := round >= leakRounds && m.to-first.from > 2*firstHeap
		isLarge := m.to >= leakGrowth*first.from
		isSteady := m.growth.Interval.Lo >= rounds[round/2-1].growth.Slope/2
		if m.grows() && isSteady && (isLarge || isLong) {
			c.fails("%s", m)
			return nil
		}
		if took > 3*memoryTime {
			c.cannotTell("%s, by %.0f B at first, and by %s in all: whether it stops "+
				"cannot be told", m, first.growth.Slope, results.FormatSize(m.to-first.from))
			return nil
		}
	}
}

func (m *memoryUse) String() string {
	return fmt.Sprintf("memory changes by %.0f B a request [%.0f, %.0f], to %s after %s requests",
		m.growth.Slope, m.growth.Interval.Lo, m.growth.Interval.Hi,
		results.FormatSize(m.to), results.FormatGrouped(m.requests))
}

// grows reports whether memory certainly grew, by both memoryMinor and memoryShare.
func (m *memoryUse) grows() bool {
	return m.growth.Interval.Lo >= memoryMinor && m.to-m.from >= m.from/memoryShare
}

// measureMemory makes a round of requests, and measures the server's memory meanwhile. If an answer
// is wrong or missing, it sets the verdict "fails", and the result served is false.
func (c *serverCase) measureMemory(ctx context.Context, m *memoryUse) (served bool, err error) {
	requests := cmp.Or(c.options.requests, usualRequests)
	each := max(requests/memoryPoints, 1)
	r := c.protocol.Smallest(target.Tool)
	began := time.Now()
	for n := range memoryPoints {
		if n >= memoryPoints/2 && time.Since(began) > memoryTime {
			break
		}
		for range each {
			out, err := c.server.Trip(ctx, r, m.requests+1)
			if err != nil {
				return false, err
			}
			if out.Verdict != target.OK {
				c.judgeOutcome(out)
				return false, nil
			}
			m.requests++
		}
		resident, _ := c.server.Process.Resident()
		m.after = append(m.after, float64(m.requests))
		m.resident = append(m.resident, float64(resident))
	}
	// half of all measurements so far, not of this round alone: after a garbage collection, memory
	// may stop growing for a while
	half := len(m.after) / 2
	m.from = int64(m.resident[half])
	m.to = int64(m.resident[len(m.resident)-1])
	m.growth, err = stat.FitLine(m.after[half:], m.resident[half:])
	return err == nil, err
}
