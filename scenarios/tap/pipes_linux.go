package tap

import "golang.org/x/sys/unix"

// capacityOf is what a pipe holds, in bytes.
func capacityOf(fd int) int {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		return 0
	}
	return n
}
