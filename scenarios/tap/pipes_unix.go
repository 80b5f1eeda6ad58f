//go:build unix

package tap

import (
	"errors"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"

	"github.com/pipebench/pipebench/syspipe"
)

// pipeLike makes a pipe of the same kind and capacity as the stream that it goes on from: a server behaves differently on a socket pair than
// on a pipe, and reads as much at once as the pipe holds. Both ends block.
func pipeLike(model *os.File) (w, r *os.File, err error) {
	kind, capacity := syspipe.Anonymous, 0
	if raw, err := model.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { kind, capacity = kindOf(int(fd)) })
	}
	we, re, err := syspipe.Open(kind, capacity)
	var refused *syspipe.CapacityError
	if errors.As(err, &refused) {
		we, re, err = syspipe.Open(kind, 0)
	}
	if err != nil {
		return nil, nil, err
	}
	defer we.Close()
	defer re.Close()
	if w, err = detach(we); err != nil {
		return nil, nil, err
	}
	if r, err = detach(re); err != nil {
		w.Close()
		return nil, nil, err
	}
	return w, r, nil
}

// kindOf tells a pipe from a socket, and a pipe's capacity; what is neither, such as a terminal, is served by a pipe of the usual size.
func kindOf(fd int) (syspipe.Kind, int) {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return syspipe.Anonymous, 0
	}
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFSOCK:
		return syspipe.SocketPair, 0
	case unix.S_IFIFO:
		return syspipe.Anonymous, capacityOf(fd)
	}
	return syspipe.Anonymous, 0
}

// detach makes a file of a pipe's end, which may then be closed.
func detach(e *syspipe.End) (*os.File, error) {
	var carrier exec.Cmd
	if _, err := e.Pass(&carrier); err != nil {
		return nil, err
	}
	lent := carrier.ExtraFiles[0] // the end's, and closed with it
	var fd int
	raw, err := lent.SyscallConn()
	if err != nil {
		return nil, err
	}
	var dup error
	if err := raw.Control(func(from uintptr) { fd, dup = unix.FcntlInt(from, unix.F_DUPFD_CLOEXEC, 3) }); err != nil {
		return nil, err
	}
	if dup != nil {
		return nil, os.NewSyscallError("dup", dup)
	}
	return os.NewFile(uintptr(fd), string(e.Kind())), nil
}
