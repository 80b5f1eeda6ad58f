package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// A Writer writes a results file, one line at a time. It must be used by one goroutine only.
type Writer struct {
	out       io.Writer
	close     func() error
	name      string
	anonymous bool
	err       error // the first failure; it may have cut off a line, so no more is written
}

// Append opens a results file to add lines, and creates it if there is none. If a crash cut off the
// last line, it adds a newline there.
func Append(path string) (*Writer, error) {
	// OpenRoot follows no link out of the folder. In a folder where others can write, a link could
	// lead to another file of the user.
	folder, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("append to results file: %w", err)
	}
	defer folder.Close()
	// Only the user may read the file: [HideSecrets] may have missed a secret in a command line.
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
	return &Writer{out: f, close: f.Close, name: path}, nil
}

// NewWriter returns a Writer to w. It calls w.Write once for each line.
func NewWriter(w io.Writer) *Writer {
	return &Writer{out: w, close: func() error { return nil }, name: "results"}
}

// makePrivate takes all rights on a file away from other users.
func makePrivate(f *os.File) error {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() == 0o600 {
		return err
	}
	return f.Chmod(0o600)
}

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

// Write adds one line in a single call, so that a crash cuts off at most that line. It fills in the
// line's kind. A line that readers would refuse is an error and is not written. After a failed
// write, every further call fails.
func (w *Writer) Write(line Line) error {
	if w.err != nil {
		return w.err
	}
	if w.out == nil {
		return errors.New("write results: the writer was never opened")
	}
	e, isEnvironment := line.(Environment)
	if w.anonymous && isEnvironment {
		line = withoutHost(e)
	}
	text, err := encode(line)
	if err != nil {
		return fmt.Errorf("write %s: %w", w.name, err)
	}
	if w.anonymous {
		text = hideUsers(text)
	}
	if _, err := w.out.Write(text); err != nil {
		w.err = fmt.Errorf("write %s: %w", w.name, err)
	}
	return w.err
}

// Close closes the file. It returns the errors of writing and of closing.
func (w *Writer) Close() error {
	if w.close == nil {
		return errors.New("close results: the writer was never opened")
	}
	return errors.Join(w.err, w.close())
}

// encode returns the text of a line, or an error if readers would refuse it.
func encode(line Line) ([]byte, error) {
	line, err := prepare(line)
	if err != nil {
		return nil, err
	}
	if line.run() == "" {
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

// prepare returns the line as it is written: with its kind, and without secrets in command lines.
func prepare(line Line) (Line, error) {
	switch l := line.(type) {
	case Environment:
		l.Kind = KindEnvironment
		l.Schema = Schema
		l.Command = hideInLine(l.Command)
		return l, nil
	case Record:
		l.Kind = KindMeasurement
		return l, nil
	case Finding:
		l.Kind = KindFinding
		if l.About != nil {
			l.About = HideSecrets(l.About)
		}
		l.Reproduce = hideInLine(l.Reproduce)
		return l, nil
	case Target:
		l.Kind = KindTarget
		l.Command = HideSecrets(l.Command) // never nil, so that the file has no null
		return l, nil
	case Message:
		l.Kind = KindMessage
		return l, nil
	}
	return nil, fmt.Errorf("a line of type %T has no place in a results file: "+
		"give the value, not a pointer", line)
}

// ReplaceFile writes a file so that nobody sees it half-written. If writing fails, the old file
// stays. A link at path is replaced, not followed.
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
