package check

import (
	"syscall"

	"github.com/pipebench/pipebench/syspipe/proc"
)

// separate gives the process a session of its own, without our terminal. What it leaves behind is
// found by the mark.
func separate(p *proc.Process) {
	p.Cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p.Attached = true
}
