package results

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// validate refuses a line that no reader could use.
func validate(line Line) error {
	var err error
	switch l := line.(type) {
	case Record:
		err = l.Validate()
	case Finding:
		err = l.Validate()
	case Target:
		err = l.Validate()
	case Message:
		err = l.Validate()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", line.kind(), err)
	}
	return nil
}

// Validate reports what is wrong with a record as plain data: its cell, or samples that cannot have
// happened. A record without samples has to say why.
func (r Record) Validate() error {
	switch {
	case r.Unsupported != "" && len(r.Samples) > 0:
		return errors.New("an unsupported cell has no samples")
	case len(r.Samples) == 0 && r.Unsupported == "" && r.Failed == "" && r.Stopped == "":
		return errors.New("no samples, and no word why: " +
			"one of unsupported, failed and stopped says it")
	}
	return cmp.Or(r.Cell.Validate(), validateSamples(r.Samples))
}

// Validate reports what is wrong with a target's record: sizes or samples that cannot be.
func (t Target) Validate() error {
	return cmp.Or(
		notNegative([]figure{
			{"size", &t.Size},
			{"request_limit", t.RequestLimit},
			{"reply_limit", t.ReplyLimit},
			{"searched_to", t.SearchedTo},
		}),
		validateSamples(t.Samples),
	)
}

// Validate reports what is wrong with a message: an unknown direction, or a negative size or time.
func (m Message) Validate() error {
	return cmp.Or(
		oneOf("dir", m.Dir, "request", "reply"),
		notNegative([]figure{{"t_ns", &m.T}, {"size", &m.Size}, {"stall_ns", &m.Stall}}),
	)
}

// oneOf refuses a value that a field cannot have.
func oneOf(field, value string, known ...string) error {
	if slices.Contains(known, value) {
		return nil
	}
	last := len(known) - 1
	others := strings.Join(known[:last], ", ")
	return fmt.Errorf("%s %q: want %s or %s", field, value, others, known[last])
}

// A figure is a count or a time as the file names it; its value is nil if it is absent.
type figure struct {
	name  string
	value *int64
}

// notNegative refuses negative counts and times: every rate and ratio made from them would be
// wrong.
func notNegative(figures []figure) error {
	for _, f := range figures {
		if f.value != nil && *f.value < 0 {
			return fmt.Errorf("%s is negative: %d", f.name, *f.value)
		}
	}
	return nil
}

// validateSamples names the first sample with a figure that cannot be, counted from 1: "sample 3:
// writer.calls is negative: -1".
func validateSamples(samples []Sample) error {
	for i := range samples {
		if err := samples[i].validate(); err != nil {
			return fmt.Errorf("sample %d: %w", i+1, err)
		}
	}
	return nil
}

func (s *Sample) validate() error {
	err := notNegative([]figure{
		{"elapsed_ns", &s.ElapsedNS},
		{"messages", &s.Messages},
		{"payload_bytes", &s.PayloadBytes},
		{"wire_bytes", &s.WireBytes},
		{"steal_ns", s.StealNS},
	})
	if err != nil {
		return err
	}
	if err := s.Writer.validate(); err != nil {
		return fmt.Errorf("writer.%w", err)
	}
	if err := s.Reader.validate(); err != nil {
		return fmt.Errorf("reader.%w", err)
	}
	for key, l := range s.Latency {
		if err := l.validate(); err != nil {
			return fmt.Errorf("latency.%s.%w", key, err)
		}
	}
	if s.Load != nil {
		if err := s.Load.validate(); err != nil {
			return fmt.Errorf("load.%w", err)
		}
	}
	return nil
}

func (c *Counters) validate() error {
	return notNegative([]figure{
		{"calls", &c.Calls},
		{"bytes", &c.Bytes},
		{"short", c.Short},
		{"eagain", c.EAGAIN},
		{"waits", c.Waits},
		{"wait_ns", c.WaitNS},
		{"cpu_ns", c.CPUNS},
		{"voluntary_switches", c.VoluntarySwitches},
		{"involuntary_switches", c.InvoluntarySwitches},
		{"run_queue_ns", c.RunQueueNS},
		{"allocs", c.Allocs},
		{"peak_bytes", c.PeakBytes},
	})
}

func (l *Latency) validate() error {
	return notNegative([]figure{
		{"count", &l.Count},
		{"min_ns", &l.MinNS},
		{"p50_ns", l.P50NS},
		{"p90_ns", l.P90NS},
		{"p99_ns", l.P99NS},
		{"p999_ns", l.P999NS},
		{"max_ns", &l.MaxNS},
	})
}

func (l *Load) validate() error {
	if !(l.Achieved >= 0) || math.IsInf(l.Achieved, 0) {
		return fmt.Errorf("achieved is not a number of zero or more: %v", l.Achieved)
	}
	return notNegative([]figure{
		{"due", &l.Due},
		{"sent", &l.Sent},
		{"late", &l.Late},
		{"unsent", &l.Unsent},
	})
}
