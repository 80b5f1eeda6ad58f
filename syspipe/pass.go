package syspipe

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// A ref names an end to a child: "syspipe:fd:kind:direction". It names a descriptor of the child,
// so it is of use only there.
const refPrefix = "syspipe"

// Pass arranges that the child which cmd starts next inherits a duplicate of the end, and returns
// the reference by which the child takes it up with [Inherited]; tell it by an argument, the
// environment or standard input. Close the end after cmd.Start: as long as the parent keeps it, the
// other end sees neither end of file nor a broken pipe. On Windows pass an end before it is given
// to [Poller].
func (e *End) Pass(cmd *exec.Cmd) (ref string, err error) {
	e.passing.Lock() // so that a Close either prevents the duplicate or finds it
	defer e.passing.Unlock()
	number, err := ask(e, "pass", func() (uint64, error) { return e.passTo(cmd) })
	return fmt.Sprintf("%s:%d:%s:%s", refPrefix, number, e.kind, directionNames[e.dir]), err
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
// take nothing else. The caller closes it. Of a [Ring] there is none: its bytes are in no file.
func (e *End) File() (*os.File, error) {
	if e.kind == Ring {
		return nil, e.failed("duplicate", unsupported("a file of a ring"))
	}
	return ask(e, "duplicate", e.duplicate)
}

// Inherited takes up the end that the parent process handed over with [End.Pass]. It belongs to the
// caller from then on, is [Blocking] until SetIO, and is not inherited by further children. Take
// each up once.
func Inherited(ref string) (*End, error) {
	number, kind, dir, err := parseRef(ref)
	if err != nil {
		return nil, err
	}
	e, err := inherited(number, kind, dir)
	if err != nil {
		return nil, fmt.Errorf("take up inherited %s %q: %w", kind.noun(), ref, err)
	}
	return e, nil
}

func parseRef(ref string) (number uint64, kind Kind, dir direction, err error) {
	fields := strings.Split(ref, ":")
	if len(fields) != 4 || fields[0] != refPrefix {
		return 0, "", 0, fmt.Errorf("take up inherited end: %q is not what Pass returned", ref)
	}
	if _, err := fmt.Sscan(fields[1], &number); err != nil {
		return 0, "", 0, fmt.Errorf("take up inherited end: %q: descriptor: %w", ref, err)
	}
	if kind, err = ParseKind(fields[2]); err != nil {
		return 0, "", 0, fmt.Errorf("take up inherited end: %q: %w", ref, err)
	}
	for d, name := range directionNames {
		if name == fields[3] {
			dir = d
		}
	}
	if dir == 0 || !slices.Contains(supportedKinds, kind) {
		return 0, "", 0, fmt.Errorf("take up inherited end: %q is of no use on this system", ref)
	}
	return number, kind, dir, nil
}

// A Stream is what a file is when it serves as a standard stream.
type Stream struct {
	Kind     string `json:"kind"`     // "pipe", "socket", or what else the system calls it
	Capacity int    `json:"capacity"` // bytes, where the kernel states it; else 0
	// NonBlocking tells that O_NONBLOCK is set on the open file description, which all its
	// duplicates share; on Windows that PIPE_NOWAIT is.
	NonBlocking bool `json:"non_blocking"`
}
