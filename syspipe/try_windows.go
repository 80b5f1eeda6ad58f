package syspipe

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// errNotNow is how this package says EAGAIN on Windows, where success with nothing written says it.
var errNotNow = syscall.EAGAIN

func (e *End) onceWrite(p []byte) (int, error) {
	n, err := e.writeOnce(p)
	switch {
	case err != nil:
		return n, e.writeError(n, err)
	case n == 0 && len(p) > 0:
		e.out.refused()
		return 0, e.failed("write", errNotNow)
	}
	e.out.moved(len(p), n)
	return n, nil
}

func (e *End) onceRead(p []byte) (int, error) {
	n, err := e.readOnce(p)
	switch {
	case errors.Is(err, windows.ERROR_BROKEN_PIPE):
		return 0, io.EOF
	case errors.Is(err, windows.ERROR_NO_DATA), err == nil && n == 0 && len(p) > 0:
		e.in.refused()
		return 0, e.failed("read", errNotNow)
	case err != nil:
		return 0, e.failed("read", err)
	}
	e.in.moved(len(p), n)
	return n, nil
}

func (e *End) pollNow(bool) (bool, error) { return false, unsupported("polling a pipe") }

// A Stream is what a file is when it serves as a standard stream.
type Stream struct {
	Kind        string `json:"kind"`         // "pipe", "character device", "disk file"
	NonBlocking bool   `json:"non_blocking"` // PIPE_NOWAIT is set
	Capacity    int    `json:"capacity"`     // bytes: the quota that was asked for
}

// Describe tells what an open file is, and changes nothing about it.
func Describe(f *os.File) (Stream, error) {
	h := windows.Handle(f.Fd())
	t, err := windows.GetFileType(h)
	if err != nil {
		return Stream{}, os.NewSyscallError("GetFileType", err)
	}
	switch t {
	case windows.FILE_TYPE_PIPE:
		return describePipe(h)
	case windows.FILE_TYPE_CHAR:
		return Stream{Kind: "a character device"}, nil
	}
	return Stream{Kind: "a disk file"}, nil
}

func describePipe(h windows.Handle) (Stream, error) {
	s := Stream{Kind: "pipe"}
	var state, out, in uint32
	if err := windows.GetNamedPipeHandleState(h, &state, nil, nil, nil, nil, 0); err == nil {
		s.NonBlocking = state&windows.PIPE_NOWAIT != 0
	}
	if err := windows.GetNamedPipeInfo(h, nil, &out, &in, nil); err != nil {
		return s, os.NewSyscallError("GetNamedPipeInfo", err)
	}
	s.Capacity = int(max(out, in))
	return s, nil
}
