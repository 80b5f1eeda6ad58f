package framers

import (
	"encoding/binary"
	"io"
	"math"
)

// lengthPrefix puts a 4-byte big-endian length before the message:
//
//	00 00 00 05 h e l l o
type lengthPrefix struct{}

const prefixBytes = 4

// LengthPrefix returns the framing that puts a 4-byte big-endian length before each message. It carries every message
// of less than 4 GiB, the empty one too, and is the floor that a framing can reach.
func LengthPrefix() Framing { return lengthPrefix{} }

func (lengthPrefix) String() string { return "length-prefix" }

func (f lengthPrefix) NewWriter(w io.Writer, opts ...Option) Writer {
	return &lengthWriter{set: newSettings(opts), out: newOutlet(w)}
}

func (f lengthPrefix) NewReader(r io.Reader, opts ...Option) Reader {
	s := newSettings(opts)
	return &lengthReader{body: newBody(r, s)}
}

func (lengthPrefix) carries(msg []byte, _ *settings) error {
	if most := uint64(math.MaxUint32); uint64(len(msg)) > most {
		return &PayloadError{Offset: int(most), Err: ErrLength}
	}
	return nil
}

func (lengthPrefix) wireSize(size int64) (int64, bool) {
	return size + prefixBytes, size <= math.MaxUint32
}

type lengthWriter struct {
	set    settings
	out    outlet
	prefix [prefixBytes]byte
}

func (w *lengthWriter) WriteMessage(msg []byte) error {
	if err := check(lengthPrefix{}, msg, &w.set); err != nil {
		return err
	}
	binary.BigEndian.PutUint32(w.prefix[:], uint32(len(msg)))
	return w.out.send(w.prefix[:], msg)
}

type lengthReader struct{ body }

func (r *lengthReader) ReadMessage() ([]byte, error) {
	if err := r.ready(); err != nil {
		return nil, err
	}
	if !r.declared {
		if err := r.prefix(); err != nil {
			return nil, err
		}
	}
	return r.deliver()
}

func (r *lengthReader) prefix() error {
	in := &r.in
	start := in.offset(in.base)
	for in.end-in.base < prefixBytes {
		if err := in.fill(0); err != nil {
			if in.base != in.end {
				err = inside(err)
			}
			return err
		}
	}
	n := binary.BigEndian.Uint32(in.held())
	in.base += prefixBytes
	in.pos = in.base
	r.declare(int64(n), start)
	return nil
}
