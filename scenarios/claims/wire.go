package claims

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/faults/actor"
	"github.com/pipebench/pipebench/syspipe"
)

// open makes an anonymous pipe whose ends wait in Go's poller.
func open() (w, r *syspipe.End, err error) {
	if w, r, err = syspipe.Open(syspipe.Anonymous, 0); err != nil {
		return nil, nil, err
	}
	if err := actor.Park(w, r); err != nil {
		return nil, nil, errors.Join(err, w.Close(), r.Close())
	}
	return w, r, nil
}

// stallAfter is how long a write may wait before it counts as stalled: nobody
// reads, so nothing can end the wait.
const stallAfter = 150 * time.Millisecond

// A Stall is what became of writing where nobody reads.
type Stall struct {
	Offered  int64  `json:"offered"`  // bytes
	Accepted int64  `json:"accepted"` // by the kernel
	Stalled  bool   `json:"stalled"`  // the write was still waiting when it was given up
	Short    uint64 `json:"short"`    // calls that took only part
	EAGAIN   uint64 `json:"eagain"`   // calls that were refused for now
	Error    string `json:"error,omitempty"`
}

// writeUnread writes to a pipe that nobody reads, and gives up when that waits.
func writeUnread(wait syspipe.IO, offered int64, write func(*syspipe.End) error) (Stall, error) {
	s := Stall{Offered: offered}
	w, r, err := syspipe.Open(syspipe.Anonymous, 0)
	if err != nil {
		return s, err
	}
	defer r.Close()
	defer w.Close()
	if err := w.SetIO(wait); err != nil {
		return s, err
	}
	timer := time.AfterFunc(stallAfter, func() { w.Close() })
	err = write(w)
	timer.Stop()
	s.Stalled = errors.Is(err, os.ErrClosed)
	if err != nil && !s.Stalled {
		s.Error = err.Error()
	}
	c := w.Counters()
	s.Accepted, s.Short, s.EAGAIN = int64(c.Bytes), c.Short, c.EAGAIN
	return s, nil
}

// writeBytes is a plain write of n bytes.
func writeBytes(n int) func(*syspipe.End) error {
	return func(w *syspipe.End) error {
		_, err := w.Write(make([]byte, n))
		return err
	}
}

// exchange sends messages through a pipe in one framing, and gives what
// arrives to receive.
func exchange(f framers.Framing, messages [][]byte, receive func(framers.Reader) error, opts ...framers.Option) error {
	return through(func(w io.Writer) error {
		out := f.NewWriter(w)
		for _, msg := range messages {
			if err := out.WriteMessage(msg); err != nil {
				return err
			}
		}
		return nil
	}, func(r io.Reader) error { return receive(f.NewReader(r, opts...)) })
}

// through sends whatever send writes through a pipe to receive. What the
// sender meets when the receiver leaves early is no error.
func through(send func(io.Writer) error, receive func(io.Reader) error) error {
	w, r, err := open()
	if err != nil {
		return err
	}
	sent := make(chan error, 1)
	go func() { sent <- errors.Join(send(w), w.Close()) }()
	err = receive(r)
	r.Close()
	if e := <-sent; err == nil && !errors.Is(e, syscall.EPIPE) {
		err = e
	}
	return err
}

// keep sends a message of size bytes, and small ones after it, to a keeper.
func keep(ctx context.Context, args keeperArgs, size int64, send func(io.Writer) error) (Kept, error) {
	k := Kept{Size: size}
	w, r, err := syspipe.Open(syspipe.Anonymous, 0)
	if err != nil {
		return k, err
	}
	defer w.Close()
	a, err := actor.Prepare(ctx, "keeper", args, r)
	if err != nil {
		return k, err
	}
	defer a.Dismiss()
	if err := errors.Join(actor.Park(w), a.Start()); err != nil {
		return k, err
	}
	sent := make(chan error, 1)
	go func() { sent <- errors.Join(send(w), w.Close()) }()
	if err := a.Report(&k); err != nil {
		return k, err
	}
	k.Size = size
	if err := <-sent; err != nil && !errors.Is(err, syscall.EPIPE) {
		return k, err
	}
	return k, nil
}

// message is JSON of exactly n bytes.
func message(n int) []byte {
	const head, tail = `{"jsonrpc":"2.0","id":1,"text":"`, `"}`
	p := make([]byte, 0, max(n, len(head)+len(tail)))
	p = append(p, head...)
	for len(p) < n-len(tail) {
		p = append(p, 'a'+byte(len(p)%26))
	}
	return append(p, tail...)
}
