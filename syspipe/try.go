package syspipe

import (
	"errors"
	"os"
	"runtime"
)

// TryWrite makes one non-blocking system call and returns its result, even a short count. If the
// kernel refuses the write for now, errors.Is(err, syscall.EAGAIN) holds.
//
// The end's IO must not be [Blocking]. On Windows it must be [Spin] or [Sleep].
func (e *End) TryWrite(p []byte) (int, error) {
	e.brief.Add(1)
	defer e.brief.Add(-1)
	if err := e.mayTry("write"); err != nil {
		return 0, err
	}
	n, errno := e.sysWrite(p)
	e.out.account(len(p), n, errno)
	if errno != 0 {
		return 0, e.writeFailed(0, errno)
	}
	return n, nil
}

// TryRead is like TryWrite, but reads. At the end of file it returns [io.EOF].
func (e *End) TryRead(p []byte) (int, error) {
	e.brief.Add(1)
	defer e.brief.Add(-1)
	if err := e.mayTry("read"); err != nil || len(p) == 0 {
		return 0, err
	}
	n, errno := e.sysRead(p)
	e.in.account(len(p), n, errno)
	return e.readDone(n, errno)
}

// mayTry returns an error if the end is closed, or if a call would wait.
func (e *End) mayTry(op string) error {
	if !e.open.Load() {
		return e.failed(op, os.ErrClosed)
	}
	// On Unix, the descriptors in Go's poller are non-blocking.
	callWaits := e.io == Blocking || e.io == Poller && runtime.GOOS == "windows"
	if callWaits {
		why := errors.New("its io is " + e.io.String() + "; set another one first")
		return e.failed("try to "+op, why)
	}
	return nil
}

// Writable reports whether poll(2) says that the end is writable now. This predicts nothing about
// the next write.
func (e *End) Writable() (can bool, err error) {
	err = e.briefly("poll", func() (err error) {
		can, err = e.writable()
		return err
	})
	return can, err
}
