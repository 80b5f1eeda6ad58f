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

// MemoryEvidence says how memory grew over the later half of the requests.
type MemoryEvidence struct {
	Requests int64   `json:"requests"`
	From     int64   `json:"from_bytes"`
	To       int64   `json:"to_bytes"`
	Slope    float64 `json:"slope"` // bytes per request; SlopeLo and SlopeHi are its interval
	SlopeLo  float64 `json:"slope_lo"`
	SlopeHi  float64 `json:"slope_hi"`

	after, resident []float64 // requests so far, and bytes in use after them, from the first on
}

const (
	usualRequests = 10_000
	memoryPoints  = 20
	memoryTime    = 10 * time.Second // for the requests of one slope, at most
	memoryMinor   = 100              // bytes per request; less may come from an allocator alone
	memoryShare   = 50               // less than 1/memoryShare of the memory in use is no growth
	leakGrowth    = 4                // heaps double before they are collected, histories triple
)

// watchesMemory measures how memory grows with requests. A garbage-collected heap, a compiler at
// work, or a history of the last requests make memory grow at first, but not for ever. So if memory
// grows, watchesMemory goes on until it is leakGrowth times as large, or the time is up.
func watchesMemory(ctx context.Context, c *serverCase) error {
	_, known := c.server.Process.Resident()
	if !known {
		return errors.New("this system does not tell how much memory a process has")
	}
	e := &MemoryEvidence{}
	c.seen.Memory = e
	began := time.Now()
	first := 0.0
	from := int64(0)
	for looks := 0; ; looks++ {
		served, err := c.watchMemory(ctx, e)
		if err != nil || !served {
			return err
		}
		if !e.grows() {
			c.ok("%s", e)
			return nil
		}
		if looks == 0 {
			first = e.Slope
			from = e.From
		}
		decided := e.SlopeLo >= first/2 && e.To >= leakGrowth*from
		if looks >= 2 && decided {
			break
		}
		if looks >= 2 && time.Since(began) > 3*memoryTime {
			c.cannotTell("%s, by %.0f B at first, and by %s in all: "+
				"whether it stops cannot be told", e, first, results.FormatSize(e.To-from))
			return nil
		}
	}
	c.fails("memory grows by %.0f B a request [%.0f, %.0f], to %s after %s requests",
		e.Slope, e.SlopeLo, e.SlopeHi, results.FormatSize(e.To), results.FormatGrouped(e.Requests))
	return nil
}

func (e *MemoryEvidence) String() string {
	return fmt.Sprintf("memory changes by %.0f B a request [%.0f, %.0f] up to request %s",
		e.Slope, e.SlopeLo, e.SlopeHi, results.FormatGrouped(e.Requests))
}

// grows reports whether memory grew by more than an allocator alone may cause.
func (e *MemoryEvidence) grows() bool {
	return e.SlopeLo >= memoryMinor && e.To-e.From >= e.From/memoryShare
}

// watchMemory makes more requests, and fits a line to the memory in use over the later half of all
// requests: a pause of the heap after a collection is shorter than that. It reports whether all
// requests were served.
func (c *serverCase) watchMemory(ctx context.Context, e *MemoryEvidence) (served bool, err error) {
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
			out, err := c.server.Trip(ctx, r, e.Requests+1)
			if err != nil {
				return false, err
			}
			if out.Verdict != target.OK {
				c.met(out)
				return false, nil
			}
			e.Requests++
		}
		resident, _ := c.server.Process.Resident()
		e.after = append(e.after, float64(e.Requests))
		e.resident = append(e.resident, float64(resident))
	}
	half := len(e.after) / 2
	g, err := stat.FitLine(e.after[half:], e.resident[half:])
	if err != nil {
		return false, err
	}
	e.From = int64(e.resident[half])
	e.To = int64(e.resident[len(e.resident)-1])
	e.Slope = g.Slope
	e.SlopeLo = g.Interval.Lo
	e.SlopeHi = g.Interval.Hi
	return true, nil
}
