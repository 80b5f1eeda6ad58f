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

// usage holds what an endpoint has used up to one moment. The system may not tell all of it.
type usage struct {
	calls syspipe.Counters // of the pipes that messages and replies pass through
	wire  uint64           // bytes through the end that carries the messages
	time  cpuTime
	heap  runtime.MemStats
}

// cpuTime has the CPU time and the context switches of an endpoint's process. A figure is -1 if it
// is not known.
type cpuTime struct {
	cpu         int64 // nanoseconds
	voluntary   int64 // switches
	involuntary int64 // switches
	queued      int64 // nanoseconds that the endpoint's thread waited for a CPU
}

var unknownTime = cpuTime{cpu: -1, voluntary: -1, involuntary: -1, queued: -1}

// snapshot reads all figures into u except those of the heap, because reading the heap's figures
// stops all goroutines.
func (e *endpoint) snapshot(u *usage) {
	u.calls = e.counters()
	u.wire = e.data.Counters().Bytes
	u.time = readCPUTime()
	u.time.queued = e.runQueue.waited()
}

// heap reads the statistics of the heap. It returns zeros if it would have to wait until a raw
// system call of another goroutine ends.
func (e *endpoint) heap() (m runtime.MemStats) {
	if e.alone() {
		runtime.ReadMemStats(&m)
	}
	return m
}

// alone reports whether no other goroutine of the process can be in a long raw system call. A
// client that sends while it receives may have such a goroutine.
func (e *endpoint) alone() bool { return e.load == nil || e.Role != client }

// counters returns the counters of all measured pipes. The counter Short counts only writes,
// because a read often does not fill its buffer.
func (e *endpoint) counters() syspipe.Counters {
	if e.in == nil {
		return e.out.Counters()
	}
	all := e.in.Counters()
	all.Short = 0
	if e.out != nil {
		all.Add(e.out.Counters())
	}
	return all
}

// fillReport fills in the report: what the job moved, and what was used between the two readings,
// before and after.
func (e *endpoint) fillReport(before, after usage) error {
	after.heap = e.heap()
	e.report.WireBytes = int64(after.wire - before.wire)
	e.report.Messages = e.Messages
	e.report.Checked = e.checks()
	e.report.PayloadBytes = e.source.Bytes(e.Warmup, e.Messages)
	e.report.PayloadOffset = payload.Offset(e.source.Body(0))
	e.report.Counters = e.countersSince(before, after)
	// The heap was read before the warm-up, so subtract the share of the warm-up.
	if n := e.report.Counters.Allocs; n != nil && !e.isLoad() {
		*n = *n * e.Messages / (e.Warmup + e.Messages)
	}
	if e.alone() {
		e.report.Collections = after.heap.NumGC - before.heap.NumGC
	}
	if capacity, err := e.data.Capacity(); err == nil { // 0 if it cannot be told
		e.report.Capacity = capacity
	}
	if e.load != nil {
		return e.finishLoad()
	}
	e.report.Trips = e.trips
	return nil
}

// countersSince returns what was used between two readings, the earlier one in before and the later
// one in after. A figure is nil if it is not known.
func (e *endpoint) countersSince(before, after usage) results.Counters {
	was := before.calls
	is := after.calls
	c := results.Counters{
		Calls: int64(is.Calls - was.Calls),
		Bytes: int64(is.Bytes - was.Bytes),
		Short: new(int64(is.Short - was.Short)),
	}
	if is.SeesEAGAIN {
		c.EAGAIN = new(int64(is.EAGAIN - was.EAGAIN))
	}
	if is.SeesWaits {
		c.Waits = new(int64(is.Waits - was.Waits))
		c.WaitNS = new(int64(is.WaitTime - was.WaitTime))
	}
	increase := func(was, is int64) *int64 {
		if was < 0 || is < 0 {
			return nil
		}
		return new(is - was)
	}
	c.CPUNS = increase(before.time.cpu, after.time.cpu)
	c.VoluntarySwitches = increase(before.time.voluntary, after.time.voluntary)
	c.InvoluntarySwitches = increase(before.time.involuntary, after.time.involuntary)
	c.RunQueueNS = increase(before.time.queued, after.time.queued)
	if e.alone() {
		c.Allocs = new(int64(after.heap.Mallocs - before.heap.Mallocs))
	}
	if !e.shared { // reading the peak takes a tenth of a short sample
		if peak, ok := proc.PeakMemory(os.Getpid()); ok {
			c.PeakBytes = new(peak)
		}
	}
	c.CPUs = slices.Sorted(maps.Keys(e.cpus))
	return c
}
