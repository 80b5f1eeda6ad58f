package bench

import (
	"maps"
	"os"
	"runtime"
	"slices"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// usage is what an endpoint had used up by a moment. Figures that the system does not tell are
// marked: by SeesEAGAIN and SeesWaits in calls, and by -1 in time.
type usage struct {
	calls syspipe.Counters // of the pipes that messages and replies pass through
	wire  uint64           // bytes through the end that carries the messages
	time  cpuTime
	heap  runtime.MemStats
}

// cpuTime is processor time and switches of a thread or a process, each -1 if it is not known or
// not read yet.
type cpuTime struct {
	cpu                    int64 // nanoseconds
	voluntary, involuntary int64
	queued                 int64 // nanoseconds that the endpoint's thread waited for a CPU
}

var unknownTime = cpuTime{-1, -1, -1, -1}

// snapshot reads the counters into u, all but the heap's: reading those stops the world.
func (e *endpoint) snapshot(u *usage) {
	u.calls = e.counters()
	u.wire = e.data.Counters().Bytes
	u.time = readCPUTime()
	u.time.queued = e.runQueue.waited()
}

// heap reads the statistics of the heap if the endpoint is alone. Reading them stops the world,
// which has to wait until raw system calls end.
func (e *endpoint) heap() (m runtime.MemStats) {
	if e.alone() {
		runtime.ReadMemStats(&m)
	}
	return m
}

// alone reports whether no other goroutine of the process may be in a long raw system call.
func (e *endpoint) alone() bool { return e.load == nil || e.Role != client }

// counters returns the counters of the pipes that messages and replies pass through. Only writes
// can be Short: a read takes what there is.
func (e *endpoint) counters() syspipe.Counters {
	if e.in == nil {
		return e.out.Counters()
	}
	all := e.in.Counters()
	all.Short = 0
	if e.out == nil {
		return all
	}
	out := e.out.Counters()
	all.Calls += out.Calls
	all.Bytes += out.Bytes
	all.Short = out.Short
	all.EAGAIN += out.EAGAIN
	all.Waits += out.Waits
	all.WaitTime += out.WaitTime
	all.SeesEAGAIN = all.SeesEAGAIN && out.SeesEAGAIN
	all.SeesWaits = all.SeesWaits && out.SeesWaits
	return all
}

// fillReport fills the report in with what was used from before to after. The heap was read before
// the warm-up, so the warm-up's share of the allocations is subtracted.
func (e *endpoint) fillReport(before, after usage) error {
	after.heap = e.heap()
	e.report.WireBytes = int64(after.wire - before.wire)
	e.report.Messages = e.Messages
	e.report.Checked = e.checks()
	e.report.PayloadBytes = e.source.Bytes(e.Warmup, e.Messages)
	e.report.PayloadOffset = payload.Offset(e.source.Body(0))
	e.report.Counters = e.countersSince(before, after)
	if n := e.report.Counters.Allocs; n != nil && !e.isLoad() {
		*n = *n * e.Messages / (e.Warmup + e.Messages)
	}
	if e.alone() {
		e.report.Collections = after.heap.NumGC - before.heap.NumGC
	}
	if capacity, err := e.data.Capacity(); err == nil { // what cannot be told stays 0
		e.report.Capacity = capacity
	}
	if e.load != nil {
		return e.finishLoad()
	}
	e.report.Trips = e.trips
	return nil
}

func (e *endpoint) countersSince(before, after usage) results.Counters {
	was := before.calls
	is := after.calls
	c := results.Counters{Calls: int64(is.Calls - was.Calls), Bytes: int64(is.Bytes - was.Bytes)}
	since := func(seen bool, was, is uint64) *int64 {
		if !seen {
			return nil
		}
		return new(int64(is - was))
	}
	c.Short = new(int64(is.Short - was.Short))
	c.EAGAIN = since(is.SeesEAGAIN, was.EAGAIN, is.EAGAIN)
	c.Waits = since(is.SeesWaits, was.Waits, is.Waits)
	c.WaitNS = since(is.SeesWaits, uint64(was.WaitTime), uint64(is.WaitTime))
	known := func(was, is int64) *int64 {
		if was < 0 || is < 0 {
			return nil
		}
		return new(is - was)
	}
	c.CPUNS = known(before.time.cpu, after.time.cpu)
	c.VoluntarySwitches = known(before.time.voluntary, after.time.voluntary)
	c.InvoluntarySwitches = known(before.time.involuntary, after.time.involuntary)
	c.RunQueueNS = known(before.time.queued, after.time.queued)
	if e.alone() {
		c.Allocs = new(int64(after.heap.Mallocs - before.heap.Mallocs))
	}
	if !e.shared { // to ask costs a tenth of a short slice
		if peak, ok := proc.PeakMemory(os.Getpid()); ok {
			c.PeakBytes = new(peak)
		}
	}
	c.CPUs = slices.Sorted(maps.Keys(e.cpus))
	return c
}
