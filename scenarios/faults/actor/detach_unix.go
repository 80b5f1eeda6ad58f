//go:build unix

package actor

import (
	"os/exec"
	"syscall"
)

// detach keeps a terminal's Ctrl-C from the actor: it is the director's to end
// it.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
