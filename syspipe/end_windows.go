package syspipe

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

var supportedIOs = []IO{Blocking, Poller, Spin, {name: "sleep"}}

// descriptor is what an end consists of on Windows.
type descriptor struct {
	handle     windows.Handle
	overlapped bool // opened for overlapped operation: named pipes
	nowait     bool // PIPE_NOWAIT is set
	quota      int  // bytes that one write may offer then; 0 where it is not known

	file *os.File // owner of the handle once Go's poller has it

	reading, writing request
	joined           []byte // where Writev puts its buffers together
}

// A request is what one ReadFile or WriteFile needs; kept in the end so that a call allocates
// nothing.
type request struct {
	done       uint32
	overlapped windows.Overlapped
}

func newEnd(kind Kind, dir direction, h windows.Handle) *End {
	return &End{kind: kind, dir: dir, descriptor: descriptor{handle: h, overlapped: kind == Named}}
}

func (e *End) setIO(want IO) error {
	if want == Poller {
		return e.register()
	}
	return e.setNowait(want != Blocking)
}

// register hands an overlapped handle to Go's poller, which takes no other.
func (e *End) register() error {
	if !e.overlapped {
		return unsupported("an anonymous pipe, which is synchronous, in Go's poller")
	}
	e.file = os.NewFile(uintptr(e.handle), e.kind.noun())
	return nil
}

func (e *End) setNowait(nowait bool) error {
	if nowait == e.nowait {
		return nil
	}
	mode := uint32(windows.PIPE_WAIT)
	if nowait {
		mode = windows.PIPE_NOWAIT
	}
	if err := windows.SetNamedPipeHandleState(e.handle, &mode, nil, nil); err != nil {
		return os.NewSyscallError("SetNamedPipeHandleState", err)
	}
	e.nowait = nowait
	if nowait && e.dir&writes != 0 {
		e.quota, _ = e.capacity() // an end that cannot tell offers all it has
	}
	return nil
}

func (e *End) seen() Fields {
	if e.nowait {
		return allFields
	}
	// The system waits inside the call and does not tell.
	return allFields &^ (FieldEAGAIN | FieldWaits | FieldWaitTime)
}

func (e *End) read(p []byte) (int, error) {
	for {
		n, err := e.readOnce(p)
		switch {
		case err == nil && n > 0:
			e.in.moved(len(p), n)
			return n, nil
		case e.closed.Load():
			return 0, e.failed("read", os.ErrClosed)
		case err == windows.ERROR_BROKEN_PIPE || err == io.EOF:
			e.in.moved(len(p), 0)
			return 0, io.EOF
		case e.nowait && (err == windows.ERROR_NO_DATA || err == nil):
			e.in.refused()
			e.pause()
		case err == nil: // somebody wrote zero bytes, which ends a read on Windows
			e.in.moved(len(p), 0)
		default:
			return 0, e.failed("read", err)
		}
	}
}

func (e *End) readOnce(p []byte) (int, error) {
	if e.file != nil {
		return e.file.Read(p)
	}
	return e.transfer(&e.reading, func(o *windows.Overlapped) error {
		return windows.ReadFile(e.handle, p, &e.reading.done, o)
	})
}

func (e *End) write(p []byte) (n int, err error) {
	for n < len(p) {
		offer := e.offer(p[n:])
		k, err := e.writeOnce(offer)
		n += k
		switch {
		case err != nil && e.closed.Load():
			return n, e.failed("write", os.ErrClosed)
		case err != nil:
			return n, e.writeError(n, err)
		case k == 0:
			e.out.refused() // PIPE_NOWAIT: success with nothing written is how it refuses
			e.pause()
			if e.closed.Load() {
				return n, e.failed("write", os.ErrClosed)
			}
		default:
			e.out.moved(len(offer), k)
		}
	}
	return n, nil
}

// offer returns how much of p to write in one call. With PIPE_NOWAIT a write goes through whole or
// not at all, and one above the pipe's quota would be refused for ever.
func (e *End) offer(p []byte) []byte {
	if !e.nowait || e.quota <= 0 {
		return p
	}
	return p[:min(e.quota, len(p))]
}

func (e *End) writeOnce(p []byte) (int, error) {
	if e.file != nil {
		return e.file.Write(p)
	}
	return e.transfer(&e.writing, func(o *windows.Overlapped) error {
		return windows.WriteFile(e.handle, p, &e.writing.done, o)
	})
}

// readerGone is what a write says without a reader: before it begins, and while it waits.
var readerGone = []error{windows.ERROR_NO_DATA, windows.ERROR_BROKEN_PIPE}

func (e *End) writeError(accepted int, err error) error {
	if ReaderLeft(err) {
		return &BrokenPipeError{Kind: e.kind, Accepted: int64(accepted), Err: err}
	}
	return e.failed("write", err)
}

// transfer runs one ReadFile or WriteFile to its end. An overlapped handle needs an event to wait
// for, a synchronous one waits by itself.
func (e *End) transfer(r *request, call func(*windows.Overlapped) error) (int, error) {
	r.done = 0
	if !e.overlapped {
		err := call(nil)
		return int(r.done), err
	}
	if r.overlapped.HEvent == 0 {
		event, err := windows.CreateEvent(nil, 1, 0, nil)
		if err != nil {
			return 0, os.NewSyscallError("CreateEvent", err)
		}
		r.overlapped.HEvent = event
	}
	err := call(&r.overlapped)
	if err == windows.ERROR_IO_PENDING {
		err = windows.GetOverlappedResult(e.handle, &r.overlapped, &r.done, true)
	}
	return int(r.done), err
}

// writev copies: Windows gathers into files but not into pipes. One call it stays.
func (e *End) writev(bufs [][]byte) (int64, error) {
	e.joined = e.joined[:0]
	for _, b := range bufs {
		e.joined = append(e.joined, b...)
	}
	n, err := e.write(e.joined)
	return int64(n), err
}

func (e *End) pause() {
	time.Sleep(e.io.pause) // not at all for one that spins
}

// closeDescriptor closes the handle, and first ends the calls that use it.
func (e *End) closeDescriptor() error {
	if e.file != nil {
		return e.file.Close()
	}
	e.cancel()
	var errs []error
	for _, r := range []*request{&e.reading, &e.writing} {
		if r.overlapped.HEvent != 0 {
			errs = append(errs, os.NewSyscallError("CloseHandle", windows.CloseHandle(r.overlapped.HEvent)))
		}
	}
	return errors.Join(append(errs, os.NewSyscallError("CloseHandle", windows.CloseHandle(e.handle)))...)
}

// cancel ends the calls under way. A call may be announced and not yet made, so it is repeated
// until they are gone.
func (e *End) cancel() {
	for pause := time.Microsecond; e.busy(); pause = min(2*pause, time.Millisecond) {
		windows.CancelIoEx(e.handle, nil) // ERROR_NOT_FOUND: nothing to cancel yet
		time.Sleep(pause)
	}
}

// errNotNow is how this package says EAGAIN on Windows, where success with nothing written says it.
var errNotNow = syscall.EAGAIN

func (e *End) tryWriteOnce(p []byte) (int, error) {
	n, err := e.writeOnce(p)
	switch {
	case err != nil:
		return n, e.writeError(n, err)
	case n == 0 && len(p) > 0:
		e.out.refused()
		return 0, e.failed("write", errNotNow)
	}
	e.out.moved(len(p), n)
	return n, nil
}

func (e *End) tryReadOnce(p []byte) (int, error) {
	n, err := e.readOnce(p)
	switch {
	case errors.Is(err, windows.ERROR_BROKEN_PIPE):
		return 0, io.EOF
	case errors.Is(err, windows.ERROR_NO_DATA), err == nil && n == 0 && len(p) > 0:
		e.in.refused()
		return 0, e.failed("read", errNotNow)
	case err != nil:
		return 0, e.failed("read", err)
	}
	e.in.moved(len(p), n)
	return n, nil
}

func (e *End) writable() (bool, error) { return false, unsupported("polling a pipe") }

// HungUp reports false: the system tells of an end only behind all that is to be read.
func HungUp(any) bool { return false }

// CountSIGPIPE counts nothing: Windows has no such signal.
func CountSIGPIPE() func() *int { return func() *int { return nil } }
