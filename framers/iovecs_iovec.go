//go:build linux || freebsd

package framers

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// pieces are what is left of a gather list, as the kernel takes it: made once, and shortened as it
// is written.
type iovecs struct {
	all  []unix.Iovec
	left []unix.Iovec
}

func (p *iovecs) set(bufs [][]byte) {
	p.all = p.all[:0]
	for _, b := range bufs {
		if len(b) > 0 {
			v := unix.Iovec{Base: &b[0]}
			v.SetLen(len(b))
			p.all = append(p.all, v)
		}
	}
	p.left = p.all
}

func (p *iovecs) clear() {
	clear(p.all)
	p.left = nil
}

func (p *iovecs) empty() bool { return len(p.left) == 0 }

func (p *iovecs) write(fd int) (int, error) {
	n, _, errno := unix.Syscall(unix.SYS_WRITEV, uintptr(fd), uintptr(unsafe.Pointer(&p.left[0])), uintptr(min(len(p.left), maxGather)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

func (p *iovecs) advance(n int) {
	for n > 0 {
		v := &p.left[0]
		if n < int(v.Len) {
			v.Base = (*byte)(unsafe.Add(unsafe.Pointer(v.Base), n))
			v.SetLen(int(v.Len) - n)
			return
		}
		n -= int(v.Len)
		p.left = p.left[1:]
	}
}
