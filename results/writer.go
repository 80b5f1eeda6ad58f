package results

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// A Writer writes a results file, a line at a time. It belongs to one goroutine.
type Writer struct {
	w     io.Writer
	close func() error
	name  string
	err   error // the first failure: what follows a torn line would be lost with it
}

// Append goes on with a results file, or starts it. If the last line was torn by a crash, the next
// one begins on a line of its own.
func Append(path string) (*Writer, error) {
	// No link is followed out of the folder: in one that others may write to, such a link would
	// have the user overwrite a file of their own.
	folder, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("append to results file: %w", err)
	}
	defer folder.Close()
	// Only the user may read it: it holds command lines, and a secret in one may go unnoticed.
	f, err := folder.OpenFile(filepath.Base(path), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("append to results file: %s: %w", path, err)
	}
	err = makePrivate(f)
	if err == nil {
		err = endLine(f)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("append to results file: %w", err), f.Close())
	}
	return &Writer{w: f, close: f.Close, name: path}, nil
}

// makePrivate takes a file from others that was there before, and that they may read.
func makePrivate(f *os.File) error {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() == 0o600 {
		return err
	}
	return f.Chmod(0o600)
}

// NewWriter writes lines to w, one call of Write each.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: w, close: func() error { return nil }, name: "results"}
}

// endLine makes sure that a file which is not empty ends with a newline.
func endLine(f *os.File) error {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, info.Size()-1); err != nil {
		return err
	}
	if last[0] == '\n' {
		return nil
	}
	_, err = f.Write([]byte{'\n'})
	return err
}

// Write puts one line into the file with a single call, so that a crash tears at most the line
// being written. It fills in the line's kind, and an environment's schema. A line that no reader
// would take, such as one with a cell that [Cell.Validate] refuses, is an error and leaves the file
// as it was. Once the file itself failed, Write returns that error again.
func (w *Writer) Write(line Line) error {
	if w.err != nil {
		return w.err
	}
	if w.w == nil {
		return errors.New("write results: the writer was never opened")
	}
	text, err := encode(line)
	if err != nil {
		return fmt.Errorf("write %s: %w", w.name, err)
	}
	if _, err := w.w.Write(text); err != nil {
		w.err = fmt.Errorf("write %s: %w", w.name, err)
	}
	return w.err
}

// WriteAll puts several lines into the file, as many as can be.
func WriteAll[L Line](w *Writer, lines []L) error {
	var errs []error
	for _, l := range lines {
		errs = append(errs, w.Write(l))
	}
	return errors.Join(errs...)
}

// Close closes the file. It returns what went wrong while writing, if anything did.
func (w *Writer) Close() error {
	if w.close == nil {
		return errors.New("close results: the writer was never opened")
	}
	return errors.Join(w.err, w.close())
}

// encode returns a line as it stands in the file, newline included, and refuses what a reader of
// the file could not take.
func encode(line Line) ([]byte, error) {
	line, err := withKind(line)
	if err != nil {
		return nil, err
	}
	if RunOf(line) == "" {
		return nil, fmt.Errorf("%s without the name of its run", line.kind())
	}
	if err := validate(line); err != nil {
		return nil, err
	}
	text, err := json.Marshal(withoutSecrets(line))
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", line.kind(), err)
	}
	return append(text, '\n'), nil
}

// withoutSecrets returns the line with the secrets of its command lines hidden.
func withoutSecrets(line Line) Line {
	switch l := line.(type) {
	case Environment:
		l.Command = hideSecretsInLine(l.Command)
		return l
	case Target:
		l.Command = HideSecrets(l.Command)
		return l
	case Finding:
		l.About = HideSecrets(l.About)
		l.Reproduce = hideSecretsInLine(l.Reproduce)
		return l
	case Check:
		l.Command = HideSecrets(l.Command)
		l.Reproduce = hideSecretsInLine(l.Reproduce)
		return l
	}
	return line
}

// withKind returns the line with its kind filled in, which the type knows better than the caller,
// and with empty lists for missing ones: readers in other languages should not meet a null.
func withKind(line Line) (Line, error) {
	switch l := line.(type) {
	case Environment:
		l.Kind = KindEnvironment
		l.Schema = Schema
		return l, nil
	case Record:
		l.Kind = KindMeasurement
		return l, nil
	case Finding:
		l.Kind = KindFinding
		return l, nil
	case Target:
		l.Kind = KindTarget
		l.Command = notNull(l.Command)
		return l, nil
	case Message:
		l.Kind = KindMessage
		return l, nil
	case Probe:
		l.Kind = KindProbe
		return l, nil
	case Fault:
		l.Kind = KindFault
		return l, nil
	case Claim:
		l.Kind = KindClaim
		return l, nil
	case Check:
		l.Kind = KindCheck
		l.Command = notNull(l.Command)
		return l, nil
	case Tune:
		l.Kind = KindTune
		return l, nil
	case Noise:
		l.Kind = KindNoise
		l.Values = notNull(l.Values)
		return l, nil
	}
	return nil, fmt.Errorf("a line of type %T has no place in a results file: "+
		"give the value, not a pointer", line)
}

// notNull returns an empty list for a missing one.
func notNull[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// ReplaceFile writes a file beside its place and renames it, so that nobody ever sees half of it,
// what was there stays if writing fails, and no link is followed. Its mode is perm less the umask.
func ReplaceFile(path string, content []byte, perm os.FileMode) error {
	hidden := fmt.Sprintf(".%s.%x", filepath.Base(path), rand.Uint64())
	name := filepath.Join(filepath.Dir(path), hidden)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer os.Remove(name) // fails, as it should, after the rename
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(name, path)
}

// validate calls line.Validate, if it has one.
func validate(line Line) error {
	if v, ok := line.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return fmt.Errorf("%s: %w", line.kind(), err)
		}
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
	return cmp.Or(r.Cell.Validate(), notNegative(r))
}

// Validate reports what is wrong with a claim: a document or a verdict that there is not.
func (c Claim) Validate() error {
	return cmp.Or(oneOf("seed", c.Seed, "000", "001", "002", "003", "004"),
		oneOf("verdict", c.Verdict, "holds", "refuted", "depends", "not-testable-here", "noted"))
}

// Validate reports what is wrong with a check: a side or a verdict that there is not.
func (c Check) Validate() error {
	return cmp.Or(oneOf("side", c.Side, "program", "server", "client"),
		oneOf("verdict", c.Verdict, CheckOK, CheckFails, CheckSlow, CheckCannotTell))
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
	return cmp.Or(oneOf("dir", m.Dir, "request", "reply"), notNegative(m))
}

// notNegative refuses a number that no count and no time can be, which every rate and ratio would
// trip over, anywhere in v. The error names it as the file does: "samples[3].writer.calls".
func notNegative(v any) error {
	if fault := below(reflect.ValueOf(v)); fault != "" {
		return errors.New(strings.TrimPrefix(fault, "."))
	}
	return nil
}

// below finds a number below zero, infinite or not a number, and returns its path and what is wrong
// with it; "" where there is none.
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
