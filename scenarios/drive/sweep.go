package drive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A Sweep is what came of requests of several sizes.
type Sweep struct {
	Targets []results.Target // by size
	Growth  *Growth          // nil where fewer than three sizes were answered
}

// Failures are the sizes that were not served.
func (s *Sweep) Failures() []results.Target {
	var out []results.Target
	for _, t := range s.Targets {
		if !Verdict(t.Verdict).Works() {
			out = append(out, t)
		}
	}
	return out
}

// Sweep makes round trips of each size, in bytes, and keeps a record of each. A size below the smallest request is raised to it. After a
// failure the server is started again and the sweep goes on; it ends early when the server cannot be started any more, or ctx is done.
//
// Before the first size the server is warmed up, for as long as one size is measured: where a compiler works while a server runs, the first
// requests take several times as long, and time would seem to grow more slowly with size than it does.
func (d *Driver) Sweep(ctx context.Context, sizes []int, keep Keep) (*Sweep, error) {
	sweep := &Sweep{}
	var held *measured // its verdict waits for the next size's
	for i, size := range sizes {
		warm := int64(0)
		if i == 0 {
			var err error
			if warm, err = d.warmUp(ctx, size); err != nil {
				return sweep, err
			}
		}
		next, err := d.size(ctx, size, askTool)
		if err != nil {
			return sweep, errors.Join(err, sweep.keep(held, keep))
		}
		if warm > 0 {
			add(&next.Target, map[string]any{"warmup_messages": warm})
		}
		if held != nil && next.size <= held.size {
			continue // both were raised to the smallest
		}
		judgeSlow(sweep.last(), held, next)
		if err := sweep.keep(held, keep); err != nil {
			return sweep, err
		}
		held = next
	}
	judgeSlow(sweep.last(), held, nil)
	if err := sweep.keep(held, keep); err != nil {
		return sweep, err
	}
	sweep.Growth = growthOf(sweep.Targets)
	return sweep, nil
}

// warmUp makes round trips of a size that are not measured, and says how many. One that fails is left to the measurement to find again.
func (d *Driver) warmUp(ctx context.Context, size int) (n int64, err error) {
	s, err := d.fitting(askTool, size)
	for began := time.Now(); err == nil && time.Since(began) < d.o.Budget; n++ {
		var out outcome
		if out, err = d.trip(ctx, s, n); err == nil && out.verdict != OK {
			return n, nil
		}
	}
	return n, err
}

// measured is a size's record that may still change its verdict.
type measured struct {
	results.Target
	size int
}

func (s *Sweep) last() *results.Target {
	if len(s.Targets) == 0 {
		return nil
	}
	return &s.Targets[len(s.Targets)-1]
}

func (s *Sweep) keep(m *measured, keep Keep) error {
	if m == nil {
		return nil
	}
	s.Targets = append(s.Targets, m.Target)
	return keep(m.Target)
}

// size measures one size and makes its record.
func (d *Driver) size(ctx context.Context, size int, a ask) (*measured, error) {
	s, err := d.fitting(a, size)
	if err != nil {
		return nil, err
	}
	m, err := d.measure(ctx, s)
	if err == nil && m.failure == nil {
		last := outcome{verdict: OK}
		if err = d.outlived(ctx, &last); last.verdict != OK {
			m.failure = &last
		}
	}
	if err != nil {
		return nil, err
	}
	return &measured{d.sized(s, m), len(s.msg)}, nil
}

// sized is the record of one size.
func (d *Driver) sized(s *shape, m *measurement) results.Target {
	if m.failure != nil {
		t := d.failed(m.size, *m.failure)
		t.Samples = m.samples
		if m.served > 0 {
			t.Warnings = append(t.Warnings, "some requests of this size were served before one was not")
		}
		return t
	}
	t := d.record()
	d.pipes(&t)
	t.Size, t.Verdict, t.Samples = int64(m.size), string(OK), m.samples
	add(&t, map[string]any{"payload_bytes": s.to - s.from})
	add(&t, map[string]any{"reply_bytes": m.reply})
	if ns := medianTime(m.samples); ns > 0 {
		add(&t, map[string]any{"ns_per_byte": ns / float64(m.size)})
	}
	if share, ok := ourShare(m.samples); ok {
		add(&t, map[string]any{"driver_cpu_share": share})
	}
	t.Warnings = append(t.Warnings, d.noticed()...)
	return t
}

// noticed is what the server did on the side that may trouble a client.
func (d *Driver) noticed() []string {
	var out []string
	c := d.running()
	if c == nil {
		return nil
	}
	if lines, first := c.noise.dirty(); lines > 0 {
		out = append(out, fmt.Sprintf("%d lines on standard output are no messages, the first: %q", lines, first))
	}
	if late := c.noise.unasked(); late > 0 {
		out = append(out, fmt.Sprintf("%d answers came that nobody waited for: to no request, or the second to one", late))
	}
	if in, logged := c.in.bytes.Load(), c.words.bytes(); logged > max(in, loud) {
		out = append(out, fmt.Sprintf("it wrote %d bytes to standard error for %d bytes of requests: a client that does not read them will hang", logged, in))
	}
	return out
}

// loud is how much a server may write to standard error before it is told of: what a pipe holds, so that it would block unread.
const loud = 64 << 10

func medianTime(samples []results.Sample) float64 {
	var ns []float64
	for _, s := range samples {
		ns = append(ns, float64(s.ElapsedNS)/float64(s.Messages))
	}
	return stat.Median(ns).Median
}

// ourShare is this process's part of the processor time that both sides used together.
func ourShare(samples []results.Sample) (float64, bool) {
	var ours, theirs int64
	for _, s := range samples {
		if s.Writer.CPUNS == nil || s.Reader.CPUNS == nil {
			return 0, false
		}
		ours += *s.Writer.CPUNS
		theirs += *s.Reader.CPUNS
	}
	if ours+theirs == 0 {
		return 0, false
	}
	return float64(ours) / float64(ours+theirs), true
}
