//go:build unix

package failures

import "syscall"

const stdout = 1

// setStdoutNonblocking changes the mode of standard output, for all processes that share it.
func setStdoutNonblocking() error { return syscall.SetNonblock(stdout, true) }

// writeStdout writes p with one system call. If a signal interrupts the call, writeStdout repeats
// it. The result refused is true if standard output is non-blocking and had no room.
func writeStdout(p []byte) (n int, refused bool, err error) {
	n, err = syscall.Write(stdout, p)
	for err == syscall.EINTR {
		n, err = syscall.Write(stdout, p)
	}
	if err == syscall.EAGAIN {
		return 0, true, nil
	}
	return max(n, 0), false, err
}
