package syspipe

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// wakeThreads interrupts all threads that wait in a system call, so that the call returns or starts
// over. It sends each thread a SIGURG, as Go's scheduler does.
func wakeThreads() error {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, t := range tasks {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		err = unix.Tgkill(os.Getpid(), tid, unix.SIGURG)
		if err != nil && !errors.Is(err, unix.ESRCH) { // the thread may have ended meanwhile
			return os.NewSyscallError("tgkill", err)
		}
	}
	return nil
}
