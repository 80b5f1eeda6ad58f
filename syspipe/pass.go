package syspipe

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// A ref names an end to a child: "syspipe:fd:kind:direction:io". It names a descriptor of the
// child, so it is of use only there.
const refPrefix = "syspipe"

// Pass arranges that the child which cmd starts next inherits a duplicate of the end, and returns
// the reference by which the child takes it up with [Inherited]; tell it by an argument, the
// environment or standard input. Close the end after cmd.Start: as long as the parent keeps it, the
// other end sees neither end of file nor a broken pipe. Open an end that is to be passed with the
// io that the child needs; on Windows with another one than [Poller].
func (e *End) Pass(cmd *exec.Cmd) (ref string, err error) {
	e.passing.Lock() // so that a Close either prevents the duplicate or finds it
	defer e.passing.Unlock()
	var number uint64
	err = e.briefly("pass", func() (err error) {
		number, err = e.passTo(cmd)
		return err
	})
	return fmt.Sprintf("%s:%d:%s:%s:%s", refPrefix, number, e.kind, e.dir, e.io), err
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

// File returns a duplicate of the end as a file, for the standard streams of an exec.Cmd, which
// take nothing else. The caller closes it.
func (e *End) File() (f *os.File, err error) {
	err = e.briefly("duplicate", func() (err error) {
		f, err = e.duplicate()
		return err
	})
	return f, err
}

// Inherited takes up the end that the parent process handed over with [End.Pass]. It belongs to the
// caller from then on, waits as the parent's end did until SetIO, and is not inherited by further
// children. Take each up once.
func Inherited(ref string) (*End, error) {
	r, err := parseRef(ref)
	if err != nil {
		return nil, fmt.Errorf("take up inherited end: %q: %w", ref, err)
	}
	e, err := inherited(r.number, r.kind, r.dir)
	if err != nil {
		return nil, fmt.Errorf("take up inherited %s %q: %w", r.kind.noun(), ref, err)
	}
	if err := e.begin(r.io); err != nil {
		return nil, fmt.Errorf("take up inherited %s %q: %w", r.kind.noun(), ref, err)
	}
	return e, nil
}

// A reference is what Pass tells Inherited.
type reference struct {
	number uint64
	kind   Kind
	dir    direction
	io     IO
}

func parseRef(ref string) (r reference, err error) {
	fields := strings.Split(ref, ":")
	if len(fields) != 5 || fields[0] != refPrefix {
		return r, errors.New("not what Pass returned")
	}
	if r.number, err = strconv.ParseUint(fields[1], 10, 64); err != nil {
		return r, fmt.Errorf("descriptor: %w", err)
	}
	if r.kind, err = ParseKind(fields[2]); err != nil {
		return r, err
	}
	if err := r.kind.Supported(); err != nil {
		return r, err
	}
	for _, d := range []direction{reads, writes, duplex} {
		if d.String() == fields[3] {
			r.dir = d
		}
	}
	if r.dir == 0 {
		return r, fmt.Errorf("unknown direction %q", fields[3])
	}
	r.io, err = ParseIO(fields[4])
	return r, err
}

// A Stream is what a file is when it serves as a standard stream.
type Stream struct {
	Kind     string `json:"kind"`     // "pipe", "socket", or what else the system calls it
	Capacity int    `json:"capacity"` // bytes, where the kernel states it; else 0
	// NonBlocking tells that O_NONBLOCK is set on the open file description, which all its
	// duplicates share; on Windows that PIPE_NOWAIT is.
	NonBlocking bool `json:"non_blocking"`
}
