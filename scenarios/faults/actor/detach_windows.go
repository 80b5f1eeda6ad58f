package actor

import (
	"os/exec"
	"syscall"
)

// detach keeps a console's Ctrl-C from the actor: it is the director's to end
// it.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
