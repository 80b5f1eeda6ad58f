//go:build linux || darwin || freebsd

package syspipe

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

func open(kind Kind, capacity int) (w, r *End, err error) {
	var fds [2]int
	switch kind {
	case FIFO:
		w, r, err = inPrivate("fifo", openFIFO)
	case Unix, SeqPacket:
		w, r, err = inPrivate("socket", func(path string) (w, r *End, err error) { return connect(kind, path) })
	case PTY:
		w, r, err = openPTY()
	case Ring:
		w, r, err = openRing(capacity)
		capacity = 0 // which it has
	case SocketPair:
		if fds, err = socketPair(); err == nil {
			w, r = newEnd(SocketPair, duplex, fds[0]), newEnd(SocketPair, duplex, fds[1])
		}
	default:
		if err = pipe(&fds); err == nil {
			w, r = newEnd(Anonymous, writes, fds[1]), newEnd(Anonymous, reads, fds[0])
		}
	}
	if err == nil && capacity > 0 {
		err = w.setCapacity(capacity)
		if err == nil && kind.IsSocket() { // its capacity is the sender's buffer on Linux, the receiver's on the BSDs
			err = r.setCapacity(capacity)
		}
	}
	if err == nil {
		return w, r, nil
	}
	for _, end := range []*End{w, r} { // of what could not be opened whole
		if end != nil {
			err = errors.Join(err, end.Close())
		}
	}
	return nil, nil, err
}

// inPrivate opens both ends of what has a name in the file system, where nobody else can, and leaves
// nothing of it there. Like all that open is made of, it returns with an error the end that was opened
// before, for open to close.
func inPrivate(name string, open func(path string) (w, r *End, err error)) (w, r *End, err error) {
	dir, err := os.MkdirTemp("", "syspipe-"+name+"-")
	if err != nil {
		return nil, nil, err
	}
	path := filepath.Join(dir, name)
	w, r, err = open(path)
	// Not RemoveAll: that opens the folder, and there may be no descriptor left for it.
	left := os.Remove(path)
	if errors.Is(left, fs.ErrNotExist) {
		left = nil // it was never made, which err tells
	}
	if left = errors.Join(left, os.Remove(dir)); err == nil {
		err = left
	}
	return w, r, err
}

// connect makes a connection through a socket of that name.
func connect(kind Kind, path string) (w, r *End, err error) {
	sort := unix.SOCK_STREAM
	if kind == SeqPacket {
		sort = unix.SOCK_SEQPACKET
	}
	listener, err := socket(sort)
	if err != nil {
		return nil, nil, err
	}
	defer unix.Close(listener)
	address := &unix.SockaddrUnix{Name: path}
	if err := errors.Join(unix.Bind(listener, address), unix.Listen(listener, 1)); err != nil {
		return nil, nil, &fs.PathError{Op: "listen on", Path: path, Err: err}
	}
	write, err := socket(sort)
	if err != nil {
		return nil, nil, err
	}
	w = newEnd(kind, duplex, write)
	if err := unix.Connect(write, address); err != nil {
		return w, nil, &fs.PathError{Op: "connect to", Path: path, Err: err}
	}
	read, err := accept(listener)
	if err != nil {
		return w, nil, err
	}
	return w, newEnd(kind, duplex, read), nil
}

func openFIFO(path string) (w, r *End, err error) {
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return nil, nil, &fs.PathError{Op: "mkfifo", Path: path, Err: err}
	}
	// The reader comes first and does not wait: so the writer finds one and need not wait either.
	const flags = unix.O_NONBLOCK | unix.O_CLOEXEC
	read, err := unix.Open(path, flags|unix.O_RDONLY, 0)
	if err != nil {
		return nil, nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	r = newEnd(FIFO, reads, read)
	write, err := unix.Open(path, flags|unix.O_WRONLY, 0)
	if err != nil {
		return nil, r, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	w = newEnd(FIFO, writes, write)
	return w, r, errors.Join(w.SetIO(Blocking), r.SetIO(Blocking))
}

// fileTypes names the types of files by what a mode of stat(2) says of them.
var fileTypes = map[uint32]string{
	unix.S_IFIFO: "a FIFO", unix.S_IFSOCK: "a socket", unix.S_IFREG: "a regular file",
	unix.S_IFDIR: "a directory", unix.S_IFCHR: "a character device", unix.S_IFBLK: "a block device",
}

// kindTypes are the types of files that the kinds are.
var kindTypes = map[Kind]uint32{
	Anonymous: unix.S_IFIFO, FIFO: unix.S_IFIFO, SocketPair: unix.S_IFSOCK, Unix: unix.S_IFSOCK,
	SeqPacket: unix.S_IFSOCK, PTY: unix.S_IFCHR, Ring: unix.S_IFREG,
}

func fileType(mode uint32) string {
	return cmp.Or(fileTypes[mode&unix.S_IFMT], "a file of unknown type")
}

// firstExtra is the number that the first of exec.Cmd.ExtraFiles has in the child.
const firstExtra = 3

// passTo gives the child a duplicate and returns the number that it has there.
func (e *End) passTo(cmd *exec.Cmd) (uint64, error) {
	file, err := e.duplicate()
	if err != nil {
		return 0, err
	}
	e.duplicates = append(e.duplicates, file)
	cmd.ExtraFiles = append(cmd.ExtraFiles, file)
	return uint64(firstExtra + len(cmd.ExtraFiles) - 1), nil
}

// duplicate makes a file of the end. NewFile leaves the mode of the descriptor as it is, and so
// does the Fd by which os/exec fetches it.
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
	if mode := uint32(st.Mode); mode&unix.S_IFMT != kindTypes[kind] {
		return nil, fmt.Errorf("descriptor %d is %s", fd, fileType(mode))
	}
	unix.CloseOnExec(fd)
	if kind == Ring {
		return mapRing(fd, dir)
	}
	e := newEnd(kind, dir, fd)
	return e, e.SetIO(Blocking)
}

// Describe tells what an open file is, and changes nothing about it.
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
	s := Stream{Kind: fileType(uint32(st.Mode)), NonBlocking: flags&unix.O_NONBLOCK != 0}
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFIFO:
		s.Kind = "pipe"
		if runtime.GOOS == "linux" { // the others do not state it
			s.Capacity, err = pipeCapacity(Anonymous, fd)
		}
	case unix.S_IFSOCK:
		s.Kind = "socket"
	}
	return s, err
}

// capacity fills a fresh pair of sockets with the same buffers. The kernel charges its own
// bookkeeping to the buffer, so the bytes accepted say more than the option's value does. Of a
// terminal, too, only a trial tells.
func (e *End) capacity() (int, error) {
	if m, ok := e.stream.(mapped); ok {
		return m.capacity(), nil
	}
	if e.kind.IsPipe() {
		return pipeCapacity(e.kind, e.fd)
	}
	w, r, err := open(e.kind, 0)
	if err != nil {
		return 0, err
	}
	if e.kind.IsSocket() {
		for _, option := range []int{unix.SO_SNDBUF, unix.SO_RCVBUF} {
			if err := copyOption(e.fd, [2]int{w.fd, r.fd}, option); err != nil {
				return 0, errors.Join(err, w.Close(), r.Close())
			}
		}
	}
	return fillAndClose(w, r)
}

func (e *End) setCapacity(n int) error {
	if e.kind == PTY || e.kind == Ring {
		return &CapacityError{Kind: e.kind, Asked: n, Err: unsupported("changing it")}
	}
	if !e.kind.IsSocket() {
		return setPipeCapacity(e.kind, e.fd, n)
	}
	for _, option := range []int{unix.SO_SNDBUF, unix.SO_RCVBUF} {
		if err := unix.SetsockoptInt(e.fd, unix.SOL_SOCKET, option, n); err != nil {
			return &CapacityError{Kind: e.kind, Asked: n, Err: os.NewSyscallError("setsockopt", err), Where: socketLimit}
		}
	}
	if s, ok := e.stream.(interface{ resized() }); ok {
		s.resized()
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

// fillAndClose returns the bytes that w takes in large writes until it refuses.
func fillAndClose(w, r *End) (total int, err error) {
	defer func() { err = errors.Join(err, w.Close(), r.Close()) }()
	if err := unix.SetNonblock(w.fd, true); err != nil {
		return 0, os.NewSyscallError("fcntl", err)
	}
	for chunk := make([]byte, 1<<20); ; {
		n, errno := w.sysWrite(chunk)
		switch errno {
		case 0:
			total += n
		case syscall.EINTR:
		case syscall.EAGAIN, syscall.ENOBUFS: // the latter is how FreeBSD's sockets may put it
			return total, nil
		default:
			return total, os.NewSyscallError("write", errno)
		}
	}
}
