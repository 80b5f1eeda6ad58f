package syspipe

import "golang.org/x/sys/unix"

// maxPipe is the largest size to ask for. F_SETPIPE_SZ would mistake a larger size for a small one.
const maxPipe = 1<<31 - 1

// growFrom raises a pipe's capacity from current to n bytes, or to less if the kernel refuses. It
// returns the new capacity, and the error of the first refusal.
func (e *End) growFrom(current, n int) (int, error) {
	if !e.kind.IsPipe() {
		return current, unsupported("growing a " + e.kind.noun())
	}
	refused := setPipeCapacity(e.kind, e.fd, n)
	if refused == nil {
		return e.capacity()
	}
	size := uint64(n) / 2
	if limit, ok := ReadLimit(maxSizeFile); ok && n > limit {
		size = uint64(limit)
	}
	// The kernel may refuse even this size, if the pipes of this user have many pages already.
	const half = 1 << 30 // of 2 GiB, the most that a pipe can hold
	for size = min(size, half); size > uint64(current); size /= 2 {
		_, err := unix.FcntlInt(uintptr(e.fd), unix.F_SETPIPE_SZ, int(size))
		if err == nil {
			break
		}
	}
	current, err := e.capacity()
	if err != nil {
		return current, err
	}
	return current, refused
}
