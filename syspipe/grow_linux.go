package syspipe

import "golang.org/x/sys/unix"

// maxPipe is the largest size to ask for: F_SETPIPE_SZ cuts its argument to 32 bits, so it would
// take a larger one for a small one.
const maxPipe = 1<<31 - 1

func (e *End) grow(n int) (int, error) {
	if e.kind.IsPipe() {
		return growPipe(e.kind, e.fd, n)
	}
	now, err := e.capacity()
	if err == nil && now < n {
		err = unsupported("growing a " + e.kind.noun())
	}
	return now, err
}

// growPipe asks for n bytes. If the kernel refuses, growPipe asks for the limit of one pipe, then
// for half as much, and so on until the kernel agrees: even the limit may be refused, if this
// user's pipes hold many pages already. growPipe returns what the pipe holds then, and the first
// refusal.
func growPipe(kind Kind, fd int, n int) (int, error) {
	now, err := pipeCapacity(kind, fd)
	if err != nil || now >= n {
		return now, err
	}
	refused := setPipeCapacity(kind, fd, n)
	if refused == nil {
		return pipeCapacity(kind, fd)
	}
	size := uint64(n) / 2
	if limit, ok := ReadLimit(maxSizeFile); ok && n > limit {
		size = uint64(limit)
	}
	const half = 1 << 30 // of 2 GiB, the most that a pipe can hold
	for size = min(size, half); size > uint64(now); size /= 2 {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, int(size))
		if err == nil {
			break
		}
	}
	now, err = pipeCapacity(kind, fd)
	if err != nil {
		return now, err
	}
	return now, refused
}
