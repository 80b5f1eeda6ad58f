//go:build linux || freebsd

package framers

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// An iovec is a piece of a gather list as the kernel takes it.
type iovec = unix.Iovec

func newIovec(b []byte) iovec {
	v := iovec{Base: &b[0]}
	v.SetLen(len(b))
	return v
}

func writeIovecs(fd uintptr, pieces []iovec) (int, error) {
	n, _, errno := unix.Syscall(unix.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&pieces[0])), uintptr(len(pieces)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

func iovecBytes(v *iovec) int { return int(v.Len) }

// cutIovec drops the first n bytes of a piece that has more.
func cutIovec(v *iovec, n int) {
	v.Base = (*byte)(unsafe.Add(unsafe.Pointer(v.Base), n))
	v.SetLen(int(v.Len) - n)
}
