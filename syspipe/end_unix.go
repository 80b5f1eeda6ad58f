//go:build linux || darwin || freebsd

package syspipe

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

var supportedModes = []mode{modeBlocking, modePoller, modePoll, modeSpin, modeSleep}

// descriptor is what an end consists of on Unix.
type descriptor struct {
	fd     int
	passed []*os.File // duplicates for children, closed with the end

	file   *os.File // owner of fd once Go's poller has it
	conn   syscall.RawConn
	pull   transfer
	push   transfer
	gather gather
}

// A transfer is what Go's poller calls until it is done. It is kept in the end so that a call allocates nothing.
type transfer struct {
	try   func(fd uintptr) bool
	buf   []byte
	n     int
	errno syscall.Errno
}

func newEnd(kind Kind, dir direction, fd int) *End {
	return &End{kind: kind, dir: dir, descriptor: descriptor{fd: fd}}
}

func (e *End) setIO(want IO) error {
	if e.file != nil {
		if want == Poller {
			return nil
		}
		return errors.New("the end is with Go's poller already, and stays there")
	}
	if err := unix.SetNonblock(e.fd, want != Blocking); err != nil {
		return err
	}
	if want == Poller {
		return e.register()
	}
	return nil
}

// register hands the descriptor to Go's poller.
func (e *End) register() error {
	if err := pollable(e.kind); err != nil {
		return err
	}
	file := os.NewFile(uintptr(e.fd), e.kind.noun())
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	e.file, e.conn = file, conn
	e.pull.try, e.push.try = e.tryRead, e.tryWrite
	e.gather.try = e.tryWritev
	return nil
}

func (e *End) seen() Fields {
	if e.io == Blocking {
		return allFields &^ (FieldWaits | FieldWaitTime) // such a wait is the kernel's own
	}
	return allFields
}

func (e *End) read(p []byte) (int, error) {
	n, errno, err := e.readWaiting(p)
	switch {
	case n > 0:
		return n, nil
	case e.isClosed():
		return 0, e.closedError("read")
	case err != nil:
		return 0, e.failed("read", err)
	case errno != 0:
		return 0, e.failed("read", errno)
	}
	return 0, io.EOF
}

// readWaiting makes read calls until one is not refused. The errno is the kernel's, the error the waiting's.
func (e *End) readWaiting(p []byte) (n int, errno syscall.Errno, err error) {
	if e.file != nil {
		e.pull.buf = p
		err = e.conn.Read(e.pull.try)
		e.pull.buf = nil
		return e.pull.n, e.pull.errno, err
	}
	for {
		n, errno = e.readOnce(p)
		if errno != syscall.EAGAIN {
			return n, errno, nil
		}
		if err = e.wait(unix.POLLIN); err != nil {
			return 0, 0, err
		}
	}
}

func (e *End) tryRead(uintptr) bool {
	e.pull.n, e.pull.errno = e.readOnce(e.pull.buf)
	return e.pull.errno != syscall.EAGAIN
}

func (e *End) readOnce(p []byte) (int, syscall.Errno) {
	for {
		n, errno := sysRead(e.fd, p)
		switch errno {
		case 0:
			e.in.moved(len(p), n)
			return n, 0
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			e.in.refused()
			return 0, errno
		}
		e.in.moved(len(p), 0)
		return 0, errno
	}
}

func (e *End) write(p []byte) (int, error) {
	n, errno, err := e.writeWaiting(p)
	return n, e.writeResult(int64(n), n == len(p), errno, err)
}

func (e *End) writeResult(n int64, all bool, errno syscall.Errno, err error) error {
	switch {
	case all:
		return nil
	case e.isClosed():
		return e.closedError("write")
	case err != nil:
		return e.failed("write", err)
	case errno == syscall.EPIPE:
		return &BrokenPipeError{Kind: e.kind, Accepted: n, Err: errno}
	}
	return e.failed("write", errno)
}

// writeWaiting makes write calls until all of p is accepted or one fails.
func (e *End) writeWaiting(p []byte) (n int, errno syscall.Errno, err error) {
	if e.file != nil {
		e.push.buf, e.push.n, e.push.errno = p, 0, 0
		err = e.conn.Write(e.push.try)
		e.push.buf = nil
		return e.push.n, e.push.errno, err
	}
	for {
		var k int
		k, errno = e.writeUntilRefused(p[n:])
		n += k
		if errno != syscall.EAGAIN {
			return n, errno, nil
		}
		if err = e.wait(unix.POLLOUT); err != nil {
			return n, 0, err
		}
	}
}

func (e *End) tryWrite(uintptr) bool {
	n, errno := e.writeUntilRefused(e.push.buf[e.push.n:])
	e.push.n += n
	e.push.errno = errno
	return errno != syscall.EAGAIN
}

func (e *End) writeUntilRefused(p []byte) (n int, errno syscall.Errno) {
	for n < len(p) {
		k, errno := sysWrite(e.fd, p[n:])
		if errno == 0 {
			e.out.moved(len(p)-n, k)
			n += k
			continue
		}
		if errno = e.writeFailed(errno); errno != 0 {
			return n, errno
		}
	}
	return n, 0
}

// writeFailed counts a call that did not write; it returns 0 where the call is to be made again at once.
func (e *End) writeFailed(errno syscall.Errno) syscall.Errno {
	switch errno {
	case syscall.EINTR:
		if e.isClosed() {
			return errno
		}
		return 0
	case syscall.EAGAIN:
		e.out.refused()
	default:
		e.out.moved(0, 0)
	}
	return errno
}

// wait lets time pass after a refusal, in the manner of the end's io.
func (e *End) wait(events int16) error {
	switch e.io.mode {
	case modePoll:
		if err := e.poll(events); err != nil {
			return err
		}
	case modeSleep:
		time.Sleep(e.io.pause)
	}
	if e.isClosed() {
		return os.ErrClosed
	}
	return nil
}

// pollSlice bounds one poll(2), so that a Close is seen where nothing can interrupt the call (macOS).
const pollSlice = 100 * time.Millisecond

func (e *End) poll(events int16) error {
	for !e.isClosed() {
		fds := [1]unix.PollFd{{Fd: int32(e.fd), Events: events}}
		n, err := unix.Poll(fds[:], int(pollSlice/time.Millisecond))
		if n > 0 {
			return nil
		}
		if err != nil && err != unix.EINTR {
			return os.NewSyscallError("poll", err)
		}
	}
	return os.ErrClosed
}

// interrupt ends the calls under way. It first puts a pipe that nobody writes to under the end's number, so that a call which comes too late
// for the wake-up, or is restarted after it, meets an end of file or EBADF instead of blocking.
func (e *End) interrupt(busy bool) error {
	if e.file != nil {
		return e.file.Close()
	}
	if !busy || e.io.mode == modeSpin || e.io.mode == modeSleep {
		return nil
	}
	dead, err := deadPipe()
	if err != nil {
		return err
	}
	defer unix.Close(dead)
	if err := replace(dead, e.fd); err != nil {
		return err
	}
	return wakeThreads()
}

// deadPipe returns the reading end of a pipe whose writing end is closed.
func deadPipe() (int, error) {
	var fds [2]int
	if err := pipe(&fds); err != nil {
		return -1, err
	}
	return fds[0], os.NewSyscallError("close", unix.Close(fds[1]))
}

func (e *End) release() error {
	if e.file != nil {
		return nil // the file closed it
	}
	return os.NewSyscallError("close", unix.Close(e.fd))
}

func (e *End) dropPassed() error {
	var errs []error
	for _, f := range e.passed {
		errs = append(errs, f.Close())
	}
	e.passed = nil
	return errors.Join(errs...)
}
