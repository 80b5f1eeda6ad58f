package syspipe

import "errors"

var errTryBlocks = errors.New("its io is blocking; set another one first")

// TryWrite makes one non-blocking call and returns what came of it, with none of Write's patience: a short count with a nil error, or
// syscall.EAGAIN (by errors.Is) where the kernel refuses for now. The end's io must be other than [Blocking]; on Windows [Spin] or [Sleep].
func (e *End) TryWrite(p []byte) (int, error) {
	e.out.begin()
	defer e.out.end()
	if e.closed.Load() {
		return 0, e.closedError("write")
	}
	return e.tryOnce("write", p, e.onceWrite)
}

// TryRead is TryWrite for a read; at the end of the bytes it returns [io.EOF].
func (e *End) TryRead(p []byte) (int, error) {
	e.in.begin()
	defer e.in.end()
	if e.closed.Load() {
		return 0, e.closedError("read")
	}
	return e.tryOnce("read", p, e.onceRead)
}

func (e *End) tryOnce(op string, p []byte, once func([]byte) (int, error)) (int, error) {
	if e.io == Blocking {
		return 0, e.failed("try to "+op, errTryBlocks)
	}
	return once(p)
}

// Writable reports whether poll(2) calls the end writable now. Not every write succeeds then, and some succeed when it does not.
func (e *End) Writable() (bool, error) { return e.ready("poll", true) }

// Readable reports whether poll(2) calls the end readable now, which it is at the end of the bytes too.
func (e *End) Readable() (bool, error) { return e.ready("poll", false) }

func (e *End) ready(op string, write bool) (bool, error) {
	if !e.enter() {
		return false, e.closedError(op)
	}
	defer e.leave()
	ok, err := e.pollNow(write)
	if err != nil {
		return false, e.failed(op, err)
	}
	return ok, nil
}
