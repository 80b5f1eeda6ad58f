package syspipe

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// A reference tells a child process, as JSON, which of the child's descriptors is a pipe end.
type reference struct {
	Number    uint64    `json:"number"` // of the descriptor (Windows: handle) in the child
	Kind      Kind      `json:"kind"`
	Direction direction `json:"direction"`
	IO        IO        `json:"io"`
}

// Pass lets the child that cmd starts next inherit a duplicate of the end. The child calls
// [Inherited] with the returned reference. Hand it over in an argument, in the environment or on
// standard input.
//
// Close the end after cmd.Start: while it is open here, the other end of the pipe sees neither end
// of file nor a broken pipe. On Windows, the end's IO must not be [Poller].
func (e *End) Pass(cmd *exec.Cmd) (ref string, err error) {
	e.passing.Lock() // so that a concurrent Close either prevents the duplicate or closes it
	defer e.passing.Unlock()
	r := reference{Kind: e.kind, Direction: e.dir, IO: e.io}
	err = e.briefly("pass", func() (err error) {
		r.Number, err = e.passTo(cmd)
		return err
	})
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(r)
	return string(text), err
}

func (e *End) closeDuplicates() error {
	e.passing.Lock()
	defer e.passing.Unlock()
	var errs []error
	for _, d := range e.duplicates {
		errs = append(errs, d.Close())
	}
	e.duplicates = nil
	return errors.Join(errs...)
}

// File returns a duplicate of the end as a file, for the standard streams of a child. The caller
// closes the file. It is non-blocking unless the end is [Blocking], and most programs do not expect
// that of their streams: open the pipe with Blocking, and call [End.UsePoller] on the other end.
func (e *End) File() (f *os.File, err error) {
	err = e.briefly("duplicate", func() (err error) {
		f, err = e.duplicate()
		return err
	})
	return f, err
}

// Inherited takes up the end that the parent process handed over with [End.Pass]. Take up each
// reference only once. The returned end belongs to the caller, and waits as the parent's end did.
func Inherited(ref string) (*End, error) {
	var r reference
	if json.Unmarshal([]byte(ref), &r) != nil {
		return nil, fmt.Errorf("take up inherited end: %q: not a reference of End.Pass", ref)
	}
	err := r.Kind.Supported()
	if err == nil && (r.Direction == 0 || r.Direction > duplex) {
		err = errors.New("it says neither read nor write")
	}
	if err != nil {
		return nil, fmt.Errorf("take up inherited end: %q: %w", ref, err)
	}
	e, err := takeUp(r.Number, r.Kind, r.Direction)
	if err == nil {
		err = e.initIO(r.IO)
	}
	if err != nil {
		return nil, fmt.Errorf("take up inherited %s %s: %w", r.Kind.noun(), ref, err)
	}
	return e, nil
}
