package client

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// reap waits for a child and ends what it has left behind in its group. The group is signalled while the child is a zombie:
// its number can be nobody else's then.
func reap(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			break
		}
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait() // the state has it all
}
