//go:build linux || darwin || freebsd

package syspipe

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

var supportedIOs = []IO{Blocking, Poller, Poll, Spin, {name: "sleep"}}

// descriptor is what an end consists of on Unix.
type descriptor struct {
	fd     int
	stream stream // nil where read(2) and write(2) of the descriptor do all

	file       *os.File // owner of fd once Go's poller has it
	conn       syscall.RawConn
	polledRead polledRead
	gather     gather

	null   *os.File // where Discard drops bytes, once it was used
	nullFD int
}

// A polledRead is what Go's poller calls until it is done. It is kept in the end so that a call
// allocates nothing.
type polledRead struct {
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
	interrupt()
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
	e.polledRead.try, e.gather.try = e.tryRead, e.tryWritev
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
	n, err := e.writev([][]byte{p})
	return int(n), err
}

// maxIovecs is IOV_MAX, the same on Linux, macOS and FreeBSD.
const maxIovecs = 1024

// A gather is what is left of the buffers of one write. The vectors point into the caller's buffers
// only while the call lasts.
type gather struct {
	try   func(fd uintptr) bool
	vecs  []syscall.Iovec // what is left to write
	store []syscall.Iovec // the memory behind vecs, kept between calls
	most  int             // vectors in one call
	n     int64
	left  int64
	errno syscall.Errno
}

func (e *End) writev(bufs [][]byte) (int64, error) {
	g := &e.gather
	g.load(bufs)
	if g.most = maxIovecs; e.stream != nil && !e.stream.gathers(e, g.left) {
		g.most = 1
	}
	var err error
	if e.file != nil {
		err = e.conn.Write(g.try)
	}
	for e.file == nil && err == nil && !e.tryWritev(0) {
		err = e.wait(writes)
	}
	all := g.left == 0
	clear(g.store)
	return g.n, e.writeResult(g.n, all, g.errno, err)
}

func (g *gather) load(bufs [][]byte) {
	g.n, g.left, g.errno = 0, 0, 0
	g.store = g.store[:0]
	for _, b := range bufs {
		if len(b) == 0 {
			continue
		}
		v := syscall.Iovec{Base: &b[0]}
		v.SetLen(len(b))
		g.store = append(g.store, v)
		g.left += int64(len(b))
	}
	g.vecs = g.store
}

// tryWritev writes until everything is accepted or a call fails; it reports false where the call
// was refused for now.
func (e *End) tryWritev(uintptr) bool {
	g := &e.gather
	for g.left > 0 {
		vecs, offered := g.vecs[:min(len(g.vecs), g.most)], 0
		for _, v := range vecs {
			offered += int(v.Len)
		}
		n, errno := e.sysWritev(vecs)
		switch g.errno = e.out.account(offered, n, errno); g.errno {
		case 0:
			g.advance(n)
		case syscall.EINTR:
		default:
			return g.errno != syscall.EAGAIN
		}
	}
	return true
}

// sysWritev hands a single buffer to write(2), which is faster and all that some streams have.
func (e *End) sysWritev(vecs []syscall.Iovec) (int, syscall.Errno) {
	if len(vecs) == 1 {
		return e.sysWrite(unsafe.Slice(vecs[0].Base, vecs[0].Len))
	}
	return sysWritev(e.fd, vecs)
}

// advance drops the first n bytes of what is left.
func (g *gather) advance(n int) {
	g.n += int64(n)
	g.left -= int64(n)
	for n > 0 {
		v := &g.vecs[0]
		if size := int(v.Len); n >= size {
			n -= size
			g.vecs = g.vecs[1:]
			continue
		}
		v.Base = (*byte)(unsafe.Add(unsafe.Pointer(v.Base), n))
		v.SetLen(int(v.Len) - n)
		return
	}
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
			go func() { e.awaitIdle(func() {}); e.release() }()
			return fmt.Errorf("interrupt the call under way: %w", err)
		}
		e.awaitIdle(func() {})
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
		m.interrupt()
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
