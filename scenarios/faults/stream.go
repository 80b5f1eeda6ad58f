package faults

import (
	"errors"
	"io"

	"github.com/pipebench/pipebench/scenarios/faults/actor"
	"github.com/pipebench/pipebench/syspipe"
)

// ErrStarved is what a reader gets that asks for more than was ever sent: on a
// stream that stays open it would wait for ever.
var ErrStarved = errors.New("waits for bytes that nobody sends")

// Deliver sends bytes through a real pipe to receive. Where the stream stays
// open, a read beyond the last byte fails with ErrStarved in place of waiting;
// else it meets the end of file.
func Deliver(sent []byte, open bool, receive func(io.Reader) error) error {
	w, r, err := syspipe.Open(syspipe.Anonymous, 0)
	if err != nil {
		return err
	}
	if err := actor.Park(w, r); err != nil {
		return errors.Join(err, w.Close(), r.Close())
	}
	written := make(chan error, 1)
	go func() {
		_, err := w.Write(sent)
		written <- errors.Join(err, w.Close())
	}()
	err = receive(&patientReader{r: r, left: len(sent), open: open})
	r.Close() // the writer may still be at it
	<-written // and fails then, as it should
	return err
}

// A patientReader knows how much was sent.
type patientReader struct {
	r    io.Reader
	left int
	open bool
}

func (p *patientReader) Read(b []byte) (int, error) {
	if p.left == 0 && p.open {
		return 0, ErrStarved
	}
	n, err := p.r.Read(b)
	p.left -= n
	return n, err
}
