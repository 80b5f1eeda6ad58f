//go:build linux || darwin || freebsd

package syspipe

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

var supportedIOs = []IO{Blocking, Poller, Poll, Spin, {name: "sleep"}}

// descriptor is what an end consists of on Unix.
type descriptor struct {
	fd     int
	stream stream // nil where read(2) and write(2) of the descriptor do all

	file        *os.File // owner of fd once Go's poller has it
	conn        syscall.RawConn
	polledRead  polledCall
	polledWrite polledCall
	gather      gather

	null   *os.File // where Discard drops bytes, once it was used
	nullFD int
}

// A polledCall is what Go's poller calls until it is done. It is kept in the end so that a call
// allocates nothing.
type polledCall struct {
	try   func(fd uintptr) bool
	buf   []byte
	n     int
	errno syscall.Errno
}

// A stream is how a kind moves bytes by other means than a pipe's. The calls count and wait as those of
// the descriptor do.
type stream interface {
	read(e *End, p []byte) (int, syscall.Errno)
	write(e *End, p []byte) (int, syscall.Errno)
	// gathers tells whether writev(2) of the descriptor takes so many bytes.
	gathers(e *End, bytes int64) bool
}

// A mapped stream keeps its bytes in memory of the two processes, of which the kernel knows nothing.
type mapped interface {
	stream
	capacity() int
	buffered() int
	interrupt(e *End)
	close(e *End) error
}

func newEnd(kind Kind, dir direction, fd int) *End {
	prepareFlags()
	return &End{kind: kind, dir: dir, descriptor: descriptor{fd: fd, stream: newStream(kind)}}
}

func (e *End) sysRead(p []byte) (int, syscall.Errno) {
	if e.stream != nil {
		return e.stream.read(e, p)
	}
	return sysRead(e.fd, p)
}

func (e *End) sysWrite(p []byte) (int, syscall.Errno) {
	if e.stream != nil {
		return e.stream.write(e, p)
	}
	return sysWrite(e.fd, p)
}

// offer returns how much of p to write in one call: all.
func (e *End) offer(p []byte) []byte { return p }

func (e *End) setIO(want IO) error {
	if _, ok := e.stream.(mapped); ok {
		if want == Poller || want == Poll {
			return unsupported(fmt.Sprintf("io %s of a %s", want, e.kind.noun()))
		}
		return nil // it looks at the end's io itself
	}
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
	e.file, e.conn = file, conn
	e.polledRead.try, e.polledWrite.try = e.tryRead, e.tryWrite
	e.gather.try = e.tryWritev
	return nil
}

// seen tells which counters are: the wait of a blocking call is the kernel's own.
func (e *End) seen() (eagain, waits bool) { return true, e.io != Blocking }

func (e *End) readPolled(p []byte) (int, error) {
	e.polledRead.buf = p
	err := e.conn.Read(e.polledRead.try)
	e.polledRead.buf = nil
	return e.readResult(e.polledRead.n, e.polledRead.errno, err)
}

// tryRead makes a call for Go's poller, which repeats it until it reports true.
func (e *End) tryRead(uintptr) bool {
	for {
		n, errno := e.sysRead(e.polledRead.buf)
		errno = e.in.account(len(e.polledRead.buf), n, errno)
		if errno != syscall.EINTR {
			e.polledRead.n, e.polledRead.errno = n, errno
			return errno != syscall.EAGAIN
		}
	}
}

func (e *End) writePolled(p []byte) (int, error) {
	e.polledWrite.buf, e.polledWrite.n, e.polledWrite.errno = p, 0, 0
	err := e.conn.Write(e.polledWrite.try)
	e.polledWrite.buf = nil
	n := e.polledWrite.n
	return n, e.writeResult(int64(n), n == len(p), e.polledWrite.errno, err)
}

// tryWrite makes the calls of a write for Go's poller, which repeats it until it reports true.
func (e *End) tryWrite(uintptr) bool {
	for e.polledWrite.n < len(e.polledWrite.buf) {
		rest := e.polledWrite.buf[e.polledWrite.n:]
		n, errno := e.sysWrite(rest)
		switch errno = e.out.account(len(rest), n, errno); errno {
		case 0:
			e.polledWrite.n += n
		case syscall.EINTR:
		default:
			e.polledWrite.errno = errno
			return errno != syscall.EAGAIN
		}
	}
	return true
}

// readerGone is what a write says without a reader, beside EPIPE: that of a socket left bytes unread.
var readerGone = []error{syscall.ECONNRESET}

// pollSlice bounds one poll(2), so that a Close is seen where nothing can interrupt the call
// (macOS), and that the other end of a FIFO has left, which XNU's poll does not report.
const pollSlice = 100 * time.Millisecond

func (e *End) poll(toward direction) error {
	events := int16(unix.POLLIN)
	if toward == writes {
		events = unix.POLLOUT
	}
	for !e.closed.Load() {
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
			// The call goes on until the other end lets it, and the number is its own for so long.
			go func() { e.awaitIdle(); e.release() }()
			return fmt.Errorf("interrupt the call under way: %w", err)
		}
		e.awaitIdle()
	}
	return e.release()
}

func (e *End) release() error {
	if m, ok := e.stream.(mapped); ok {
		return m.close(e)
	}
	err := os.NewSyscallError("close", unix.Close(e.fd))
	if e.null != nil {
		err = errors.Join(err, e.null.Close())
	}
	return err
}

// interrupt ends the calls under way. It first puts a pipe that nobody writes to under the end's
// number, so that a call which comes too late for the wake-up, or is restarted after it, meets an
// end of file or EBADF instead of blocking.
func (e *End) interrupt() error {
	if e.io == Spin || e.io.pause > 0 {
		return nil // they look by themselves
	}
	if m, ok := e.stream.(mapped); ok {
		m.interrupt(e)
		return nil
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
	if m, ok := e.stream.(mapped); ok {
		return m.buffered() < m.capacity(), nil
	}
	fds := []unix.PollFd{{Fd: int32(e.fd), Events: unix.POLLOUT}}
	for {
		n, err := unix.Poll(fds, 0)
		if err != unix.EINTR {
			return n > 0 && fds[0].Revents&unix.POLLOUT != 0, os.NewSyscallError("poll", err)
		}
	}
}

// HungUp reports whether nobody can write to a stream any more, though there may be more to read;
// false where it is no descriptor.
func HungUp(stream any) (gone bool) {
	f, ok := stream.(syscall.Conn)
	if !ok {
		return false
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	err = conn.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd)}} // an end is reported without being asked for
		n, err := unix.Poll(fds, 0)
		gone = err == nil && n > 0 && fds[0].Revents&unix.POLLHUP != 0
	})
	return gone && err == nil
}

// CountSIGPIPE begins to count the SIGPIPEs that this process gets. The function that it returns
// tells how many came since its last call, those that came at the same time as one, as the system
// has it; nil where there is no such signal. One goroutine may call it.
//
// It waits until every signal sent so far was delivered: Go hands pending signals on in the order of
// their numbers, and the mark that it sends itself, SIGWINCH, has a higher one.
func CountSIGPIPE() func() *int {
	pipes, marks := make(chan os.Signal, 16), make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	signal.Notify(marks, syscall.SIGWINCH)
	return func() *int {
		if syscall.Kill(os.Getpid(), syscall.SIGWINCH) == nil {
			<-marks
		}
		n := len(pipes)
		for range n {
			<-pipes
		}
		return &n
	}
}

var started = time.Now()

// Now returns the time since a moment that is the same for all of the process, by the finest clock
// of the system that never goes back. It costs no system call.
func Now() time.Duration { return time.Since(started) }
