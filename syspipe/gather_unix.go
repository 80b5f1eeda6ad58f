//go:build linux || darwin || freebsd

package syspipe

import (
	"syscall"
	"unsafe"
)

// maxIovecs is IOV_MAX, the same on Linux, macOS and FreeBSD.
const maxIovecs = 1024

// A gather is the state of one Writev: the bytes that it still has to write. Each End has one, so
// that Writev allocates nothing.
type gather struct {
	try   func(fd uintptr) bool // tryWritev, for Go's poller
	vecs  []syscall.Iovec       // what is left to write
	store []syscall.Iovec       // the memory behind vecs, kept for the next Writev
	most  int                   // the largest number of vectors in one call
	n     int64                 // bytes that the kernel has accepted
	left  int64                 // bytes that the kernel has not accepted yet
	errno syscall.Errno         // of the last call
}

func (e *End) writev(bufs [][]byte) (int64, error) {
	g := &e.gather
	g.load(bufs)
	g.most = maxIovecs
	if e.kind == PTY {
		g.most = 1 // a single vector goes to sysWrite, which turns a terminal's EIO into EPIPE
	}
	err := e.writeGathered()
	clear(g.store) // keep no pointer to the caller's buffers
	if g.left == 0 {
		return g.n, nil
	}
	if err == nil {
		err = g.errno
	}
	return g.n, e.writeFailed(g.n, err)
}

// writeGathered writes what the gather holds. It returns an error only if waiting for room failed.
// The error of a failed write is in e.gather.errno.
func (e *End) writeGathered() error {
	if e.file != nil {
		return e.conn.Write(e.gather.try)
	}
	for !e.tryWritev(uintptr(e.fd)) {
		if err := e.wait(writes); err != nil {
			return err
		}
	}
	return nil
}

// load makes a vector of each buffer that is not empty.
func (g *gather) load(bufs [][]byte) {
	g.n = 0
	g.left = 0
	g.errno = 0
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

// tryWritev writes until the kernel has accepted everything or a call fails. It returns false if
// the call failed with EAGAIN.
func (e *End) tryWritev(uintptr) bool {
	g := &e.gather
	for g.left > 0 {
		vecs := g.vecs[:min(len(g.vecs), g.most)]
		offered := 0
		for _, v := range vecs {
			offered += int(v.Len)
		}
		n, errno := e.sysWritev(vecs)
		e.out.account(offered, n, errno)
		g.errno = errno
		switch errno {
		case 0:
			g.advance(n)
		case syscall.EINTR: // try again
		default:
			return errno != syscall.EAGAIN
		}
	}
	return true
}

// sysWritev makes one system call. For a single vector this is write(2), because it is faster.
func (e *End) sysWritev(vecs []syscall.Iovec) (int, syscall.Errno) {
	if len(vecs) == 1 {
		return e.sysWrite(unsafe.Slice(vecs[0].Base, vecs[0].Len))
	}
	return sysWritev(e.fd, vecs)
}

// advance drops n bytes, which the kernel has accepted, from what is left to write.
func (g *gather) advance(n int) {
	g.n += int64(n)
	g.left -= int64(n)
	for n > 0 {
		v := &g.vecs[0]
		size := int(v.Len)
		if n >= size {
			n -= size
			g.vecs = g.vecs[1:]
			continue
		}
		v.Base = (*byte)(unsafe.Add(unsafe.Pointer(v.Base), n))
		v.SetLen(size - n)
		return
	}
}
