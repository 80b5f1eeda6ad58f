//go:build unix

package tap

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// A descriptor is read and written by system calls that wait in the kernel. Go's poller would cost each message two thread switches, and the
// mode of an inherited descriptor is not ours to change: others may share it. One that is non-blocking is waited for by poll(2).
//
// The file keeps the number from being used for another; it is closed once, by whoever of both sides ends first.
type descriptor struct {
	file *os.File
	fd   int
}

func open(f *os.File) (stream, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	d := &descriptor{file: f}
	return d, raw.Control(func(fd uintptr) { d.fd = int(fd) })
}

func (d *descriptor) read(p []byte) (int, error) {
	for {
		n, err := syscall.Read(d.fd, p)
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			if err := d.wait(unix.POLLIN); err != nil {
				return 0, err
			}
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

func (d *descriptor) writeAll(p []byte) error {
	for len(p) > 0 {
		n, err := syscall.Write(d.fd, p)
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			if err := d.wait(unix.POLLOUT); err != nil {
				return err
			}
		case err != nil:
			return err
		default:
			p = p[n:]
		}
	}
	return nil
}

func (d *descriptor) wait(events int16) error {
	fds := []unix.PollFd{{Fd: int32(d.fd), Events: events}}
	for {
		if _, err := unix.Poll(fds, -1); err != unix.EINTR {
			return err
		}
	}
}

func (d *descriptor) close() { d.file.Close() }
