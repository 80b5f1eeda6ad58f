package syspipe

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// pipeCapacity returns how many bytes a pipe holds, as the kernel states it.
func pipeCapacity(_ Kind, fd int) (int, error) {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0)
	return n, os.NewSyscallError("F_GETPIPE_SZ", err)
}

// setPipeCapacity asks the kernel for a capacity of n bytes. If the kernel refuses, the error says
// why.
func setPipeCapacity(kind Kind, fd int, n int) error {
	var err error = unix.EINVAL // the kernel's error for sizes above maxPipe
	if n <= maxPipe {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, n)
	}
	if err == nil {
		return nil
	}
	refused := &CapacityError{Kind: kind, Asked: n, Err: os.NewSyscallError("F_SETPIPE_SZ", err)}
	limit, _ := ReadLimit(maxSizeFile)
	switch {
	case n > maxPipe:
		refused.Where = "a pipe holds at most 2 GiB"
	case err == unix.EBUSY:
		refused.Where = "more than that is in the pipe now; read it first"
	case err != unix.EPERM: // the cause is not known
	case n > limit:
		refused.Limit = limit
		refused.Where = "fs.pipe-max-size, in " + maxSizeFile
	default:
		pages, _ := ReadLimit(softPagesFile)
		refused.Where = "the pipes of this user together have reached fs.pipe-user-pages-soft: " +
			strconv.Itoa(pages) + " pages, in " + softPagesFile
	}
	return refused
}

const (
	maxSizeFile   = "/proc/sys/fs/pipe-max-size"
	softPagesFile = "/proc/sys/fs/pipe-user-pages-soft"
)

// buffered uses the ioctl FIONREAD, which x/sys calls TIOCINQ.
func (e *End) buffered() (int, error) {
	if e.kind == PTY { // its answer leaves out bytes on their way to the reading side
		return 0, unsupported("asking a pseudo-terminal")
	}
	// The kernel writes a C int. IoctlGetInt would misread that on big-endian machines.
	n, err := unix.IoctlGetUint32(e.fd, unix.TIOCINQ)
	return int(n), os.NewSyscallError("FIONREAD", err)
}

// socketBufferScale is what SO_SNDBUF returns, divided by what it was set to: Linux doubles it
// (socket(7)).
const socketBufferScale = 2

// socketLimit is empty, because Linux refuses no size: net.core.wmem_max replaces a larger one.
const socketLimit = ""
