package client

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// apart puts a child into a process group of its own, which is what Ctrl-Break can be sent to.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// terminate asks a child to end. One without a console does not hear it.
func terminate(p *os.Process) {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.Pid))
}

// kill ends a child; what it started is not ended.
func kill(p *os.Process) { _ = p.Kill() }

// exitCode is the code of a process that has ended, or -1 if it could not be waited for.
func exitCode(s *os.ProcessState) int { return s.ExitCode() }
