package check

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

// A memoryUse is how much memory a server used after some of the requests that it served.
type memoryUse struct {
	requests int64
	after    []float64 // requests so far
	resident []float64 // bytes in use after them

	// over the later half of the requests:
	growth   stat.Growth // bytes per request
	from, to int64       // bytes in use
}

const (
	usualRequests = 10_000
	memoryPoints  = 20
	memoryTime    = 10 * time.Second // for one look; half of its requests are made in any case
	memoryMinor   = 100              // bytes per request; less may come from an allocator alone
	memoryShare   = 50               // less than 1/memoryShare of the memory in use is no growth
	leakGrowth    = 4                // heaps double before they are collected, histories triple
)

// watchesMemory measures how memory grows with requests. A garbage-collected heap, a compiler at
// work, or a history of the last requests make memory grow at first, but not for ever. So a server
// fails only if, after three looks or more, memory still grows at half the first rate at least, and
// is leakGrowth times as large. If that is not decided in 3*memoryTime, it cannot be told.
func watchesMemory(ctx context.Context, c *serverCase) error {
	_, known := c.server.Process.Resident()
	if !known {
		return errors.New("this system does not tell how much memory a process has")
	}
	m := &memoryUse{}
	began := time.Now()
	first := 0.0
	from := int64(0)
	for looks := 0; ; looks++ {
		served, err := c.measureMemory(ctx, m)
		if err != nil || !served {
			return err
		}
		if !m.grows() {
			c.ok("%s", m)
			return nil
		}
		if looks == 0 {
			first = m.growth.Slope
			from = m.from
		}
		decided := m.growth.Interval.Lo >= first/2 && m.to >= leakGrowth*from
		if looks >= 2 && decided {
			break
		}
		if looks >= 2 && time.Since(began) > 3*memoryTime {
			c.cannotTell("%s, by %.0f B at first, and by %s in all: "+
				"whether it stops cannot be told", m, first, results.FormatSize(m.to-from))
			return nil
		}
	}
	c.fails("memory grows by %.0f B a request [%.0f, %.0f], to %s after %s requests",
		m.growth.Slope, m.growth.Interval.Lo, m.growth.Interval.Hi,
		results.FormatSize(m.to), results.FormatGrouped(m.requests))
	return nil
}

func (m *memoryUse) String() string {
	return fmt.Sprintf("memory changes by %.0f B a request [%.0f, %.0f] up to request %s",
		m.growth.Slope, m.growth.Interval.Lo, m.growth.Interval.Hi,
		results.FormatGrouped(m.requests))
}

// grows reports whether memory grew by more than an allocator alone may cause.
func (m *memoryUse) grows() bool {
	return m.growth.Interval.Lo >= memoryMinor && m.to-m.from >= m.from/memoryShare
}

// measureMemory makes more requests, and fits a line to the memory in use over the later half of
// all requests: after a garbage collection memory may stand still, but not for so long. It reports
// whether all requests were served.
func (c *serverCase) measureMemory(ctx context.Context, m *memoryUse) (served bool, err error) {
	requests := c.finding.o.requests
	if requests == 0 {
		requests = usualRequests
	}
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
				c.met(out)
				return false, nil
			}
			m.requests++
		}
		resident, _ := c.server.Process.Resident()
		m.after = append(m.after, float64(m.requests))
		m.resident = append(m.resident, float64(resident))
	}
	half := len(m.after) / 2
	m.from = int64(m.resident[half])
	m.to = int64(m.resident[len(m.resident)-1])
	m.growth, err = stat.FitLine(m.after[half:], m.resident[half:])
	return err == nil, err
}
