//go:build !linux && !darwin && !freebsd

package framers

import "os"

// gathers says whether Writev is one system call here. Windows has a gather write for unbuffered
// files only.
const gathers = false

// A vector composes gather lists.
type vector struct {
	f   *os.File
	buf []byte
}

func (v *vector) open(f *os.File) error {
	if f == nil {
		return os.ErrInvalid
	}
	v.f = f
	return nil
}

func (v *vector) writev(bufs [][]byte) (int64, error) {
	v.buf = v.buf[:0]
	for _, b := range bufs {
		v.buf = append(v.buf, b...)
	}
	n, err := v.f.Write(v.buf)
	if cap(v.buf) > keepCompose {
		v.buf = nil
	}
	return int64(n), err
}
