//go:build linux || darwin || freebsd

package syspipe

import (
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// firstExtra is the number that the first of exec.Cmd.ExtraFiles has in the child.
const firstExtra = 3

// Pass arranges that the child which cmd starts next inherits a duplicate of the end, and returns the reference by which the child takes it
// up with [Inherited]; tell it by an argument, the environment or standard input. Close the end after cmd.Start: as long as the parent keeps
// it, the other end sees neither end of file nor a broken pipe. On Windows pass an end before it is given to [Poller].
func (e *End) Pass(cmd *exec.Cmd) (ref string, err error) {
	e.passing.Lock() // so that a Close either prevents the duplicate or finds it
	defer e.passing.Unlock()
	if !e.enter() {
		return "", e.closedError("pass")
	}
	defer e.leave()
	file, err := e.duplicate()
	if err != nil {
		return "", e.failed("pass", err)
	}
	e.passed = append(e.passed, file)
	cmd.ExtraFiles = append(cmd.ExtraFiles, file)
	return e.ref(uint64(firstExtra + len(cmd.ExtraFiles) - 1)), nil
}

// duplicate makes a file of the end. NewFile leaves the mode of the descriptor as it is, and so does the Fd by which os/exec fetches it.
func (e *End) duplicate() (*os.File, error) {
	fd, err := unix.FcntlInt(uintptr(e.fd), unix.F_DUPFD_CLOEXEC, firstExtra)
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	return os.NewFile(uintptr(fd), e.kind.noun()), nil
}

func inherited(number uint64, kind Kind, dir direction) (*End, error) {
	fd := int(number)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, os.NewSyscallError("fstat", err)
	}
	want := uint32(unix.S_IFIFO)
	if kind == SocketPair {
		want = unix.S_IFSOCK
	}
	if mode := uint32(st.Mode); mode&unix.S_IFMT != want {
		return nil, fmt.Errorf("descriptor %d is %s", fd, fileType(mode))
	}
	unix.CloseOnExec(fd)
	e := newEnd(kind, dir, fd)
	return e, e.SetIO(Blocking)
}
