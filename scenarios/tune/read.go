package tune

import (
	"fmt"
	"io"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
)

// A reader is the reading end.
type reader struct {
	stage *bench.WorkloadContext
	clock *bench.Clock
	r     framers.Reader
	brief brief

	large        int64 // received so far, the warm-up's among them
	payload      int64
	last         int64 // when the last message that is no phase's end was there
	due, service []int64
}

// read is the reading half of the act.
func read(s *bench.WorkloadContext) (any, error) {
	r, err := newReader(s)
	if err != nil {
		return nil, err
	}
	began := r.clock.Now()
	if err := r.phase(warmupProbes, s.Source().Compare); err != nil {
		return nil, fmt.Errorf("warm-up: %w", err)
	}
	out := received{Compared: r.large, Warmup: results.Warmup{Messages: r.large + warmupProbes, ElapsedNS: r.clock.Now() - began}}
	r.payload, r.due, r.service = 0, r.due[:0], r.service[:0]
	count := s.Count()
	if err := s.Barrier(); err != nil {
		return nil, err
	}
	began = r.clock.Now()
	if err := r.phase(r.brief.Probes, s.Source().Check); err != nil {
		return nil, err
	}
	out.ElapsedNS, out.Large, out.Probes, out.Payload = r.last-began, r.large-out.Compared, r.brief.Probes, r.payload
	out.Counters = count()
	return out, r.report(&out)
}

func newReader(s *bench.WorkloadContext) (*reader, error) {
	r := &reader{stage: s}
	var err error
	if err = s.Params(&r.brief); err != nil {
		return nil, err
	}
	if r.clock, err = bench.NewClock(); err != nil {
		return nil, err
	}
	var in io.Reader = s.Pipe()
	if c := s.Cell(); c.Drain > 0 {
		in = &drain{r: in, clock: r.clock, perSecond: c.Drain, spin: ownCPU(c.Placement)}
	}
	r.r = s.Framing().NewReader(in, s.Options()...)
	n := max(r.brief.Probes, warmupProbes)
	r.due, r.service = make([]int64, 0, n), make([]int64, 0, n)
	return r, nil
}

// ownCPU reports whether each end has a CPU for itself.
func ownCPU(placement string) bool { return placement == "apart" || placement == "far" }

// phase receives what the writer sends in one phase, to its last message.
func (r *reader) phase(probes int64, check func(int64, []byte) error) error {
	t := newTally(probes)
	for {
		msg, err := r.r.ReadMessage()
		if err != nil {
			return fmt.Errorf("receive, after %d large messages and %d probes: %w", r.large, t.count, err)
		}
		now := r.clock.Now()
		if isProbe(msg) && isEnd(msg) {
			return r.complete(msg, t)
		}
		r.last = now
		r.payload += int64(len(msg))
		if isProbe(msg) {
			err = r.probe(msg, now, t)
		} else {
			r.stage.SampleCPU()
			err = check(r.large, msg)
			r.large++
		}
		if err != nil {
			return err
		}
	}
}

func (r *reader) probe(msg []byte, now int64, t *tally) error {
	p, err := readProbe(msg)
	if err != nil {
		return err
	}
	if !t.add(p.number) {
		return fmt.Errorf("probe %d came twice, or was never sent", p.number)
	}
	r.due, r.service = append(r.due, now-p.due), append(r.service, now-p.sent)
	return nil
}

// complete holds what came against what the writer says it sent.
func (r *reader) complete(end []byte, t *tally) error {
	sent, err := readProbe(end)
	if err != nil {
		return err
	}
	if r.large != int64(sent.number) || t.count != sent.due {
		return fmt.Errorf("%d large messages and %d probes came, %d and %d were sent", r.large, t.count, sent.number, sent.due)
	}
	return nil
}

func (r *reader) report(out *received) (err error) {
	if out.Due, err = results.NewLatency(r.due); err != nil {
		return err
	}
	out.Service, err = results.NewLatency(r.service)
	return err
}
