//go:build linux || darwin || freebsd

package syspipe

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

var supportedIOs = []IO{Blocking, Poller, Poll, Spin}

// pollerSubstitute is how an end waits if Go's poller cannot watch it: by pauses of 1 ms. [Poll]
// could not watch the end either, and with [Blocking], Close could not interrupt a read.
const pollerSubstitute = IO(time.Millisecond)

// descriptor is what an end consists of on Unix.
type descriptor struct {
	fd int

	file       *os.File        // owner of fd if Go's poller has it, else nil
	conn       syscall.RawConn // of file
	polledRead polledRead
	gather     gather
}

// A polledRead is the state of a read through Go's poller. Each End keeps one, so that reads
// allocate nothing.
type polledRead struct {
	try   func(fd uintptr) bool // readOnce, for Go's poller
	buf   []byte                // the caller's
	n     int                   // result of the last call
	errno syscall.Errno         // of the last call
}

func (e *End) sysRead(p []byte) (int, syscall.Errno) {
	n, errno := sysRead(e.fd, p)
	if errno == syscall.EIO {
		return e.readAgain(p)
	}
	return n, errno
}

// readAgain reads once more after EIO, the error by which a terminal reports the end of file. In
// rare cases there are still bytes to read, as after 3 of 120,000 writers that wrote and then left
// at once.
func (e *End) readAgain(p []byte) (int, syscall.Errno) {
	n, errno := sysRead(e.fd, p)
	if errno == syscall.EIO && e.kind == PTY {
		return 0, 0
	}
	return n, errno
}

func (e *End) sysWrite(p []byte) (int, syscall.Errno) {
	n, errno := sysWrite(e.fd, p)
	if errno == syscall.EIO && e.kind == PTY {
		return 0, syscall.EPIPE // this is how a terminal says that the other side has left
	}
	return n, errno
}

// offer returns how much of p to write in one call. On Unix this is all of p.
func (e *End) offer(p []byte) []byte { return p }

func (e *End) setIO(want IO) error {
	if want == Poller {
		if err := pollable(e); err != nil {
			return err
		}
	}
	if err := unix.SetNonblock(e.fd, want != Blocking); err != nil || want != Poller {
		return err
	}
	file := os.NewFile(uintptr(e.fd), e.kind.noun())
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	e.file = file
	e.conn = conn
	e.polledRead.try = e.readOnce
	e.gather.try = e.tryWritev
	return nil
}

// countersSeen reports whether refusals and waits are counted. If calls block, they wait inside the
// kernel, where the waits cannot be counted.
func (e *End) countersSeen() (eagain, waits bool) { return true, e.io != Blocking }

func (e *End) readPolled(p []byte) (int, error) {
	r := &e.polledRead
	r.buf = p
	err := e.conn.Read(r.try)
	r.buf = nil
	if err != nil {
		return 0, e.readFailed(err)
	}
	return e.readDone(r.n, r.errno)
}

// readOnce reads for Go's poller. If readOnce returns false, the poller waits and calls it again.
func (e *End) readOnce(uintptr) bool {
	r := &e.polledRead
	for {
		n, errno := e.sysRead(r.buf)
		e.in.account(len(r.buf), n, errno)
		if errno == syscall.EINTR {
			continue
		}
		r.n = n
		r.errno = errno
		return errno != syscall.EAGAIN
	}
}

func (e *End) writePolled(p []byte) (int, error) {
	n, err := e.writev([][]byte{p})
	return int(n), err
}

// readerGone lists the errors, besides EPIPE, that a write returns after the reader has left.
// ECONNRESET comes from a socket whose reader left bytes unread.
var readerGone = []error{syscall.ECONNRESET}

// pollTimeout is how long a call of poll(2) waits at most. On macOS, nothing can interrupt the
// call, and the call does not report that the other end of a FIFO has left.
const pollTimeout = 100 * time.Millisecond

// poll waits in poll(2) until the end is ready: for a write if toward is writes, else for a read.
func (e *End) poll(toward direction) error {
	events := int16(unix.POLLIN)
	if toward == writes {
		events = unix.POLLOUT
	}
	for e.open.Load() {
		fds := [1]unix.PollFd{{Fd: int32(e.fd), Events: events}}
		n, err := unix.Poll(fds[:], int(pollTimeout/time.Millisecond))
		timeout := n == 0 && err == nil
		if n > 0 || timeout && e.kind == FIFO {
			return nil
		}
		if err != nil && err != unix.EINTR {
			return os.NewSyscallError("poll", err)
		}
	}
	return os.ErrClosed
}

func (e *End) closeDescriptor() error {
	if e.file != nil {
		return e.file.Close()
	}
	if e.busy() {
		if err := e.interrupt(); err != nil {
			// The calls go on until the other end acts. Until then e.fd must stay open, so that no
			// new file gets the same number.
			go func() {
				awaitNone(&e.calls)
				unix.Close(e.fd)
			}()
			return fmt.Errorf("interrupt the call under way: %w", err)
		}
		awaitNone(&e.calls)
	}
	return os.NewSyscallError("close", unix.Close(e.fd))
}

// interrupt ends the reads and writes under way. It replaces e.fd by the reading end of a pipe
// without a writer, where no call blocks, and wakes the threads that wait.
func (e *End) interrupt() error {
	if e.io == Spin || e.io.Pause() > 0 {
		return nil // each read or write looks between its tries whether the end is open
	}
	var fds [2]int
	if err := pipe(&fds); err != nil {
		return err
	}
	idle, writer := fds[0], fds[1]
	defer unix.Close(idle)
	if err := unix.Close(writer); err != nil {
		return os.NewSyscallError("close", err)
	}
	if err := replace(idle, e.fd); err != nil {
		return err
	}
	return wakeThreads()
}

func (e *End) writable() (bool, error) {
	fds := []unix.PollFd{{Fd: int32(e.fd), Events: unix.POLLOUT}}
	for {
		n, err := unix.Poll(fds, 0 /* no wait */)
		if err != unix.EINTR {
			can := n > 0 && fds[0].Revents&unix.POLLOUT != 0
			return can, os.NewSyscallError("poll", err)
		}
	}
}

// HungUp reports whether nobody can write to a stream any more. There may still be bytes to read.
// It is false for a stream without a descriptor.
func HungUp(stream any) bool {
	f, ok := stream.(syscall.Conn)
	if !ok {
		return false
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	gone := false
	err = conn.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd)}} // POLLHUP and POLLERR are always reported
		n, err := unix.Poll(fds, 0 /* no wait */)
		gone = err == nil && n > 0 && fds[0].Revents&unix.POLLHUP != 0
	})
	return gone && err == nil
}

var started = time.Now()

// Now returns the time since this process started, by the finest clock of the system that never
// goes back. It costs no system call.
func Now() time.Duration { return time.Since(started) }
