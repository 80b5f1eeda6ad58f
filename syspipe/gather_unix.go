//go:build linux || darwin || freebsd

package syspipe

import (
	"errors"
	"syscall"
	"unsafe"
)

// maxIovecs is IOV_MAX, the same on Linux, macOS and FreeBSD.
const maxIovecs = 1024

// A gather is the state of one Writev. The vectors point into the caller's buffers only while the
// call lasts.
type gather struct {
	try   func(fd uintptr) bool
	vecs  []syscall.Iovec // what is left to write
	store []syscall.Iovec // the memory behind vecs, kept between calls
	n     int64
	left  int64
	errno syscall.Errno
}

func (e *End) writev(bufs [][]byte) (int64, error) {
	g := &e.gather
	g.load(bufs)
	if e.stream != nil && !e.stream.gathers(e, g.left) {
		clear(g.store)
		return e.writeEach(bufs)
	}
	var err error
	if e.file != nil {
		err = e.conn.Write(g.try)
	}
	for e.file == nil && err == nil && !e.tryWritev(0) {
		err = e.wait(writes)
	}
	all := g.left == 0
	clear(g.store)
	return g.n, e.writeResult(g.n, all, g.errno, err)
}

// writeEach is a gather write where only single buffers can be written.
func (e *End) writeEach(bufs [][]byte) (total int64, err error) {
	for _, b := range bufs {
		if len(b) == 0 {
			continue
		}
		n, err := e.write(b)
		total += int64(n)
		if err != nil {
			return total, acceptedBefore(err, total)
		}
	}
	return total, nil
}

// acceptedBefore puts the count of a whole gather write into the error of one of its buffers.
func acceptedBefore(err error, total int64) error {
	if broken := (*BrokenPipeError)(nil); errors.As(err, &broken) {
		broken.Accepted = total
	}
	return err
}

func (g *gather) load(bufs [][]byte) {
	g.n, g.left, g.errno = 0, 0, 0
	g.store = g.store[:0]
	for _, b := range bufs {
		if len(b) == 0 {
			continue
		}
		v := syscall.Iovec{Base: &b[0]}
		v.SetLen(len(b))
		g.store = append(g.store, v)
		g.left += int64(len(b))
	}
	g.vecs = g.store
}

// tryWritev writes until everything is accepted or a call fails; it reports false where the call
// was refused for now.
func (e *End) tryWritev(uintptr) bool {
	g := &e.gather
	for g.left > 0 {
		vecs := g.vecs[:min(len(g.vecs), maxIovecs)]
		n, errno := sysWritev(e.fd, vecs)
		switch g.errno = e.out.account(g.offered(vecs), n, errno); g.errno {
		case 0:
			g.advance(n)
		case syscall.EINTR:
		default:
			return g.errno != syscall.EAGAIN
		}
	}
	return true
}

// offered returns the bytes of a call with vecs: all that is left, but where IOV_MAX cut the list.
func (g *gather) offered(vecs []syscall.Iovec) int {
	if len(vecs) == len(g.vecs) {
		return int(g.left)
	}
	n := 0
	for _, v := range vecs {
		n += int(v.Len)
	}
	return n
}

// advance drops the first n bytes of what is left.
func (g *gather) advance(n int) {
	g.n += int64(n)
	g.left -= int64(n)
	for n > 0 {
		v := &g.vecs[0]
		if size := int(v.Len); n >= size {
			n -= size
			g.vecs = g.vecs[1:]
			continue
		}
		v.Base = (*byte)(unsafe.Add(unsafe.Pointer(v.Base), n))
		v.SetLen(int(v.Len) - n)
		return
	}
}
