//go:build darwin || freebsd

package tap

import (
	"os/exec"
	"syscall"
)

// setPdeathsig gives the server a group of its own, so that a terminal's signals come to it once, through us. That it ends when we are killed is
// up to it: it meets the end of its input.
func setPdeathsig(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// resetHandler does nothing: x/sys has no sigaction here. Of the signals that Go keeps for itself the exit status tells.
func resetHandler(int) {}
