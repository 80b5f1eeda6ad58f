//go:build unix

package check

import (
	"syscall"

	"github.com/pipebench/pipebench/syspipe/proc"
)

// separate gives the process a session of its own, without our terminal.
func separate(p *proc.Process) { p.Cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// withoutInput is the command that runs argv with descriptor 0 closed, which os/exec cannot.
func withoutInput(argv []string) ([]string, error) {
	return append([]string{"sh", "-c", `exec "$@" <&-`, "sh"}, argv...), nil
}
