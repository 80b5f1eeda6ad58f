package probe

import (
	"errors"
	"syscall"

	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/script"
)

// probeAllOrNothing looks for the largest write that never goes in by halves: by bisection, as a
// write that is split stays so when larger. What fits a socket depends on how it was written, so
// there is no saying what is free: for one, the usual sizes are tried.
func probeAllOrNothing(t *trial) {
	if t.kind == syspipe.SocketPair {
		whole := 0
		for _, n := range fillSizes(t.slot()) {
			w, r := t.open()
			_, last := fill(w, n)
			script.Check(errors.Join(w.Close(), r.Close()))
			if last > 0 {
				break
			}
			whole = n
		}
		t.found("all-or-nothing", whole, "B", "the largest size tried below which writes that fill it were never taken in part")
		return
	}
	_, _, capacity := t.full()
	whole, split := 0, capacity+1
	for split-whole > 1 {
		if n := (whole + split) / 2; t.splits(n, capacity) {
			split = n
		} else {
			whole = n
		}
	}
	t.found("all-or-nothing", whole, "B", "the largest n of which a write, with n - 1 bytes free, is refused rather than taken in part")
}

// splits reports whether a write of n bytes is taken in part where n - 1 bytes are free.
func (t *trial) splits(n, capacity int) bool {
	w, r := t.open()
	defer func() { w.Close(); r.Close() }()
	for left := capacity - (n - 1); left > 0; {
		left -= script.Must(w.TryWrite(make([]byte, left)))
	}
	k, err := w.TryWrite(make([]byte, n))
	if errors.Is(err, syscall.EAGAIN) {
		return false
	}
	script.Check(err)
	return k < n
}

func probePoll(t *trial) {
	w, r, capacity := t.full()
	if _, err := w.Writable(); errors.Is(err, errors.ErrUnsupported) {
		t.found("poll/writable-after", "unsupported", "", err.Error())
		return
	}
	n := readUntil(r, capacity, w.Writable)
	t.found("poll/writable-after", n, "B", "bytes read from a full pipe until poll(2) calls it writable")
}

func probeFull(t *trial) {
	w, r, capacity := t.full()
	_, err := w.TryWrite([]byte{1})
	t.found("full/write", errorName(err), "", "write one byte to a full pipe that does not block")
	if n, err := r.Buffered(); err == nil {
		f := t.finding("full/buffered", n, "B", "ask the reading end how much is in it (FIONREAD)")
		t.emit(f.compare(capacity, "the bytes that were accepted"))
	}
	for err = nil; err == nil; {
		_, err = r.TryRead(make([]byte, 1<<20))
	}
	t.found("empty/read", errorName(err), "", "read from an empty pipe that does not block")
}
