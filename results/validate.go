package results

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// validate asks a line whether it can be, if its type knows.
func validate(line Line) error {
	v, ok := line.(interface{ Validate() error })
	if !ok {
		return nil
	}
	if err := v.Validate(); err != nil {
		return fmt.Errorf("%s: %w", line.kind(), err)
	}
	return nil
}

// Validate reports all that is wrong with a cell as plain data: a text that every cell has and this
// one lacks, a negative count, a rate that is no number. Whether the framing, pipe or placement
// exists is for those who run it.
func (c Cell) Validate() error {
	var faults []error
	v := reflect.ValueOf(c)
	for _, f := range cellFields {
		value := v.Field(f.index)
		if value.Kind() == reflect.String && !f.omitempty && value.IsZero() {
			faults = append(faults, fmt.Errorf("%s is missing", f.name))
		}
		if fault := below(value); fault != "" {
			faults = append(faults, errors.New(f.name+fault))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("cell: %w", errors.Join(faults...))
}

// Validate reports what is wrong with a record as plain data: its cell, or samples that cannot have
// happened. A record without samples has to say why.
func (r Record) Validate() error {
	switch {
	case r.Unsupported != "" && len(r.Samples) > 0:
		return errors.New("an unsupported cell has no samples")
	case len(r.Samples) == 0 && r.Unsupported == "" && r.Failed == "" && r.Stopped == "":
		return errors.New("no samples, and no word why: one of unsupported, failed and stopped says it")
	}
	return cmp.Or(r.Cell.Validate(), notNegative(r))
}

// Validate reports what is wrong with a claim: a document or a verdict that there is not.
func (c Claim) Validate() error {
	if !slices.Contains([]string{"000", "001", "002", "003", "004"}, c.Seed) {
		return fmt.Errorf("seed %q: want 000 to 004", c.Seed)
	}
	if !slices.Contains([]string{"holds", "refuted", "depends", "not-testable-here"}, c.Verdict) {
		return fmt.Errorf("verdict %q: want holds, refuted, depends or not-testable-here", c.Verdict)
	}
	return nil
}

// Validate reports what is wrong with a check: a side or a verdict that there is not.
func (c Check) Validate() error {
	if !slices.Contains([]string{"program", "server", "client"}, c.Side) {
		return fmt.Errorf("side %q: want program, server or client", c.Side)
	}
	if !slices.Contains([]string{CheckOK, CheckFails, CheckSlow, CheckCannotTell}, c.Verdict) {
		return fmt.Errorf("verdict %q: want ok, fails, slow or cannot-tell", c.Verdict)
	}
	return nil
}

// Validate reports what is wrong with a target's record: sizes or samples that cannot be.
func (t Target) Validate() error {
	t.Evidence = TargetEvidence{} // a slope may be below zero
	return notNegative(t)
}

// Validate reports what is wrong with the cell and the samples of a chunk size.
func (t Tune) Validate() error { return cmp.Or(t.Cell.Validate(), notNegative(t.Samples)) }

// Validate reports what is wrong with a noise record's cell and figures.
func (n Noise) Validate() error { return cmp.Or(n.Cell.Validate(), notNegative(n)) }

// Validate reports what is wrong with a message: a direction that there is not, or a negative size
// or time.
func (m Message) Validate() error {
	if m.Dir != "request" && m.Dir != "reply" {
		return fmt.Errorf("dir %q: want request or reply", m.Dir)
	}
	return notNegative(m)
}

// notNegative refuses a number that no count and no time can be, which every rate and ratio would
// trip over, anywhere in v. The error names it as the file does: "samples[3].writer.calls".
func notNegative(v any) error {
	if fault := below(reflect.ValueOf(v)); fault != "" {
		return errors.New(strings.TrimPrefix(fault, "."))
	}
	return nil
}

// below finds a number below zero, infinite or not a number, and returns its path and what is wrong with
// it; "" where there is none.
func below(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return below(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanInterface() { // else it is part of a time
				if fault := below(f); fault != "" {
					name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
					return "." + name + fault
				}
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if fault := below(v.Index(i)); fault != "" {
				return fmt.Sprintf("[%d]%s", i+1, fault)
			}
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			if fault := below(value); fault != "" {
				return fmt.Sprintf(".%s%s", key, fault)
			}
		}
	case reflect.Int, reflect.Int64:
		if v.Int() < 0 {
			return fmt.Sprintf(" is negative: %d", v.Int())
		}
	case reflect.Float64:
		if f := v.Float(); !(f >= 0) || math.IsInf(f, 0) {
			return fmt.Sprintf(" is not a number of zero or more: %v", f)
		}
	}
	return ""
}
