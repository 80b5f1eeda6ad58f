package results

import (
	"errors"
	"fmt"
	"math"
)

// Validate says all that is wrong with a cell as plain data: a field that
// every cell has and this one lacks, a negative count, a rate that is no
// number. Whether the framing, pipe or placement exists is for those who run it.
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
		if f.value < 0 {
			faults = append(faults, fmt.Errorf("%s is negative: %d", f.name, f.value))
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

// Validate says what is wrong with a record as plain data: its cell, or
// samples that cannot have happened. A record without samples has to say why.
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
	for i, s := range r.Samples {
		if err := s.validate(); err != nil {
			return fmt.Errorf("sample %d: %w", i+1, err)
		}
	}
	return nil
}

// validate refuses what every rate and ratio would trip over.
func (s Sample) validate() error {
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"elapsed_ns", s.ElapsedNS}, {"messages", s.Messages}, {"payload_bytes", s.PayloadBytes},
		{"wire_bytes", s.WireBytes}, {"capacity", int64(s.Capacity)},
		{"writer.calls", s.Writer.Calls}, {"reader.calls", s.Reader.Calls},
	} {
		if f.value < 0 {
			return fmt.Errorf("%s is negative: %d", f.name, f.value)
		}
	}
	return nil
}
