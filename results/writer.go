package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
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
	// No link is followed out of the folder: in one that others may write to, such a link would have
	// the user overwrite a file of their own.
	folder, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("append to results file: %w", err)
	}
	defer folder.Close()
	f, err := folder.OpenFile(filepath.Base(path), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, fmt.Errorf("append to results file: %s: %w", path, err)
	}
	if err := endLine(f); err != nil {
		return nil, errors.Join(fmt.Errorf("append to results file: %w", err), f.Close())
	}
	return &Writer{w: f, close: f.Close, name: path}, nil
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
	return errors.Join(w.err, w.close())
}

// encode returns a line as it stands in the file, newline included, and refuses what a reader of
// the file could not take.
func encode(line Line) ([]byte, error) {
	line, err := withKind(line)
	if err != nil {
		return nil, err
	}
	if runOf(line) == "" {
		return nil, fmt.Errorf("%s without the name of its run", line.kind())
	}
	if err := validate(line); err != nil {
		return nil, err
	}
	text, err := json.Marshal(line)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", line.kind(), err)
	}
	return append(text, '\n'), nil
}

// withKind returns the line with its kind filled in, which the type knows better than the caller,
// and with empty lists for missing ones: readers in other languages should not meet a null.
func withKind(line Line) (Line, error) {
	if t := reflect.TypeOf(line); t != lists[line.kind()].line {
		return nil, fmt.Errorf("a line of type %s has no place in a results file: give the value, not a pointer", t)
	}
	if e, ok := line.(Environment); ok {
		e.Schema = Schema
		line = e
	}
	v := reflect.New(reflect.TypeOf(line)).Elem()
	v.Set(reflect.ValueOf(line))
	v.FieldByName("Kind").SetString(line.kind())
	for i := range v.NumField() {
		omitted := strings.HasSuffix(v.Type().Field(i).Tag.Get("json"), ",omitempty")
		if f := v.Field(i); f.Kind() == reflect.Slice && f.IsNil() && !omitted {
			f.Set(reflect.MakeSlice(f.Type(), 0, 0))
		}
	}
	return v.Interface().(Line), nil
}

// ReplaceFile writes a file beside its place and renames it, so that nobody ever sees half of it,
// what was there stays if writing fails, and no link is followed. Its mode is 0666 less the umask.
func ReplaceFile(path string, content []byte) error {
	name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%x", filepath.Base(path), rand.Uint64()))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
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
