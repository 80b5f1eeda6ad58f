//go:build unix

package yardstick

import (
	"os/exec"
	"syscall"
)

// together makes a deadline end both ends of the program: the forked one would
// wait for ever for the other.
func together(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
