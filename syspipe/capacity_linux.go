package syspipe

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// pipeCapacity returns what the kernel says that a pipe holds.
func pipeCapacity(_ Kind, fd int) (int, error) {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0)
	return n, os.NewSyscallError("F_GETPIPE_SZ", err)
}

// setPipeCapacity says why, where the kernel does not set a capacity. EPERM is either the limit of
// one pipe or that of all pipes of this user; which of them it was follows from the size, never
// from who the user is.
func setPipeCapacity(kind Kind, fd int, n int) error {
	var err error = unix.EINVAL // what the kernel says of sizes that are too large for it alone
	if n <= maxPipe {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, n)
	}
	if err == nil {
		return nil
	}
	e := &CapacityError{Kind: kind, Asked: n, Err: os.NewSyscallError("F_SETPIPE_SZ", err)}
	limit, _ := ReadLimit(maxSizeFile)
	switch {
	case err == unix.EBUSY:
		e.Where = "more than that is in the pipe now; read it first"
	case err != unix.EPERM:
		e.Where = "a pipe holds at most 2 GiB"
	case n > limit:
		e.Limit = limit
		e.Where = "fs.pipe-max-size, in " + maxSizeFile
	default:
		pages, _ := ReadLimit(softPagesFile)
		e.Where = "the pipes of this user together have reached fs.pipe-user-pages-soft: " +
			strconv.Itoa(pages) + " pages, in " + softPagesFile
	}
	return e
}

const (
	maxSizeFile   = "/proc/sys/fs/pipe-max-size"
	softPagesFile = "/proc/sys/fs/pipe-user-pages-soft"
)

// buffered asks by TIOCINQ, which is FIONREAD; x/sys knows only the former.
func (e *End) buffered() (int, error) {
	if e.kind == PTY { // it counts what the reader has been handed, and not what waits for that
		return 0, unsupported("asking a pseudo-terminal")
	}
	// An int of C, which IoctlGetInt misreads on machines that have the big end first.
	n, err := unix.IoctlGetUint32(e.fd, unix.TIOCINQ)
	return int(n), os.NewSyscallError("FIONREAD", err)
}

// socketBufferScale: Linux doubles what SO_SNDBUF is set to, for its bookkeeping, and returns the
// double (socket(7)).
const socketBufferScale = 2

const socketLimit = "net.core.wmem_max, in /proc/sys/net/core/wmem_max"
