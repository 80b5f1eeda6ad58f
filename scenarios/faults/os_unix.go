//go:build unix

package faults

import (
	"errors"
	"syscall"
)

const stdout = 1

// setStdoutBlocking changes the mode of standard output, for all who share it.
func setStdoutBlocking(blocking bool) error { return syscall.SetNonblock(stdout, !blocking) }

// writeStdoutOnce makes one system call. refused says that a non-blocking standard output had no
// room.
func writeStdoutOnce(p []byte) (n int, refused bool, err error) {
	for {
		n, err = syscall.Write(stdout, p)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			return 0, true, nil
		case err != nil:
			return 0, false, err
		}
		return n, false, nil
	}
}
