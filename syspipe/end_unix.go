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

// besidePoller is how an end waits if Go's poller cannot watch it: with a pause of 1 ms between
// tries. A read that waited in the kernel could not be ended by Close, and poll(2) cannot watch
// such an end either.
const besidePoller = IO(time.Millisecond)

// descriptor is what an end consists of on Unix.
type descriptor struct {
	fd int

	file       *os.File // owner of fd once Go's poller has it
	conn       syscall.RawConn
	polledRead polledRead
	gather     gather
}

// A polledRead is what Go's poller calls until it is done. Each End has one, so that a call
// allocates nothing.
type polledRead struct {
	try   func(fd uintptr) bool
	buf   []byte
	n     int
	errno syscall.Errno
}

func (e *End) sysRead(p []byte) (int, syscall.Errno) {
	n, errno := sysRead(e.fd, p)
	if errno == syscall.EIO {
		return e.readAgain(p)
	}
	return n, errno
}

// readAgain reads once more after EIO, a terminal's end of file. The kernel looks first for bytes
// and then for a writer (n_tty_read), so bytes written between the two are still to come. This
// happened to three of 120,000 writers that wrote and left at once on a loaded machine. Both calls
// count as one.
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

// offer returns how much of p to write in one call: all.
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
	e.polledRead.try = e.tryRead
	e.gather.try = e.tryWritev
	return nil
}

// seen reports which counters are known. The waits of a blocking call are not: they happen inside
// the kernel.
func (e *End) seen() (eagain, waits bool) { return true, e.io != Blocking }

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

// tryRead makes a call for Go's poller, which repeats it until it reports true.
func (e *End) tryRead(uintptr) bool {
	r := &e.polledRead
	for {
		n, errno := e.sysRead(r.buf)
		errno = e.in.account(len(r.buf), n, errno)
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

// readerGone are the errors, besides EPIPE, of a write without a reader. ECONNRESET comes from a
// socket whose reader left bytes unread.
var readerGone = []error{syscall.ECONNRESET}

// pollSlice is the longest time in one poll(2). After it the end looks whether it was closed, since
// nothing interrupts the call on macOS, and whether the other end of a FIFO has left, since XNU's
// poll does not report that.
const pollSlice = 100 * time.Millisecond

func (e *End) poll(toward direction) error {
	events := int16(unix.POLLIN)
	if toward == writes {
		events = unix.POLLOUT
	}
	for e.open.Load() {
		fds := [1]unix.PollFd{{Fd: int32(e.fd), Events: events}}
		n, err := unix.Poll(fds[:], int(pollSlice/time.Millisecond))
		if n > 0 || err == nil && e.kind == FIFO {
			return nil
		}
		if err != nil && err != unix.EINTR {
			return os.NewSyscallError("poll", err)
		}
	}
	return os.ErrClosed
}

// closeDescriptor closes the descriptor, and first ends the calls that use it.
func (e *End) closeDescriptor() error {
	if e.file != nil {
		return e.file.Close()
	}
	if e.busy() {
		if err := e.interrupt(); err != nil {
			// The call goes on until the other end acts; until then its descriptor must not be
			// reused.
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

// interrupt ends the calls under way. It first puts a pipe that nobody writes to under the end's
// number. A call that comes too late for the wake-up, or is restarted after it, then meets an end
// of file or EBADF and does not block.
func (e *End) interrupt() error {
	if e.io == Spin || e.io.Pause() > 0 {
		return nil // their loop looks whether the end is open
	}
	var fds [2]int
	if err := pipe(&fds); err != nil {
		return err
	}
	defer unix.Close(fds[0])
	if err := unix.Close(fds[1]); err != nil {
		return os.NewSyscallError("close", err)
	}
	if err := replace(fds[0], e.fd); err != nil {
		return err
	}
	return wakeThreads()
}

func (e *End) writable() (bool, error) {
	fds := []unix.PollFd{{Fd: int32(e.fd), Events: unix.POLLOUT}}
	for {
		n, err := unix.Poll(fds, 0)
		if err != unix.EINTR {
			can := n > 0 && fds[0].Revents&unix.POLLOUT != 0
			return can, os.NewSyscallError("poll", err)
		}
	}
}

// HungUp reports whether nobody can write to a stream any more, though there may be more to read.
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
		n, err := unix.Poll(fds, 0)
		gone = err == nil && n > 0 && fds[0].Revents&unix.POLLHUP != 0
	})
	return gone && err == nil
}

var started = time.Now()

// Now returns the time since a moment that is the same for all of the process, by the finest clock
// of the system that never goes back. It costs no system call.
func Now() time.Duration { return time.Since(started) }
