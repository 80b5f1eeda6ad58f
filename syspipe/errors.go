package syspipe

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"syscall"
)

// A CapacityError says that a pipe cannot have the capacity that was asked for, and why.
type CapacityError struct {
	Kind  Kind
	Asked int    // bytes
	Limit int    // the most that may be asked for, in bytes; 0 if not known
	Where string // what sets the limit, and where it can be changed
	Err   error
}

func (e *CapacityError) Error() string {
	s := fmt.Sprintf("set capacity of %s to %d bytes: %v", e.Kind.noun(), e.Asked, e.Err)
	if e.Limit > 0 {
		s += fmt.Sprintf("; the limit is %d bytes", e.Limit)
	}
	if e.Where != "" {
		s += fmt.Sprintf(" (%s)", e.Where)
	}
	return s
}

func (e *CapacityError) Unwrap() error { return e.Err }

// A BrokenPipeError is returned by a write when nobody holds the reading end any more.
// errors.Is(err, syscall.EPIPE) holds for it on every system.
type BrokenPipeError struct {
	Kind Kind
	// Accepted is how many bytes of this call the kernel took before the error. The reader need not
	// have read them. On macOS the number may be too low.
	Accepted int64
	// Err is what the system said: EPIPE or ECONNRESET on Unix, ERROR_NO_DATA (232) or
	// ERROR_BROKEN_PIPE (109) on Windows.
	Err error
}

func (e *BrokenPipeError) Error() string {
	const format = "write %s: the reader has left, %d bytes of this write had been accepted: %v"
	return fmt.Sprintf(format, e.Kind.noun(), e.Accepted, e.Err)
}

func (e *BrokenPipeError) Unwrap() error { return e.Err }

// Is makes errors.Is(err, syscall.EPIPE) true for every BrokenPipeError.
func (e *BrokenPipeError) Is(target error) bool { return target == syscall.EPIPE }

// ReaderLeft reports whether a write to an [End] or a file failed because nobody holds the reading
// end any more, on any system.
func ReaderLeft(err error) bool {
	isErr := func(gone error) bool { return errors.Is(err, gone) }
	return isErr(syscall.EPIPE) || slices.ContainsFunc(readerGone, isErr)
}

// ErrorName names the outcome of a read or write: "success", "EAGAIN", "EPIPE", "ECONNRESET" or
// "EOF". For any other error it returns the error's text.
func ErrorName(err error) string {
	switch {
	case err == nil:
		return "success"
	case errors.Is(err, syscall.EAGAIN):
		return "EAGAIN"
	case errors.Is(err, syscall.ECONNRESET): // before EPIPE: every BrokenPipeError is EPIPE too
		return "ECONNRESET"
	case errors.Is(err, syscall.EPIPE):
		return "EPIPE"
	case errors.Is(err, io.EOF):
		return "EOF"
	}
	return err.Error()
}

// An Unsupported is an error that says what this system or machine does not have, and why.
// errors.Is(err, errors.ErrUnsupported) holds for it.
type Unsupported string

func (u Unsupported) Error() string      { return string(u) }
func (Unsupported) Is(target error) bool { return target == errors.ErrUnsupported }

func unsupported(what string) error {
	return Unsupported(what + ": unavailable on " + runtime.GOOS)
}

// failed adds op, the name of the operation, and the kind of pipe to err.
func (e *End) failed(op string, err error) error {
	return fmt.Errorf("%s %s: %w", op, e.kind.noun(), err)
}
