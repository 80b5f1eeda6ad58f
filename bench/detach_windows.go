package bench

import (
	"os/exec"
	"syscall"
)

// detach keeps a console's Ctrl-C from the worker: it is the controller's to
// end it, after the records are kept.
func detach(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.CreationFlags |= syscall.CREATE_NEW_PROCESS_GROUP
}
