package syspipe

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// Pass arranges that the child which cmd starts next inherits a duplicate of the end, and returns the reference by which the child takes it
// up with [Inherited]; tell it by an argument, the environment or standard input. Close the end after cmd.Start: as long as the parent keeps
// it, the other end sees neither end of file nor a broken pipe. On Windows pass an end before it is given to [Poller].
func (e *End) Pass(cmd *exec.Cmd) (ref string, err error) {
	e.passing.Lock() // so that a Close either prevents the duplicate or finds it
	defer e.passing.Unlock()
	if !e.enter() {
		return "", e.closedError("pass")
	}
	defer e.leave()
	if e.file != nil {
		return "", e.failed("pass", errors.New("it is bound to this process's completion port; pass it before SetIO(Poller)"))
	}
	copied, err := duplicateHandle(e.handle, true)
	if err != nil {
		return "", e.failed("pass", err)
	}
	e.passed = append(e.passed, copied)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.AdditionalInheritedHandles = append(cmd.SysProcAttr.AdditionalInheritedHandles, syscall.Handle(copied))
	return e.ref(uint64(copied)), nil
}

// duplicate makes a file of the end.
func (e *End) duplicate() (*os.File, error) {
	copied, err := duplicateHandle(e.handle, false)
	return os.NewFile(uintptr(copied), e.kind.noun()), err
}

func duplicateHandle(h windows.Handle, inherit bool) (windows.Handle, error) {
	self := windows.CurrentProcess()
	var copied windows.Handle
	if err := windows.DuplicateHandle(self, h, self, &copied, 0, inherit, windows.DUPLICATE_SAME_ACCESS); err != nil {
		return 0, os.NewSyscallError("DuplicateHandle", err)
	}
	return copied, nil
}

func inherited(number uint64, kind Kind, dir direction) (*End, error) {
	h := windows.Handle(number)
	switch t, err := windows.GetFileType(h); {
	case err != nil:
		return nil, os.NewSyscallError("GetFileType", err)
	case t != windows.FILE_TYPE_PIPE:
		return nil, fmt.Errorf("handle %#x is no pipe", number)
	}
	if err := windows.SetHandleInformation(h, windows.HANDLE_FLAG_INHERIT, 0); err != nil {
		return nil, os.NewSyscallError("SetHandleInformation", err)
	}
	return newEnd(kind, dir, h), nil
}
