package syspipe

import (
	"os"

	"golang.org/x/sys/unix"
)

// wakeThreads interrupts all threads that wait in a system call, so that the call returns or starts
// over. It sends each thread a SIGURG, as Go's scheduler does.
func wakeThreads() error {
	const allButCaller = ^uintptr(0) // -1, see thr_kill(2)
	_, _, errno := unix.Syscall(unix.SYS_THR_KILL, allButCaller, uintptr(unix.SIGURG), 0)
	if errno != 0 {
		return os.NewSyscallError("thr_kill", errno)
	}
	return nil
}
