package syspipe

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Options say what [Open] makes. The zero Options make a pipe of the system's usual capacity, whose
// ends wait in Go's poller.
type Options struct {
	// Capacity is the capacity to ask for, in bytes, as in [End.SetCapacity]; 0 leaves the system's
	// default.
	Capacity int
	// IO is how both ends wait. The zero IO is [Poller], or what comes closest to it on this system
	// (see [End.UsePoller]).
	IO IO
}

// Open makes a pipe and returns its writing and its reading end. Children inherit an end only
// through [End.Pass].
func Open(kind Kind, o Options) (w, r *End, err error) {
	if err := kind.Supported(); err != nil {
		return nil, nil, err
	}
	if o.Capacity < 0 {
		return nil, nil, fmt.Errorf("open %s: capacity %d is negative", kind.noun(), o.Capacity)
	}
	w, r, err = open(kind, o.Capacity)
	if _, refused := errors.AsType[*CapacityError](err); refused {
		return nil, nil, err // the text of a CapacityError needs no addition
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", kind.noun(), err)
	}
	if err := errors.Join(w.initIO(o.IO), r.initIO(o.IO)); err != nil {
		return nil, nil, errors.Join(err, w.Close(), r.Close())
	}
	return w, r, nil
}

// An End is one end of a pipe. It owns a descriptor and counts how it is used. The zero End is
// closed.
type End struct {
	kind Kind
	dir  direction
	io   IO

	open  atomic.Bool
	calls atomic.Int32 // reads and writes under way, which may wait
	brief atomic.Int32 // other calls under way that use the descriptor; none of them waits

	in, out counter // of reads and of writes

	passing    sync.Mutex  // guards duplicates
	duplicates []io.Closer // descriptors that Pass made for children; Close closes them
	descriptor             // each system has its own type
}

// A direction says whether an end is for reading, for writing, or for both.
type direction uint8

const (
	reads direction = 1 << iota
	writes
	duplex = reads | writes
)

// newEnd makes an end from a descriptor. initIO later sets how the end waits.
func newEnd(kind Kind, dir direction, d descriptor) *End {
	e := &End{kind: kind, dir: dir, io: Blocking, descriptor: d}
	e.open.Store(true)
	return e
}

// Kind returns the kind of pipe that this is an end of.
func (e *End) Kind() Kind { return e.kind }

// IO returns how the end waits.
func (e *End) IO() IO { return e.io }

// SetIO decides how the end waits. Call it before the first Read or Write. An end that has [Poller]
// keeps it for good. SetIO changes the blocking mode of all duplicates of the end, too.
func (e *End) SetIO(io IO) error {
	if err := io.Supported(); err != nil {
		return err
	}
	return e.briefly("set io "+io.String()+" of", func() error {
		if e.file != nil { // Go's poller has the descriptor
			if io == Poller {
				return nil
			}
			return errors.New("the end is with Go's poller already, and stays there")
		}
		if err := e.setIO(io); err != nil {
			return err
		}
		e.io = io
		return nil
	})
}

// UsePoller calls SetIO with [Poller]. If the system has no poller for this end, UsePoller sets
// what comes closest: pauses of 1 ms on Unix, [Blocking] on Windows.
func (e *End) UsePoller() error {
	err := e.SetIO(Poller)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return e.SetIO(pollerSubstitute)
}

// initIO sets how a new end waits. Unlike SetIO, it accepts a substitute for Poller.
func (e *End) initIO(io IO) error {
	if io == Poller {
		return e.UsePoller()
	}
	return e.SetIO(io)
}

// enter tells Close that a read or a write is under way. It returns false if the end is closed.
func (e *End) enter() bool {
	e.calls.Add(1)
	if e.open.Load() {
		return true
	}
	e.calls.Add(-1)
	return false
}

// leave tells Close that the call is over, which ends a wait that c counts, even after an error.
func (e *End) leave(c *counter) {
	c.endWait()
	e.calls.Add(-1)
}

// Read waits until there are bytes, and reads at most len(p) of them in one system call. It returns
// [io.EOF] when the pipe is empty and every copy of the writing end is closed.
func (e *End) Read(p []byte) (int, error) {
	if !e.enter() {
		return 0, e.failed("read", os.ErrClosed)
	}
	n, err := e.read(p)
	e.leave(&e.in)
	return n, err
}

// Write hands all of p to the kernel. On an error it returns how many bytes the kernel accepted. If
// the reader has left, the error is a [*BrokenPipeError].
func (e *End) Write(p []byte) (int, error) {
	if !e.enter() {
		return 0, e.failed("write", os.ErrClosed)
	}
	n, err := e.write(p)
	e.leave(&e.out)
	return n, err
}

// Writev writes the buffers one after the other, if possible in one call of writev(2). It neither
// keeps nor changes them.
func (e *End) Writev(bufs [][]byte) (int64, error) {
	if !e.enter() {
		return 0, e.failed("write", os.ErrClosed)
	}
	n, err := e.writev(bufs)
	e.leave(&e.out)
	return n, err
}

// Vmsplice writes like Write, but gives the memory pages of p to the pipe. So p must not change
// until the reader has read all of it. Two buffers in turn are enough, if each is at least as long
// as the pipe's capacity.
//
// Vmsplice works only on Linux, for pipes and FIFOs, with any IO except [Poller]. Otherwise the
// error wraps [errors.ErrUnsupported].
func (e *End) Vmsplice(p []byte) (int, error) {
	if !e.enter() {
		return 0, e.failed("vmsplice to", os.ErrClosed)
	}
	n, err := e.vmsplice(p)
	e.leave(&e.out)
	return n, err
}

func (e *End) read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if e.file != nil {
		return e.readPolled(p)
	}
	for {
		n, errno := e.sysRead(p)
		if errno == 0 && n > 0 {
			e.in.moved(len(p), n)
			return n, nil
		}
		e.in.account(len(p), n, errno)
		switch errno {
		case syscall.EAGAIN:
			if err := e.wait(reads); err != nil {
				return 0, e.readFailed(err)
			}
		case syscall.EINTR: // try again
		default:
			return e.readDone(n, errno)
		}
	}
}

// readDone turns n and errno, the result of a system call, into the result of Read or TryRead.
func (e *End) readDone(n int, errno syscall.Errno) (int, error) {
	if errno != 0 {
		return 0, e.readFailed(errno)
	}
	if n > 0 {
		return n, nil
	}
	if !e.open.Load() {
		return 0, e.readFailed(os.ErrClosed) // this end of file was made by Close (see interrupt)
	}
	return 0, io.EOF
}

func (e *End) readFailed(err error) error {
	if !e.open.Load() {
		err = os.ErrClosed
	}
	return e.failed("read", err)
}

func (e *End) write(p []byte) (int, error) {
	if e.file != nil {
		return e.writePolled(p)
	}
	total := 0
	for total < len(p) {
		rest := e.offer(p[total:])
		n, errno := e.sysWrite(rest)
		if errno == 0 {
			e.out.moved(len(rest), n)
			total += n
			continue
		}
		if err := e.retryAfter(errno, len(rest)); err != nil {
			return total, e.writeFailed(int64(total), err)
		}
	}
	return total, nil
}

// retryAfter counts a write that failed with errno. If the write may be tried again, retryAfter
// waits and returns nil.
func (e *End) retryAfter(errno syscall.Errno, asked int) error {
	e.out.account(asked, 0, errno)
	switch errno {
	case syscall.EAGAIN:
		return e.wait(writes)
	case syscall.EINTR:
		return nil
	}
	return errno
}

// writeFailed returns the error of a Write that failed after the kernel had accepted n bytes.
func (e *End) writeFailed(n int64, err error) error {
	if !e.open.Load() {
		return e.failed("write", os.ErrClosed)
	}
	if ReaderLeft(err) {
		return &BrokenPipeError{Kind: e.kind, Accepted: n, Err: err}
	}
	return e.failed("write", err)
}

// wait is called after EAGAIN. Depending on the end's IO, it waits in poll(2), sleeps, or, with
// Spin, returns at once.
func (e *End) wait(toward direction) error {
	if e.io == Poll {
		if err := e.poll(toward); err != nil {
			return err
		}
	}
	if pause := e.io.Pause(); pause > 0 {
		time.Sleep(pause)
	}
	if !e.open.Load() {
		return os.ErrClosed
	}
	return nil
}

// SetReadDeadline sets the time after which reads fail with an error that wraps
// [os.ErrDeadlineExceeded]. The zero time means no deadline. For an end without [Poller], the error
// wraps [os.ErrNoDeadline].
func (e *End) SetReadDeadline(t time.Time) error {
	return e.setDeadline((*os.File).SetReadDeadline, t)
}

// SetWriteDeadline is SetReadDeadline for writes. A Write that fails at the deadline still returns
// how many bytes the kernel accepted.
func (e *End) SetWriteDeadline(t time.Time) error {
	return e.setDeadline((*os.File).SetWriteDeadline, t)
}

func (e *End) setDeadline(set func(*os.File, time.Time) error, t time.Time) error {
	return e.briefly("set deadline of", func() error {
		if e.file == nil {
			return fmt.Errorf("its io is %s; only poller has deadlines: %w", e.io, os.ErrNoDeadline)
		}
		return set(e.file, t)
	})
}

// Close closes the descriptor and the duplicates that [End.Pass] made. A read or write under way
// fails with an error that wraps [os.ErrClosed], and Close waits until that call has returned. With
// [Spin] or [Sleep], the read or write returns at its next try.
func (e *End) Close() error {
	if !e.open.Swap(false) {
		return e.failed("close", os.ErrClosed)
	}
	// No call begins from here on. Calls that began before are counted in calls and brief.
	awaitNone(&e.brief)
	err := errors.Join(e.closeDuplicates(), e.closeDescriptor())
	if err != nil {
		return e.failed("close", err)
	}
	return nil
}

func (e *End) busy() bool { return e.calls.Load() > 0 }

// awaitNone returns when none of the counted calls is under way any more.
func awaitNone(calls *atomic.Int32) {
	for pause := time.Microsecond; calls.Load() > 0; pause = min(2*pause, time.Millisecond) {
		time.Sleep(pause)
	}
}

// briefly runs f if the end is open. If f returns an error, briefly adds op, the name of the
// operation. Close waits until f returns, so f must not wait.
func (e *End) briefly(op string, f func() error) error {
	e.brief.Add(1)
	defer e.brief.Add(-1)
	if !e.open.Load() {
		return e.failed(op, os.ErrClosed)
	}
	err := f()
	if _, refused := errors.AsType[*CapacityError](err); refused || err == nil {
		return err // the text of a CapacityError needs no addition
	}
	return e.failed(op, err)
}
