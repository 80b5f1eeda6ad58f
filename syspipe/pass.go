package syspipe

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// A reference tells a child which of its descriptors is an end. It is passed to the child as JSON,
// and is of no use to any other process.
type reference struct {
	Number    uint64    `json:"number"` // of the descriptor (Windows: handle) in the child
	Kind      Kind      `json:"kind"`
	Direction direction `json:"direction"`
	IO        IO        `json:"io"`
}

// Pass lets the child that cmd starts next inherit a duplicate of the end. Give the returned
// reference to the child in an argument, in the environment or on standard input. The child calls
// [Inherited] with it, to take up the duplicate.
//
// Open the end with the IO that the child needs. On Windows, this must not be [Poller].
//
// Close the end after cmd.Start. While the parent keeps it open, the other end of the pipe sees
// neither end of file nor a broken pipe.
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

// File returns a duplicate of the end as a file, which exec.Cmd can give to a child as one of its
// standard streams. The caller closes the file.
func (e *End) File() (f *os.File, err error) {
	err = e.briefly("duplicate", func() (err error) {
		f, err = e.duplicate()
		return err
	})
	return f, err
}

// Inherited takes up the end that the parent process handed over with [End.Pass]. Take up each
// reference only once. The returned end belongs to the caller. It waits as the parent's end did,
// and SetIO can change that. Children of this process do not inherit it.
func Inherited(ref string) (*End, error) {
	var r reference
	err := json.Unmarshal([]byte(ref), &r)
	if err == nil {
		err = r.Kind.Supported()
	}
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
