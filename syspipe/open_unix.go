//go:build linux || darwin || freebsd

package syspipe

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// open makes a pipe. initIO later sets how its ends wait.
func open(kind Kind, capacity int) (w, r *End, err error) {
	w, r, err = openEnds(kind)
	if err == nil && capacity > 0 {
		err = w.setCapacity(capacity)
	}
	if err == nil && capacity > 0 && kind == SocketPair {
		// On Linux the writer's buffer counts. On macOS and FreeBSD the reader's buffer counts.
		err = r.setCapacity(capacity)
	}
	if err == nil {
		return w, r, nil
	}
	for _, end := range []*End{w, r} { // either may be nil
		if end != nil {
			err = errors.Join(err, end.Close())
		}
	}
	return nil, nil, err
}

// openEnds opens a pipe's ends. With an error it returns the ends that were opened already.
func openEnds(kind Kind) (w, r *End, err error) {
	switch kind {
	case FIFO:
		return openFIFO()
	case PTY:
		return openPTY()
	case SocketPair:
		fds, err := socketPair()
		if err != nil {
			return nil, nil, err
		}
		w = newEnd(SocketPair, duplex, descriptor{fd: fds[0]})
		r = newEnd(SocketPair, duplex, descriptor{fd: fds[1]})
		return w, r, nil
	}
	var fds [2]int
	if err := pipe(&fds); err != nil {
		return nil, nil, err
	}
	w = newEnd(Anonymous, writes, descriptor{fd: fds[1]})
	r = newEnd(Anonymous, reads, descriptor{fd: fds[0]})
	return w, r, nil
}

// openFIFO makes a FIFO in a private folder, opens both ends, and removes the folder. After an
// error it returns the ends that it has opened.
func openFIFO() (w, r *End, err error) {
	dir, err := os.MkdirTemp("", "syspipe-fifo-")
	if err != nil {
		return nil, nil, err
	}
	path := filepath.Join(dir, "fifo")
	w, r, err = makeFIFO(path)
	// Not RemoveAll: it opens the folder, and the process may have no descriptor left for that.
	os.Remove(path) // if this fails, the folder cannot be removed either
	return w, r, errors.Join(err, os.Remove(dir))
}

func makeFIFO(path string) (w, r *End, err error) {
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return nil, nil, &fs.PathError{Op: "mkfifo", Path: path, Err: err}
	}
	// The reader is opened first, without waiting. Then the writer finds a reader and succeeds.
	const flags = unix.O_NONBLOCK | unix.O_CLOEXEC
	read, err := unix.Open(path, flags|unix.O_RDONLY, 0)
	if err != nil {
		return nil, nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	r = newEnd(FIFO, reads, descriptor{fd: read})
	write, err := unix.Open(path, flags|unix.O_WRONLY, 0)
	if err != nil {
		return nil, r, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	w = newEnd(FIFO, writes, descriptor{fd: write})
	return w, r, nil
}

// typeName names the type of a file, from its mode in stat(2).
func typeName(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFIFO:
		return "a FIFO"
	case unix.S_IFSOCK:
		return "a socket"
	case unix.S_IFREG:
		return "a regular file"
	case unix.S_IFDIR:
		return "a directory"
	case unix.S_IFCHR:
		return "a character device"
	case unix.S_IFBLK:
		return "a block device"
	}
	return "a file of unknown type"
}

// fileType is the file type that stat(2) reports for an end of the kind.
func (k Kind) fileType() uint32 {
	switch k {
	case SocketPair:
		return unix.S_IFSOCK
	case PTY:
		return unix.S_IFCHR
	}
	return unix.S_IFIFO
}

// firstExtra is the descriptor number that the first file of exec.Cmd.ExtraFiles has in the child.
const firstExtra = 3

// passTo gives the child a duplicate of the end, and returns the number of the descriptor in the
// child.
func (e *End) passTo(cmd *exec.Cmd) (uint64, error) {
	file, err := e.duplicate()
	if err != nil {
		return 0, err
	}
	e.duplicates = append(e.duplicates, file)
	number := firstExtra + len(cmd.ExtraFiles)
	cmd.ExtraFiles = append(cmd.ExtraFiles, file)
	return uint64(number), nil
}

// duplicate returns a duplicate of the end as a file, which keeps the end's blocking mode.
func (e *End) duplicate() (*os.File, error) {
	const atLeast = 3 // not the number of a standard stream that is closed
	fd, err := unix.FcntlInt(uintptr(e.fd), unix.F_DUPFD_CLOEXEC, atLeast)
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	return os.NewFile(uintptr(fd), e.kind.noun()), nil
}

// takeUp makes an end from a descriptor that this process inherited from its parent.
func takeUp(number uint64, kind Kind, dir direction) (*End, error) {
	fd := int(number)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, os.NewSyscallError("fstat", err)
	}
	mode := uint32(st.Mode)
	if mode&unix.S_IFMT != kind.fileType() {
		return nil, fmt.Errorf("descriptor %d is %s", fd, typeName(mode))
	}
	unix.CloseOnExec(fd)
	return newEnd(kind, dir, descriptor{fd: fd}), nil
}

// A Stream describes an open file, such as a standard stream.
type Stream struct {
	Kind        string // "pipe", "socket", or what else the system calls the file
	Capacity    int    // bytes, if the kernel states it; else 0
	NonBlocking bool   // O_NONBLOCK is set; all duplicates of the file share this
}

// Describe tells what an open file is and changes nothing about it.
func Describe(f *os.File) (s Stream, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return s, err
	}
	failed := conn.Control(func(fd uintptr) { s, err = describe(int(fd)) })
	return s, errors.Join(failed, err)
}

func describe(fd int) (Stream, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Stream{}, os.NewSyscallError("fstat", err)
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return Stream{}, os.NewSyscallError("F_GETFL", err)
	}
	mode := uint32(st.Mode)
	s := Stream{Kind: typeName(mode), NonBlocking: flags&unix.O_NONBLOCK != 0}
	switch mode & unix.S_IFMT {
	case unix.S_IFIFO:
		s.Kind = "pipe"
		if runtime.GOOS == "linux" { // other systems do not state it
			s.Capacity, err = pipeCapacity(Anonymous, fd)
		}
	case unix.S_IFSOCK:
		s.Kind = "socket"
	}
	return s, err
}

// capacity returns the capacity of the end's pipe. For a socket pair or a terminal, it fills a new
// one and counts the bytes, because the system does not state a usable number.
func (e *End) capacity() (int, error) {
	if e.kind.IsPipe() {
		return pipeCapacity(e.kind, e.fd)
	}
	w, r, err := open(e.kind, 0)
	if err != nil {
		return 0, err
	}
	if e.kind == SocketPair {
		for _, option := range []int{unix.SO_SNDBUF, unix.SO_RCVBUF} {
			if err := copyOption(e.fd, [2]int{w.fd, r.fd}, option); err != nil {
				return 0, errors.Join(err, w.Close(), r.Close())
			}
		}
	}
	return fillAndClose(w, r)
}

func (e *End) setCapacity(n int) error {
	if e.kind == PTY {
		return &CapacityError{Kind: e.kind, Asked: n, Err: unsupported("changing it")}
	}
	if e.kind != SocketPair {
		return setPipeCapacity(e.kind, e.fd, n)
	}
	if n > math.MaxInt32 { // setsockopt would mistake it for a smaller number
		return &CapacityError{Kind: e.kind, Asked: n, Err: unix.EINVAL, Where: "at most 2 GiB"}
	}
	for _, option := range []int{unix.SO_SNDBUF, unix.SO_RCVBUF} {
		if err := unix.SetsockoptInt(e.fd, unix.SOL_SOCKET, option, n); err != nil {
			err = os.NewSyscallError("setsockopt", err)
			return &CapacityError{Kind: e.kind, Asked: n, Err: err, Where: socketLimit}
		}
	}
	return nil
}

func copyOption(from int, to [2]int, option int) error {
	n, err := unix.GetsockoptInt(from, unix.SOL_SOCKET, option)
	if err != nil {
		return os.NewSyscallError("getsockopt", err)
	}
	for _, fd := range to {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, n/socketBufferScale); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	return nil
}

// fillAndClose counts the bytes that w accepts in large writes, and closes both ends.
func fillAndClose(w, r *End) (total int, err error) {
	defer func() { err = errors.Join(err, w.Close(), r.Close()) }()
	if err := unix.SetNonblock(w.fd, true); err != nil {
		return 0, os.NewSyscallError("fcntl", err)
	}
	chunk := make([]byte, 1<<20)
	for {
		n, errno := w.sysWrite(chunk)
		switch errno {
		case 0:
			total += n
		case syscall.EINTR:
		case syscall.EAGAIN, syscall.ENOBUFS: // FreeBSD's sockets may say ENOBUFS
			return total, nil
		default:
			return total, os.NewSyscallError("write", errno)
		}
	}
}
