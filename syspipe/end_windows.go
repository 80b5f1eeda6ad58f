package syspipe

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

// supportedIOs are the ways to wait on Windows, besides [Sleep]. [Poll] is missing: no call of
// Windows waits until a pipe has bytes or room.
var supportedIOs = []IO{Blocking, Poller, Spin}

// pollerSubstitute is how an end waits if Go's poller cannot watch the end. On Windows, a blocking
// call stops only its own thread.
const pollerSubstitute = Blocking

// descriptor is what an [End], one end of a pipe, consists of on Windows.
type descriptor struct {
	handle     windows.Handle
	overlapped bool // opened for overlapped operation, as named pipes are
	nowait     bool // PIPE_NOWAIT is set
	quota      int  // bytes that one write may offer with PIPE_NOWAIT; 0 if not known

	file *os.File // owner of the handle if Go's poller has it, else nil

	reading, writing request
	joined           []byte // where Writev puts its buffers together
}

// A request is what ReadFile or WriteFile needs besides the buffer. Each End keeps two of them, so
// that calls allocate nothing.
type request struct {
	done       uint32             // bytes moved by the last call
	overlapped windows.Overlapped // has the event to wait for, if the handle is overlapped
}

func newHandle(kind Kind, dir direction, h windows.Handle) *End {
	return newEnd(kind, dir, descriptor{handle: h, overlapped: kind == Named})
}

func (e *End) setIO(want IO) error {
	if want != Poller {
		return e.setNowait(want != Blocking)
	}
	if !e.overlapped { // Go's poller takes overlapped handles only
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
		e.quota, _ = e.capacity() // on an error, offer does not limit a write
	}
	return nil
}

// countersSeen reports whether refusals and waits are counted. Neither can be counted if Windows
// waits inside the call.
func (e *End) countersSeen() (eagain, waits bool) { return e.nowait, e.nowait }

// sysRead reads once and returns what read(2) of Unix would return: 0 bytes at the end of file, and
// EAGAIN if no bytes have come yet.
func (e *End) sysRead(p []byte) (int, syscall.Errno) {
	n, err := e.transfer(&e.reading, func(o *windows.Overlapped) error {
		return windows.ReadFile(e.handle, p, &e.reading.done, o)
	})
	empty := err == nil && n == 0
	switch {
	case err == windows.ERROR_BROKEN_PIPE:
		return 0, 0
	case e.nowait && (empty || err == windows.ERROR_NO_DATA):
		return 0, syscall.EAGAIN
	case empty:
		return 0, syscall.EINTR // somebody wrote zero bytes: the caller reads again
	}
	return n, errnoOf(err)
}

func (e *End) readPolled(p []byte) (int, error) {
	n, err := e.file.Read(p)
	e.in.moved(len(p), n)
	if err != nil && err != io.EOF {
		return 0, e.readFailed(err)
	}
	return e.readDone(n, 0)
}

// sysWrite writes once. With PIPE_NOWAIT, the system refuses a write by reporting success and 0
// bytes.
func (e *End) sysWrite(p []byte) (int, syscall.Errno) {
	n, err := e.transfer(&e.writing, func(o *windows.Overlapped) error {
		return windows.WriteFile(e.handle, p, &e.writing.done, o)
	})
	switch {
	case n > 0:
		return n, 0 // if an error stopped the write here, the next call gets that error again
	case err == nil:
		return 0, syscall.EAGAIN
	}
	return 0, errnoOf(err)
}

func (e *End) writePolled(p []byte) (int, error) {
	n, err := e.file.Write(p)
	e.out.moved(len(p), n)
	if err != nil {
		return n, e.writeFailed(int64(n), err)
	}
	return n, nil
}

// errnoOf returns the system's error in err, or 0 if err is nil.
func errnoOf(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return windows.ERROR_GEN_FAILURE
}

// offer returns how much of p to write in one call. With PIPE_NOWAIT, the system always refuses a
// write that is longer than the pipe's quota.
func (e *End) offer(p []byte) []byte {
	if !e.nowait || e.quota <= 0 {
		return p
	}
	return p[:min(e.quota, len(p))]
}

// readerGone lists the errors of a write whose reader has left: the first if the reader left before
// the write began, the second if it left while the write waited.
var readerGone = []error{windows.ERROR_NO_DATA, windows.ERROR_BROKEN_PIPE}

// transfer runs one ReadFile or WriteFile to its end. With an overlapped handle, the call only
// begins the operation, and transfer waits until it is done.
func (e *End) transfer(r *request, call func(*windows.Overlapped) error) (int, error) {
	r.done = 0
	if !e.overlapped {
		err := call(nil)
		return int(r.done), err
	}
	if r.overlapped.HEvent == 0 {
		event, err := windows.CreateEvent(nil, 1 /* manual reset */, 0 /* not set */, nil)
		if err != nil {
			return 0, os.NewSyscallError("CreateEvent", err)
		}
		r.overlapped.HEvent = event
	}
	err := call(&r.overlapped)
	if err == windows.ERROR_IO_PENDING {
		err = windows.GetOverlappedResult(e.handle, &r.overlapped, &r.done, true /* wait */)
	}
	return int(r.done), err
}

// writev copies the buffers into one and writes that: Windows has no gathering writes for pipes.
func (e *End) writev(bufs [][]byte) (int64, error) {
	e.joined = e.joined[:0]
	for _, b := range bufs {
		e.joined = append(e.joined, b...)
	}
	if len(e.joined) == 0 {
		return 0, nil
	}
	n, err := e.write(e.joined)
	return int64(n), err
}

func (e *End) closeDescriptor() error {
	if e.file != nil {
		return e.file.Close()
	}
	for pause := time.Microsecond; e.busy(); pause = min(2*pause, time.Millisecond) {
		// A read or write may have begun, but not have entered the kernel yet. So cancel again
		// until none is under way. An error only says that there was nothing to cancel.
		windows.CancelIoEx(e.handle, nil)
		time.Sleep(pause)
	}
	var errs []error
	for _, r := range []*request{&e.reading, &e.writing} {
		if r.overlapped.HEvent != 0 {
			errs = append(errs, closeHandle(r.overlapped.HEvent))
		}
	}
	return errors.Join(append(errs, closeHandle(e.handle))...)
}

func closeHandle(h windows.Handle) error {
	return os.NewSyscallError("CloseHandle", windows.CloseHandle(h))
}

// poll returns an error, because Windows does not support [Poll].
func (e *End) poll(direction) error { return Poll.Supported() }

func (e *End) writable() (bool, error) { return false, unsupported("polling a pipe") }

// HungUp reports false: until all bytes are read, Windows does not say that the writer has left.
func HungUp(any) bool { return false }

// CountSIGPIPE counts nothing: Windows has no such signal.
func CountSIGPIPE() func() *int { return func() *int { return nil } }
