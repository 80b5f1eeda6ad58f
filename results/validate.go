package results

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// validate calls line.Validate, if the line has that method.
func validate(line Line) error {
	l, ok := line.(interface{ Validate() error })
	if !ok {
		return nil
	}
	if err := l.Validate(); err != nil {
		return fmt.Errorf("%s: %w", line.kind(), err)
	}
	return nil
}

// Validate returns an error if the cell or a figure is impossible, or if there are no samples and
// nothing says why.
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

// Validate returns an error if a size, a limit or a figure of a sample is negative.
func (t Target) Validate() error {
	figures := []figure{{"size", t.Size}}
	for _, limit := range []*int64{t.RequestLimit, t.ReplyLimit, t.SearchedTo} {
		if limit != nil {
			figures = append(figures, figure{"a limit", *limit})
		}
	}
	return cmp.Or(notNegative(figures...), validateSamples(t.Samples))
}

// Validate returns an error if the direction is unknown, or if a size or a time is negative.
func (m Message) Validate() error {
	return cmp.Or(
		oneOf("dir", m.Dir, "request", "reply"),
		notNegative(figure{"t_ns", m.T}, figure{"size", m.Size}, figure{"stall_ns", m.Stall}),
	)
}

// oneOf returns an error if the value of a field is not one of the known values.
func oneOf(field, value string, known ...string) error {
	if slices.Contains(known, value) {
		return nil
	}
	last := len(known) - 1
	others := strings.Join(known[:last], ", ")
	return fmt.Errorf("%s %q: want %s or %s", field, value, others, known[last])
}

// A figure is a count, a size or a time, with its name in the file.
type figure struct {
	name  string
	value int64
}

func notNegative(figures ...figure) error {
	for _, f := range figures {
		if f.value < 0 {
			return fmt.Errorf("%s is negative: %d", f.name, f.value)
		}
	}
	return nil
}

// validateSamples returns an error for the first sample with a negative figure: "sample 3:
// writer.calls is negative: -1".
func validateSamples(samples []Sample) error {
	for i, s := range samples {
		err := notNegative(
			figure{"elapsed_ns", s.ElapsedNS},
			figure{"messages", s.Messages},
			figure{"payload_bytes", s.PayloadBytes},
			figure{"wire_bytes", s.WireBytes},
			figure{"writer.calls", s.Writer.Calls},
			figure{"writer.bytes", s.Writer.Bytes},
			figure{"reader.calls", s.Reader.Calls},
			figure{"reader.bytes", s.Reader.Bytes},
		)
		for _, end := range []Counters{s.Writer, s.Reader} {
			if err == nil && end.CPUNS != nil {
				err = notNegative(figure{"cpu_ns", *end.CPUNS})
			}
		}
		if err != nil {
			return fmt.Errorf("sample %d: %w", i+1, err)
		}
	}
	return nil
}
