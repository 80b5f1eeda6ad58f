//go:build unix

package faults

import "syscall"

const stdout = 1

// setStdoutBlocking changes the mode of standard output, for all who share it.
func setStdoutBlocking(blocking bool) error { return syscall.SetNonblock(stdout, !blocking) }

// writeStdoutOnce makes one system call. refused says that a non-blocking standard output had no
// room.
func writeStdoutOnce(p []byte) (n int, refused bool, err error) {
	n, err = syscall.Write(stdout, p)
	for err == syscall.EINTR {
		n, err = syscall.Write(stdout, p)
	}
	if err == syscall.EAGAIN {
		return 0, true, nil
	}
	return max(n, 0), false, err
}
