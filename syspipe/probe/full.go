package probe

import (
	"errors"
	"io"
	"runtime"
	"syscall"
)

// probeAllOrNothing looks for the largest write that never goes in by halves: by bisection, as a
// write that is split stays so when larger.
func probeAllOrNothing(t *trial) error {
	if !t.isPipe() {
		return t.allOrNothingSocket()
	}
	_, _, capacity, err := t.full()
	if err != nil {
		return err
	}
	whole, split := 0, capacity+1
	for split-whole > 1 {
		n := (whole + split) / 2
		parted, err := t.splits(n, capacity)
		if err != nil {
			return err
		}
		if parted {
			split = n
		} else {
			whole = n
		}
	}
	f := t.finding("all-or-nothing", whole, "B", "the largest n of which a write, with n - 1 bytes free, is refused rather than taken in part")
	return t.emitAtomic(f)
}

// allOrNothingSocket tries the usual sizes: what fits a socket depends on how it was written, so
// there is no saying what is free.
func (t *trial) allOrNothingSocket() error {
	slot, err := t.slot()
	if err != nil {
		return err
	}
	whole := 0
	for _, n := range fillSizes(slot) {
		w, r, err := t.open()
		if err != nil {
			return err
		}
		_, last, err := fill(w, n)
		if err := errors.Join(err, w.Close(), r.Close()); err != nil {
			return err
		}
		if last > 0 {
			break
		}
		whole = n
	}
	return t.emit(t.finding("all-or-nothing", whole, "B", "the largest size tried below which writes that fill it were never taken in part"))
}

// emitAtomic emits a size that should be how much a pipe takes all or nothing of: a slot on Linux,
// PIPE_BUF on the BSDs.
func (t *trial) emitAtomic(f Finding) error {
	switch {
	case t.onLinux():
		slot, err := t.slot()
		if err != nil {
			return err
		}
		return t.predicted(f, slot)
	case t.isPipe() && (runtime.GOOS == "darwin" || runtime.GOOS == "freebsd"):
		return t.predicted(f, bsdPipeBuf)
	}
	return t.emit(f)
}

// splits reports whether a write of n bytes is taken in part where n - 1 bytes are free.
func (t *trial) splits(n, capacity int) (bool, error) {
	w, r, err := t.open()
	if err != nil {
		return false, err
	}
	defer func() { w.Close(); r.Close() }()
	for left := capacity - (n - 1); left > 0; {
		k, err := w.TryWrite(make([]byte, left))
		if err != nil {
			return false, err
		}
		left -= k
	}
	k, err := w.TryWrite(make([]byte, n))
	if errors.Is(err, syscall.EAGAIN) {
		return false, nil
	}
	return k < n, err
}

func probePoll(t *trial) error {
	w, r, capacity, err := t.full()
	if err != nil {
		return err
	}
	if _, err := w.Writable(); errors.Is(err, errors.ErrUnsupported) {
		return t.emit(t.finding("poll/writable-after", "unsupported", "", err.Error()))
	}
	n, err := readUntil(r, capacity, w.Writable)
	if err != nil {
		return err
	}
	f := t.finding("poll/writable-after", n, "B", "bytes read from a full pipe until poll(2) calls it writable")
	return t.emitAtomic(f)
}

func probeFull(t *trial) error {
	w, r, capacity, err := t.full()
	if err != nil {
		return err
	}
	_, werr := w.TryWrite([]byte{1})
	f := t.finding("full/write", errorName(werr), "", "write one byte to a full pipe that does not block")
	if err := t.emit(f.compare("EAGAIN", "POSIX write")); err != nil {
		return err
	}
	if n, err := r.Buffered(); err == nil {
		f := t.finding("full/buffered", n, "B", "ask the reading end how much is in it (FIONREAD)")
		if err := t.emit(f.compare(capacity, "the bytes that were accepted")); err != nil {
			return err
		}
	}
	for {
		if _, err := r.TryRead(make([]byte, 1<<20)); err != nil {
			f := t.finding("empty/read", errorName(err), "", "read from an empty pipe that does not block")
			return t.emit(f.compare("EAGAIN", "POSIX read"))
		}
	}
}

// errorName names an outcome as the manual pages do.
func errorName(err error) string {
	switch {
	case err == nil:
		return "success"
	case errors.Is(err, syscall.EAGAIN):
		return "EAGAIN"
	case errors.Is(err, syscall.ECONNRESET): // before EPIPE, which every broken pipe is too
		return "ECONNRESET"
	case errors.Is(err, syscall.EPIPE):
		return "EPIPE"
	case errors.Is(err, io.EOF):
		return "EOF"
	}
	return err.Error()
}
