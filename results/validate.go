package results

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Validate says all that is wrong with a cell as plain data: a field that every cell has and this
// one lacks, a negative count, a rate that is no number. Whether the framing, pipe or placement
// exists is for those who run it.
func (c Cell) Validate() error {
	var faults []error
	for _, f := range []struct{ name, value string }{
		{"framing", c.Framing}, {"pipe", c.Pipe}, {"io", c.IO}, {"placement", c.Placement},
		{"peer", c.Peer}, {"pattern", c.Pattern}, {"payload", c.Payload},
	} {
		if f.value == "" {
			faults = append(faults, fmt.Errorf("%s is missing", f.name))
		}
	}
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"size", int64(c.Size)}, {"capacity", int64(c.Capacity)}, {"inflight", int64(c.Inflight)},
		{"read_buffer", int64(c.ReadBuffer)}, {"batch", int64(c.Batch)}, {"drain", c.Drain},
	} {
		if err := notNegative(number{f.name, &f.value}); err != nil {
			faults = append(faults, err)
		}
	}
	if math.IsNaN(c.Rate) || math.IsInf(c.Rate, 0) || c.Rate < 0 {
		faults = append(faults, fmt.Errorf("rate is not a number of messages a second: %v", c.Rate))
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("cell: %w", errors.Join(faults...))
}

// Validate says what is wrong with a record as plain data: its cell, or samples that cannot have
// happened. A record without samples has to say why.
func (r Record) Validate() error {
	if err := r.Cell.Validate(); err != nil {
		return err
	}
	if r.Unsupported != "" && len(r.Samples) > 0 {
		return errors.New("an unsupported cell has no samples")
	}
	if len(r.Samples) == 0 && r.Unsupported == "" && r.Failed == "" && r.Stopped == "" {
		return errors.New("no samples, and no word why: one of unsupported, failed and stopped says it")
	}
	if v := r.Verified; v != nil {
		if err := notNegative(number{"verified.sequence", &v.Sequence}, number{"verified.compared", &v.Compared}, number{"verified.bytes", &v.Bytes}); err != nil {
			return err
		}
	}
	return validateSamples(r.Samples)
}

// Validate says what is wrong with a claim: a document or a verdict that there is not.
func (c Claim) Validate() error {
	if !slices.Contains([]string{"000", "001", "002", "003", "004"}, c.Seed) {
		return fmt.Errorf("seed %q: want 000 to 004", c.Seed)
	}
	if !slices.Contains([]string{"holds", "refuted", "depends", "not-testable-here"}, c.Verdict) {
		return fmt.Errorf("verdict %q: want holds, refuted, depends or not-testable-here", c.Verdict)
	}
	return nil
}

// Validate says what is wrong with a target's record: sizes or samples that cannot be.
func (t Target) Validate() error {
	return errors.Join(validateSamples(t.Samples), notNegative(
		number{"size", &t.Size}, number{"request_limit", t.RequestLimit}, number{"reply_limit", t.ReplyLimit}, number{"searched_to", t.SearchedTo}))
}

// Validate says what is wrong with the cell and the samples of a chunk size.
func (t Tune) Validate() error { return errors.Join(t.Cell.Validate(), validateSamples(t.Samples)) }

// Validate says what is wrong with a noise record's cell and spread.
func (n Noise) Validate() error {
	if !(n.Spread >= 0) || math.IsInf(n.Spread, 0) {
		return fmt.Errorf("spread is not a ratio less 1: %v", n.Spread)
	}
	return n.Cell.Validate()
}

// Validate says what is wrong with a message: a direction that there is not, or a negative size or
// time.
func (m Message) Validate() error {
	if m.Dir != "request" && m.Dir != "reply" {
		return fmt.Errorf("dir %q: want request or reply", m.Dir)
	}
	return notNegative(number{"size", &m.Size}, number{"t_ns", &m.T})
}

// validateSamples refuses what every rate and ratio would trip over.
func validateSamples(samples []Sample) error {
	for i, s := range samples {
		if err := s.validate(); err != nil {
			return fmt.Errorf("sample %d: %w", i+1, err)
		}
	}
	return nil
}

func (s Sample) validate() error {
	capacity := int64(s.Capacity)
	numbers := []number{
		{"elapsed_ns", &s.ElapsedNS}, {"messages", &s.Messages}, {"payload_bytes", &s.PayloadBytes},
		{"wire_bytes", &s.WireBytes}, {"capacity", &capacity},
	}
	if s.Warmup != nil {
		numbers = append(numbers, number{"warmup.messages", &s.Warmup.Messages}, number{"warmup.elapsed_ns", &s.Warmup.ElapsedNS})
	}
	numbers = append(numbers, s.Writer.numbers("writer.")...)
	numbers = append(numbers, s.Reader.numbers("reader.")...)
	if err := notNegative(numbers...); err != nil {
		return err
	}
	for key, l := range s.Latency {
		if err := l.validate(); err != nil {
			return fmt.Errorf("%s latency: %w", key, err)
		}
	}
	return s.Load.validate()
}

// numbers are an end's counters by the names that they have in the file.
func (c *Counters) numbers(end string) []number {
	return []number{
		{end + "calls", &c.Calls}, {end + "bytes", &c.Bytes}, {end + "short", c.Short}, {end + "eagain", c.EAGAIN},
		{end + "waits", c.Waits}, {end + "wait_ns", c.WaitNS}, {end + "cpu_ns", c.CPUNS}, {end + "voluntary_switches", c.VoluntarySwitches},
		{end + "involuntary_switches", c.InvoluntarySwitches}, {end + "allocs", c.Allocs}, {end + "peak_bytes", c.PeakBytes},
	}
}

func (l Latency) validate() error {
	return notNegative(number{"count", &l.Count}, number{"over", &l.Over}, number{"min_ns", &l.MinNS}, number{"max_ns", &l.MaxNS},
		number{"p50_ns", l.P50NS}, number{"p90_ns", l.P90NS}, number{"p99_ns", l.P99NS}, number{"p999_ns", l.P999NS})
}

func (l *Load) validate() error {
	if l == nil {
		return nil
	}
	if !(l.Achieved >= 0) || math.IsInf(l.Achieved, 0) {
		return fmt.Errorf("load.achieved is not a number of messages a second: %v", l.Achieved)
	}
	return notNegative(number{"load.due", &l.Due}, number{"load.sent", &l.Sent}, number{"load.late", &l.Late}, number{"load.unsent", &l.Unsent})
}

// A number is something counted, by its name in the file; nil if it was not.
type number struct {
	name  string
	value *int64
}

func notNegative(numbers ...number) error {
	for _, n := range numbers {
		if n.value != nil && *n.value < 0 {
			return fmt.Errorf("%s is negative: %d", n.name, *n.value)
		}
	}
	return nil
}
