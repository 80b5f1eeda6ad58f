package tune

import (
	"fmt"
	"io"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe/script"
)

// A reader is the reading end.
type reader struct {
	ctx    *bench.WorkloadContext
	clock  *bench.Clock
	r      framers.Reader
	params params

	large        int64 // received so far, the warm-up's among them
	payload      int64
	last         int64 // when the last message that is no phase's end was there
	due, service []int64
}

// read is the reading half of the workload, a script.
func read(ctx *bench.WorkloadContext) any {
	r := &reader{ctx: ctx, clock: script.Must(bench.NewClock())}
	script.Check(ctx.Params(&r.params))
	var in io.Reader = ctx.Pipe()
	if c := ctx.Cell(); c.Drain > 0 {
		in = &slowReader{r: in, clock: r.clock, perSecond: c.Drain, spin: c.Placement == "apart" || c.Placement == "far"}
	}
	r.r = ctx.Framing().NewReader(in, ctx.Options()...)
	n := max(r.params.Probes, warmupProbes)
	r.due, r.service = make([]int64, 0, n), make([]int64, 0, n)
	began := r.clock.Now()
	r.phase(warmupProbes, ctx.Source().Compare)
	out := readerResult{Compared: r.large, Warmup: results.Warmup{Messages: r.large + warmupProbes, ElapsedNS: r.clock.Now() - began}}
	r.payload, r.due, r.service = 0, r.due[:0], r.service[:0]
	count := ctx.Count()
	script.Check(ctx.Barrier())
	began = r.clock.Now()
	r.phase(r.params.Probes, ctx.Source().Check)
	out.ElapsedNS, out.Large, out.Probes, out.Payload = r.last-began, r.large-out.Compared, r.params.Probes, r.payload
	out.Counters = count()
	out.Due, out.Service = script.Must(results.NewLatency(r.due)), script.Must(results.NewLatency(r.service))
	return out
}

// phase receives what the writer sends in one phase, to its last message, which says how much that
// was.
func (r *reader) phase(probes int64, check func(int64, []byte) error) {
	seen := probeSet{seen: make([]bool, probes)}
	for {
		msg, err := r.r.ReadMessage()
		if err != nil {
			script.Check(fmt.Errorf("receive, after %d large messages and %d probes: %w", r.large, seen.count, err))
		}
		now := r.clock.Now()
		if !isProbe(msg) {
			r.last, r.payload = now, r.payload+int64(len(msg))
			r.ctx.SampleCPU()
			script.Check(check(r.large, msg))
			r.large++
			continue
		}
		p := script.Must(readProbe(msg))
		switch {
		case isEnd(msg) && (r.large != int64(p.number) || seen.count != p.due):
			script.Check(fmt.Errorf("%d large messages and %d probes came, %d and %d were sent", r.large, seen.count, p.number, p.due))
		case isEnd(msg):
			return
		case !seen.add(p.number):
			script.Check(fmt.Errorf("probe %d came twice, or was never sent", p.number))
		}
		r.last, r.payload = now, r.payload+int64(len(msg))
		r.due, r.service = append(r.due, now-p.due), append(r.service, now-p.sent)
	}
}

// readQuantum is how many bytes a reader with a rate takes at once: a page. More would let the pipe
// run in jerks, and a probe wait for one of them.
const readQuantum = 4 << 10

// catchUp is how far a reader may lag behind its rate and still make up for it, in nanoseconds:
// what a sleep is late, not what the pipe was empty.
const catchUp = 1_000_000

// A slowReader reads no more bytes a second than it allows itself, as a program does that works on
// each byte. It belongs to one goroutine.
type slowReader struct {
	r         io.Reader
	clock     *bench.Clock
	perSecond int64
	spin      bool // the CPU is the reader's own: it works there, as such a program would

	next int64 // when the next byte may be read
}

// Read waits until the bytes of the reads before are paid for.
func (s *slowReader) Read(p []byte) (int, error) {
	s.clock.Await(s.next, s.spin)
	n, err := s.r.Read(p[:min(len(p), readQuantum)])
	s.next = max(s.next, s.clock.Now()-catchUp) + int64(n)*1e9/s.perSecond
	return n, err
}
