package framers

import "golang.org/x/sys/unix"

// An iovec is a piece of a gather list. macOS has no stable system call numbers, so x/sys makes
// what the kernel takes.
type iovec = []byte

func newIovec(b []byte) iovec { return b }

func writeIovecs(fd uintptr, pieces []iovec) (int, error) { return unix.Writev(int(fd), pieces) }

func iovecBytes(v *iovec) int { return len(*v) }

// cutIovec drops the first n bytes of a piece that has more.
func cutIovec(v *iovec, n int) { *v = (*v)[n:] }
