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

// A Writer writes a results file, a line at a time. It belongs to one goroutine.
type Writer struct {
	out       io.Writer
	close     func() error
	name      string
	anonymous bool
	err       error // the first failure: it may have torn a line, so nothing is written after it
}

// Append goes on with a results file, or starts it. If the last line was torn by a crash, the next
// one begins on a line of its own.
func Append(path string) (*Writer, error) {
	// No link out of the folder is followed: in a folder that others can write to, such a link
	// could make this program write to another file of the user's.
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
	return &Writer{out: f, close: f.Close, name: path}, nil
}

// NewWriter writes lines to w, one call of Write each.
func NewWriter(w io.Writer) *Writer {
	return &Writer{out: w, close: func() error { return nil }, name: "results"}
}

// makePrivate takes from other users the right to read a file that existed before.
func makePrivate(f *os.File) error {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() == 0o600 {
		return err
	}
	return f.Chmod(0o600)
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
// as it was. After the file itself has failed, Write returns that error every time.
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

// Close closes the file. It returns what went wrong while writing, if anything did.
func (w *Writer) Close() error {
	if w.close == nil {
		return errors.New("close results: the writer was never opened")
	}
	return errors.Join(w.err, w.close())
}

// encode returns a line as it stands in the file, and refuses what readers could not take.
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

// prepare returns the line as it goes into the file: with the kind of its type, whatever the caller
// set, and with the secrets in command lines hidden. Where the file needs a list, a missing one
// becomes an empty one, so that readers in other languages do not meet null.
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
		l.Command = HideSecrets(l.Command)
		return l, nil
	case Message:
		l.Kind = KindMessage
		return l, nil
	}
	return nil, fmt.Errorf("a line of type %T has no place in a results file: "+
		"give the value, not a pointer", line)
}

// ReplaceFile writes a new file beside path and renames it to path. So nobody ever sees half of it,
// the old file stays if writing fails, and a link at path is not followed. The umask reduces perm.
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
