//go:build unix && !linux

package check

import (
	"syscall"

	"github.com/pipebench/pipebench/syspipe/proc"
)

// separate gives the process a session of its own, without our terminal.
func separate(p *proc.Process) { p.Cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
