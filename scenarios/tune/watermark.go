package tune

import (
	"errors"
	"fmt"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/syspipe"
)

// A watermark is a sender that keeps the unread bytes of a pipe low: it offers
// a frame when fewer than a number of bytes wait to be read. No system tells a
// writer when that is so, so it looks, sleeps, and looks again. It belongs to
// one goroutine at a time.
type watermark struct {
	pipe  *syspipe.End
	clock *bench.Clock
	below int // bytes
}

// lookAgain is how long it sleeps between two looks, in nanoseconds: less than
// a reader of 200 MB/s takes for a page.
const lookAgain = 15_000

// patience is how long it waits for a reader that takes nothing at all, in
// nanoseconds. Then it writes: if the reader is gone the write says so.
const patience = 5_000_000_000

func (w *watermark) Write(p []byte) (int, error) {
	if err := w.await(); err != nil {
		return 0, err
	}
	return w.pipe.Write(p)
}

// Writev lets a frame out whole, as the pipe's own does.
func (w *watermark) Writev(bufs [][]byte) (int64, error) {
	if err := w.await(); err != nil {
		return 0, err
	}
	return w.pipe.Writev(bufs)
}

func (w *watermark) await() error {
	began := int64(0)
	for {
		unread, err := w.pipe.Buffered()
		if err != nil {
			return fmt.Errorf("keep unread bytes below %d: %w", w.below, err)
		}
		if unread < w.below {
			return nil
		}
		now := w.clock.Now()
		if began == 0 {
			began = now
		}
		if now-began > patience {
			return nil
		}
		w.clock.Await(now+lookAgain, false)
	}
}

// watched is why the bytes that wait in a kind of pipe cannot be seen from the
// end that writes; nil where they can.
func watched(kind string) error {
	w, r, err := syspipe.Open(syspipe.Kind(kind), 0)
	if err != nil {
		return err
	}
	_, err = w.Buffered()
	return errors.Join(err, w.Close(), r.Close())
}
