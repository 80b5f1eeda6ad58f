package drive

import (
	"os"
	"os/exec"

	"golang.org/x/sys/windows"

	"github.com/pipebench/pipebench/syspipe"
)

// lend makes a file of the end for exec.Cmd's standard streams, which take nothing else. The caller closes it.
func lend(e *syspipe.End) (*os.File, error) {
	var carrier exec.Cmd
	if _, err := e.Pass(&carrier); err != nil {
		return nil, err
	}
	passed := windows.Handle(carrier.SysProcAttr.AdditionalInheritedHandles[0])
	self := windows.CurrentProcess()
	var copied windows.Handle
	if err := windows.DuplicateHandle(self, passed, self, &copied, 0, false, windows.DUPLICATE_SAME_ACCESS); err != nil {
		return nil, os.NewSyscallError("DuplicateHandle", err)
	}
	return os.NewFile(uintptr(copied), string(e.Kind())), nil
}
