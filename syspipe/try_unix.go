//go:build linux || darwin || freebsd

package syspipe

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

func (e *End) onceWrite(p []byte) (int, error) {
	n, errno := sysWrite(e.fd, p)
	errno = e.out.account(len(p), n, errno)
	if errno != 0 {
		return 0, e.writeResult(0, false, errno, nil)
	}
	return n, nil
}

func (e *End) onceRead(p []byte) (int, error) {
	n, errno := sysRead(e.fd, p)
	errno = e.in.account(len(p), n, errno)
	switch {
	case errno != 0:
		return 0, e.failed("read", errno)
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}

func (e *End) pollNow(write bool) (bool, error) {
	events := int16(unix.POLLIN)
	if write {
		events = unix.POLLOUT
	}
	fds := []unix.PollFd{{Fd: int32(e.fd), Events: events}}
	for {
		n, err := unix.Poll(fds, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return n > 0 && (fds[0].Revents&events != 0 || !write), os.NewSyscallError("poll", err)
	}
}

// A Stream is what a file is when it serves as a standard stream.
type Stream struct {
	Kind        string `json:"kind"`         // "pipe", "socket", or what else fstat(2) calls it
	NonBlocking bool   `json:"non_blocking"` // whether O_NONBLOCK is set on the description, which all who share it share
	Capacity    int    `json:"capacity"`     // bytes, where the kernel states it; else 0
}

// Describe tells what an open file is, and changes nothing about it.
func Describe(f *os.File) (Stream, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return Stream{}, err
	}
	var s Stream
	var failed error
	err = conn.Control(func(fd uintptr) { s, failed = describe(int(fd)) })
	return s, errors.Join(err, failed)
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
	s := Stream{NonBlocking: flags&unix.O_NONBLOCK != 0}
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFIFO:
		s.Kind, s.Capacity = "pipe", statedCapacity(fd)
	case unix.S_IFSOCK:
		s.Kind = "socket"
	default:
		s.Kind = fileType(uint32(st.Mode))
	}
	return s, nil
}
