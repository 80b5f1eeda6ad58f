package drive

import (
	"fmt"
	"os"
	"os/exec"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A tree is the server and the processes it started: a job that ends with its last handle, so that nothing outlives us even if we crash.
type tree struct{ job windows.Handle }

func (t *tree) start(cmd *exec.Cmd) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return os.NewSyscallError("CreateJobObject", err)
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		windows.CloseHandle(job)
		return os.NewSyscallError("SetInformationJobObject", err)
	}
	if err := cmd.Start(); err != nil {
		windows.CloseHandle(job)
		return err
	}
	t.job = job
	var assigned error
	if err := cmd.Process.WithHandle(func(h uintptr) { assigned = windows.AssignProcessToJobObject(job, windows.Handle(h)) }); err != nil {
		assigned = err
	}
	if assigned != nil {
		cmd.Process.Kill()
		cmd.Wait()
		return fmt.Errorf("put the server into a job: %w", assigned)
	}
	return nil
}

// terminate does nothing: Windows has no signal that asks a console program without a console to leave.
func (t *tree) terminate() {}

func (t *tree) kill() { windows.TerminateJobObject(t.job, 1) }

// signalOf never finds one: Windows has exit codes alone.
func signalOf(*os.ProcessState) (string, bool) { return "", false }
