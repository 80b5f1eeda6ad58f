package syspipe

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Open makes a pipe and returns its writing and its reading end. With capacity 0 the system's
// default stays; else capacity bytes are asked for, the system may round, and [End.Capacity] tells
// what came of it. A capacity that is refused is a [*CapacityError]. No child inherits the ends but
// through [End.Pass]. Both ends start out [Blocking].
func Open(kind Kind, capacity int) (w, r *End, err error) {
	if err := kind.Supported(); err != nil {
		return nil, nil, err
	}
	if capacity < 0 {
		return nil, nil, fmt.Errorf("open %s: capacity %d is negative", kind.noun(), capacity)
	}
	w, r, err = open(kind, capacity)
	if refused := (*CapacityError)(nil); err != nil && !errors.As(err, &refused) {
		err = fmt.Errorf("open %s: %w", kind.noun(), err)
	}
	return w, r, err
}

// An End is one end of a pipe: an owned descriptor, and the account of what was done with it.
type End struct {
	kind Kind
	dir  direction
	io   IO

	closed  atomic.Bool
	others  atomic.Int32 // calls under way that are neither reads nor writes
	in, out counter

	passing    sync.Mutex  // guards the duplicates
	duplicates []io.Closer // which Pass made for children, closed with the end
	descriptor
}

// A direction says what an end is for.
type direction uint8

const (
	reads direction = 1 << iota
	writes
	duplex = reads | writes
)

var directionNames = map[direction]string{reads: "read", writes: "write", duplex: "duplex"}

// Kind returns the kind of pipe that this is an end of.
func (e *End) Kind() Kind { return e.kind }

// IO returns how the end waits.
func (e *End) IO() IO { return e.io }

// SetIO decides how the end waits. Call it before the first Read or Write; an end given to Go's
// poller stays there, as nothing takes a descriptor out of it again. It sets or clears non-blocking
// mode, which all duplicates of this end share and the other end does not.
func (e *End) SetIO(io IO) error {
	if err := io.Supported(); err != nil {
		return err
	}
	return e.whileOpen("set io "+io.String()+" of", func() error {
		if e.file != nil {
			if io == Poller {
				return nil
			}
			return errors.New("the end is with Go's poller already, and stays there")
		}
		err := e.setIO(io)
		if err == nil {
			e.io = io
		}
		return err
	})
}

// UsePoller is SetIO with [Poller] where the system has one for this end. Elsewhere the end stays as
// it is, and a read blocks its thread; but a FIFO, of which nobody could end the read (macOS), sleeps
// between its tries.
func (e *End) UsePoller() error {
	err := e.SetIO(Poller)
	switch {
	case !errors.Is(err, errors.ErrUnsupported):
		return err
	case e.kind == FIFO:
		return e.SetIO(Sleep(time.Millisecond))
	}
	return nil
}

// Read waits until there are bytes and reads at most len(p) of them in one call; it returns
// [io.EOF] when every copy of the writing end is closed and the pipe is empty.
func (e *End) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	e.in.begin()
	if e.closed.Load() {
		e.in.end()
		return 0, e.failed("read", os.ErrClosed)
	}
	n, err := e.read(p)
	e.in.end()
	return n, err
}

// Write hands all of p to the kernel, in as many calls as it takes. On an error it returns how many
// bytes the kernel accepted; where the reader has left, the error is a [*BrokenPipeError].
func (e *End) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	e.out.begin()
	if e.closed.Load() {
		e.out.end()
		return 0, e.failed("write", os.ErrClosed)
	}
	n, err := e.write(p)
	e.out.end()
	return n, err
}

// Writev writes the buffers one after the other, in one gather call where the kernel takes it all,
// and goes on at the right byte where it does not. It neither keeps nor changes bufs or what they
// hold. Windows has no gather call for pipes: there the buffers are copied together first.
func (e *End) Writev(bufs [][]byte) (int64, error) {
	e.out.begin()
	if e.closed.Load() {
		e.out.end()
		return 0, e.failed("write", os.ErrClosed)
	}
	n, err := e.writev(bufs)
	e.out.end()
	return n, err
}

// Vmsplice writes like Write, but gives the pages of p to the pipe instead of copying them: p must
// not change until the reader has taken them. With two buffers in turn, each of at least the pipe's
// capacity, that is so. Linux only, for pipes and FIFOs, with any io but [Poller]; elsewhere the
// error wraps [errors.ErrUnsupported].
func (e *End) Vmsplice(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	e.out.begin()
	defer e.out.end()
	if e.closed.Load() {
		return 0, e.failed("vmsplice to", os.ErrClosed)
	}
	return e.vmsplice(p)
}

// Discard waits until there are bytes, takes at most n of them out of the pipe and drops them
// unread; it returns how many, and [io.EOF] where Read would. It supports what Vmsplice does.
func (e *End) Discard(n int) (int, error) {
	if n <= 0 {
		return 0, nil
	}
	e.in.begin()
	defer e.in.end()
	if e.closed.Load() {
		return 0, e.failed("splice from", os.ErrClosed)
	}
	return e.discard(n)
}

// read makes one call and is done in the common case; everything else is readOn's.
func (e *End) read(p []byte) (int, error) {
	if e.file != nil {
		return e.readPolled(p)
	}
	n, errno := e.sysRead(p)
	if errno == 0 && n > 0 {
		e.in.moved(len(p), n)
		return n, nil
	}
	return e.readOn(p, n, errno)
}

// readOn goes on from a call that returned n and errno until one is not refused.
func (e *End) readOn(p []byte, n int, errno syscall.Errno) (int, error) {
	again := func() (int, syscall.Errno) { return e.sysRead(p) }
	return e.readResult(e.retry(&e.in, len(p), n, errno, again))
}

// retry goes on from a call that returned n and errno, and repeats it while it is refused or
// interrupted. It does not keep the function, so that none is allocated.
func (e *End) retry(m *counter, asked, n int, errno syscall.Errno, call func() (int, syscall.Errno)) (int, syscall.Errno, error) {
	toward := reads
	if m == &e.out {
		toward = writes
	}
	for {
		switch errno = m.account(asked, n, errno); errno {
		case 0:
			return n, 0, nil
		case syscall.EAGAIN:
			if err := e.wait(toward); err != nil {
				return 0, 0, err
			}
		case syscall.EINTR:
		default:
			return 0, errno, nil
		}
		n, errno = call()
	}
}

func (e *End) readResult(n int, errno syscall.Errno, err error) (int, error) {
	switch {
	case err == nil && errno == 0 && n > 0:
		return n, nil
	case e.closed.Load():
		return 0, e.failed("read", os.ErrClosed)
	case err != nil:
		return 0, e.failed("read", err)
	case errno != 0:
		return 0, e.failed("read", errno)
	}
	return 0, io.EOF
}

// write makes one call and is done in the common case; everything else is writeOn's.
func (e *End) write(p []byte) (int, error) {
	if e.file != nil {
		return e.writePolled(p)
	}
	n, errno := e.sysWrite(e.offer(p))
	if errno == 0 && n == len(p) {
		e.out.moved(n, n)
		return n, nil
	}
	return e.writeOn(p, n, errno, e.sysWrite)
}

// writeOn goes on from a call that returned n and errno until all of p is accepted or one fails.
func (e *End) writeOn(p []byte, n int, errno syscall.Errno, call func(rest []byte) (int, syscall.Errno)) (total int, err error) {
	for {
		rest := e.offer(p[total:])
		n, errno, err = e.retry(&e.out, len(rest), n, errno, func() (int, syscall.Errno) { return call(rest) })
		if errno != 0 || err != nil {
			return total, e.writeResult(int64(total), false, errno, err)
		}
		if total += n; total == len(p) {
			return total, nil
		}
		n, errno = call(e.offer(p[total:]))
	}
}

func (e *End) writeResult(n int64, all bool, errno syscall.Errno, err error) error {
	if all {
		return nil
	}
	if err == nil {
		err = errno
	}
	switch {
	case e.closed.Load():
		return e.failed("write", os.ErrClosed)
	case ReaderLeft(err):
		return &BrokenPipeError{Kind: e.kind, Accepted: n, Err: err}
	}
	return e.failed("write", err)
}

// wait lets time pass after a refusal, in the manner of the end's io.
func (e *End) wait(toward direction) error {
	switch {
	case e.io == Poll:
		if err := e.poll(toward); err != nil {
			return err
		}
	case e.io.pause > 0:
		time.Sleep(e.io.pause)
	}
	if e.closed.Load() {
		return os.ErrClosed
	}
	return nil
}

// SetReadDeadline ends reads that are or come under way at t with an error that wraps
// [os.ErrDeadlineExceeded]; the zero time is none. It works with [Poller]; with any other io the
// error wraps [os.ErrNoDeadline].
func (e *End) SetReadDeadline(t time.Time) error {
	return e.setDeadline(func(f *os.File) error { return f.SetReadDeadline(t) })
}

// SetWriteDeadline is SetReadDeadline for writes, which return how much was accepted by then.
func (e *End) SetWriteDeadline(t time.Time) error {
	return e.setDeadline(func(f *os.File) error { return f.SetWriteDeadline(t) })
}

func (e *End) setDeadline(set func(*os.File) error) error {
	return e.whileOpen("set deadline of", func() error {
		if e.file == nil {
			return os.ErrNoDeadline
		}
		return set(e.file)
	})
}

// Close gives the descriptor back, and the duplicates that Pass made. A call under way ends with an
// error that wraps [os.ErrClosed], and Close waits for that where it must (see the table). A second
// Close returns such an error itself.
//
//	poller          at once
//	blocking        at once on Linux and FreeBSD, which takes a SIGURG to each thread of the
//	                process (the signal that Go's own scheduler uses, and as harmless);
//	                macOS and Windows end the call themselves
//	poll            as blocking; macOS within 100 ms
//	spin, sleep=D   at the next try
func (e *End) Close() error {
	if e.closed.Swap(true) {
		return e.failed("close", os.ErrClosed)
	}
	// From here on no call begins. One that did not see closed in time has its flag set, and is
	// seen here.
	awaitFlags()
	if err := cmp.Or(e.closeDuplicates(), e.closeDescriptor()); err != nil {
		return e.failed("close", err)
	}
	return nil
}

// busy reports whether a call is under way.
func (e *End) busy() bool { return e.in.busy() || e.out.busy() || e.others.Load() > 0 }

// awaitIdle returns when no call is under way any more, and nudges those that are until then. The
// calls are on their way out, so that is soon, but for a pause that they sleep.
func (e *End) awaitIdle(nudge func()) {
	for pause := time.Microsecond; e.busy(); pause = min(2*pause, time.Millisecond) {
		nudge()
		time.Sleep(pause)
	}
}

// Capacity returns the bytes that the pipe holds before a writer waits: what the kernel states
// (Linux), what was asked for (Windows), or what an empty pipe of the same make accepts until it
// refuses (socket pairs, macOS, FreeBSD). The kernel counts space in its own units, so writes of
// some sizes fill a pipe with fewer bytes.
func (e *End) Capacity() (n int, err error) {
	n, err = ask(e, "read capacity of", e.capacity)
	return max(n, 0), err
}

// SetCapacity asks for n bytes and returns the capacity that the pipe has then. A refusal is a
// [*CapacityError].
func (e *End) SetCapacity(n int) (int, error) {
	return ask(e, "set capacity of", func() (int, error) {
		if err := e.setCapacity(n); err != nil {
			return 0, err
		}
		return e.capacity()
	})
}

// Buffered returns the bytes that are in the pipe now. Some systems tell only the reading end;
// elsewhere the error wraps [errors.ErrUnsupported].
func (e *End) Buffered() (n int, err error) {
	n, err = ask(e, "read fill of", e.buffered)
	return max(n, 0), err
}

// Counters returns what the end has done so far, in both directions together.
func (e *End) Counters() Counters {
	var c Counters
	c.SeesEAGAIN, c.SeesWaits = e.seen()
	e.in.addTo(&c)
	e.out.addTo(&c)
	return c
}

// whileOpen runs f, which uses the descriptor and is neither a read nor a write, unless the end is
// closed; it says which op failed.
func (e *End) whileOpen(op string, f func() error) error {
	e.others.Add(1)
	defer e.others.Add(-1)
	if e.closed.Load() {
		return e.failed(op, os.ErrClosed)
	}
	err := f()
	if refused := (*CapacityError)(nil); err == nil || errors.As(err, &refused) {
		return err // a refusal says it all itself
	}
	return e.failed(op, err)
}

// ask is whileOpen for a call that returns something.
func ask[T any](e *End, op string, f func() (T, error)) (v T, err error) {
	err = e.whileOpen(op, func() error {
		v, err = f()
		return err
	})
	return v, err
}

// TryWrite makes one non-blocking call and returns what came of it, with none of Write's patience:
// a short count with a nil error, or syscall.EAGAIN (by errors.Is) where the kernel refuses for
// now. The end's io must be other than [Blocking]; on Windows [Spin] or [Sleep].
func (e *End) TryWrite(p []byte) (int, error) {
	e.out.begin()
	defer e.out.end()
	if err := e.mayTry("write"); err != nil {
		return 0, err
	}
	n, errno := e.sysWrite(p)
	if errno = e.out.account(len(p), n, errno); errno != 0 {
		return 0, e.writeResult(0, false, errno, nil)
	}
	return n, nil
}

// TryRead is TryWrite for a read; at the end of the bytes it returns [io.EOF].
func (e *End) TryRead(p []byte) (int, error) {
	e.in.begin()
	defer e.in.end()
	if err := e.mayTry("read"); err != nil || len(p) == 0 {
		return 0, err
	}
	n, errno := e.sysRead(p)
	return e.readResult(n, e.in.account(len(p), n, errno), nil)
}

func (e *End) mayTry(op string) error {
	if e.closed.Load() {
		return e.failed(op, os.ErrClosed)
	}
	if e.io == Blocking || e.io == Poller && runtime.GOOS == "windows" {
		return e.failed("try to "+op, errors.New("its io is "+e.io.String()+"; set another one first"))
	}
	return nil
}

// Writable reports whether poll(2) calls the end writable now. Not every write succeeds then, and
// some succeed when it does not.
func (e *End) Writable() (bool, error) { return ask(e, "poll", e.writable) }

// A Direct is the shortest way to the system calls of a blocking end: one call, inlined where it
// stands, no look at whether the end was closed, no second try. It exists because the kernel
// empties the processor's return predictor when it switches tasks, so that after each call that
// waited every layer above it returns by a wrong guess: a round trip of one byte between two
// processes took 5 % longer through [End.Read] and [End.Write].
//
// A call that did less than it was asked leaves the rest to the End, which meets the cause again
// and tells it. The caller counts, and hands the account over:
//
//	d, ok := e.Direct()
//	n := d.Write(p)
//	if n == len(p) {
//		d.Count(n)
//	} else {
//		err = e.WriteRest(p, n)
//	}
//	e.SettleWrites(&d)
//
// It belongs to the goroutine that reads and writes, and nobody may close the end meanwhile.
type Direct struct {
	fd           uintptr
	calls, bytes uint64
}

// Count notes a call that moved all of the n bytes that it was asked to.
func (d *Direct) Count(n int) {
	d.calls++
	d.bytes += uint64(n)
}

// AddWrites adds to the end's counters the writes that d has counted.
func (e *End) AddWrites(d *Direct) { e.out.addDirect(d) }

// AddReads adds to the end's counters the reads that d has counted.
func (e *End) AddReads(d *Direct) { e.in.addDirect(d) }

func (m *counter) addDirect(d *Direct) {
	m.calls += d.calls
	m.bytes += d.bytes
	d.calls, d.bytes = 0, 0
}

// WriteRest goes on where a direct write of p came to n bytes, or failed, which a negative n says.
func (e *End) WriteRest(p []byte, n int) error {
	if n > 0 {
		e.out.moved(len(p), n)
	}
	_, err := e.Write(p[max(n, 0):])
	return err
}

// ReadRest fills p from where a direct read came to n bytes, or failed, which a negative n says, or
// met the end, which 0 does.
func (e *End) ReadRest(p []byte, n int) error {
	if n > 0 {
		e.in.moved(len(p), n)
	}
	_, err := io.ReadFull(e, p[max(n, 0):])
	return err
}
