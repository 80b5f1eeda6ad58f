//go:build unix

package drive

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// A tree is the server and the processes it started: a process group of its own, so that a terminal's Ctrl-C leaves it to us, and a wrapper
// such as npx does not outlive or leave behind what it wraps.
type tree struct{ group int }

func (t *tree) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	t.group = cmd.Process.Pid
	return nil
}

func (t *tree) terminate() { t.signal(unix.SIGTERM) }
func (t *tree) kill()      { t.signal(unix.SIGKILL) }

// signal reaches everyone in the group; that nobody is left is no fault.
func (t *tree) signal(s unix.Signal) {
	if t.group > 0 {
		unix.Kill(-t.group, s)
	}
}

// signalOf names the signal that ended the process, if one did.
func signalOf(state *os.ProcessState) (string, bool) {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return "", false
	}
	return unix.SignalName(status.Signal()), true
}
