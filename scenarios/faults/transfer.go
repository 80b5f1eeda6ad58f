package faults

import (
	"errors"
	"io"
	"syscall"

	"github.com/pipebench/pipebench/syspipe"
)

// ErrStarved is what a reader gets that asks for more than was ever sent: on a stream that stays
// open it would wait for ever.
var ErrStarved = errors.New("waits for bytes that nobody sends")

// TransferBytes sends bytes through a real pipe to receive. If open is set the stream stays open: a
// read beyond the last byte fails with ErrStarved, so that nobody waits for ever. Else such a read
// meets the end of file.
func TransferBytes(sent []byte, open bool, receive func(io.Reader) error) error {
	send := func(w io.Writer) error {
		_, err := w.Write(sent)
		return err
	}
	if !open {
		return Transfer(send, receive)
	}
	return Transfer(send, func(r io.Reader) error {
		return receive(io.MultiReader(io.LimitReader(r, int64(len(sent))), starved{}))
	})
}

// A starved reader is what there is beyond the last byte that was sent.
type starved struct{}

func (starved) Read([]byte) (int, error) { return 0, ErrStarved }

// Transfer sends whatever send writes through a real pipe to receive. What the sender meets when
// the receiver leaves early is no error.
func Transfer(send func(io.Writer) error, receive func(io.Reader) error) error {
	w, r, err := OpenPipe(syspipe.Anonymous)
	if err != nil {
		return err
	}
	defer r.Close()
	defer w.Close()
	if err := PollEnds(w, r); err != nil {
		return err
	}
	sent := make(chan error, 1)
	go func() { sent <- errors.Join(send(w), w.Close()) }()
	received := receive(r)
	r.Close()
	failed := <-sent
	if received != nil {
		return received
	}
	if errors.Is(failed, syscall.EPIPE) {
		return nil
	}
	return failed
}

// PollEnds leaves the waiting of pipe ends to Go's poller where the system has one for them;
// elsewhere a read blocks its thread, which is as good here.
func PollEnds(ends ...*syspipe.End) error {
	for _, e := range ends {
		if err := e.UsePoller(); err != nil {
			return err
		}
	}
	return nil
}

// OpenPipe makes a pipe whose ends block. The caller closes both.
func OpenPipe(kind syspipe.Kind) (w, r *syspipe.End, err error) {
	return syspipe.Open(kind, syspipe.Options{IO: syspipe.Blocking})
}
