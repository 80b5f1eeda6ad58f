//go:build unix

package client

import (
	"os"
	"os/exec"
	"syscall"
)

// apart puts a child and what it starts into a process group: they end together, and Ctrl-C is this process's to act on.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate asks a child and its own to end.
func terminate(p *os.Process) { signalGroup(p, syscall.SIGTERM) }

// kill ends a child and its own.
func kill(p *os.Process) { signalGroup(p, syscall.SIGKILL) }

// signalGroup signals the group of a child that has not been reaped: Signal fails for one that has, whose number may be
// another's by now.
func signalGroup(p *os.Process, s syscall.Signal) {
	if p.Signal(syscall.Signal(0)) == nil {
		_ = syscall.Kill(-p.Pid, s)
	}
}

// exitCode is the code of a process that has ended, or 128 + the signal that ended it, as shells say it; -1 if it could not be
// waited for.
func exitCode(s *os.ProcessState) int {
	if s == nil {
		return -1
	}
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}
