//go:build linux || darwin || freebsd

package framers

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// gathers says whether Writev is one system call here.
const gathers = true

// A vector is what a gather write needs. It is kept, so that a call allocates nothing.
type vector struct {
	try  func(fd uintptr) (done bool)
	all  []iovec
	left []iovec // what of all is not written yet
	n    int64
	err  error
}

// Writev writes bufs in order. It returns the bytes written, and an error if those are not all.
func (f *File) Writev(bufs [][]byte) (int64, error) {
	v := &f.vector
	if v.try == nil {
		v.try = v.attempt
	}
	v.all = v.all[:0]
	for _, b := range bufs {
		if len(b) > 0 {
			v.all = append(v.all, newIovec(b))
		}
	}
	v.left, v.n, v.err = v.all, 0, nil
	err := f.conn.Write(v.try)
	clear(v.all) // the caller's bytes are not retained
	v.left = nil
	if v.err != nil {
		return v.n, os.NewSyscallError("writev", v.err)
	}
	if err != nil {
		// No package exports what a RawConn says of a closed file.
		if _, closed := f.Stat(); errors.Is(closed, os.ErrClosed) {
			err = os.ErrClosed
		}
		return v.n, fmt.Errorf("writev %s: %w", f.Name(), err)
	}
	return v.n, nil
}

// attempt writes until everything is written, or the descriptor would block, which it reports by
// false.
func (v *vector) attempt(fd uintptr) (done bool) {
	for len(v.left) > 0 {
		n, err := writeIovecs(fd, v.left[:min(len(v.left), maxGather)])
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return false
		case err != nil:
			v.err = err
			return true
		case n == 0:
			v.err = io.ErrUnexpectedEOF
			return true
		}
		v.n += int64(n)
		for n > 0 {
			size := iovecBytes(&v.left[0])
			if n < size {
				cutIovec(&v.left[0], n)
				break
			}
			n -= size
			v.left = v.left[1:]
		}
	}
	return true
}
