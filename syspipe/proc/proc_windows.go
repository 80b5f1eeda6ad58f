package proc

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A group is a job, which ends with its last handle: nothing in it outlives us even if we crash.
// Named work has none: it ends with its leash, and may be asked to start what outlives it.
type group struct{ job windows.Handle }

// start starts the process suspended, so that it is in its job before it can start others.
func (p *Process) start() error {
	if p.Cmd.SysProcAttr == nil {
		p.Cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if p.Attached {
		return p.Cmd.Start()
	}
	p.Cmd.SysProcAttr.CreationFlags |= windows.CREATE_NEW_PROCESS_GROUP
	if p.script != nil {
		return p.Cmd.Start()
	}
	if err := p.group.open(); err != nil {
		return err
	}
	p.Cmd.SysProcAttr.CreationFlags |= windows.CREATE_SUSPENDED
	if err := p.Cmd.Start(); err != nil {
		p.releaseGroup()
		return err
	}
	var assigned error
	err := p.Cmd.Process.WithHandle(func(h uintptr) {
		assigned = os.NewSyscallError("AssignProcessToJobObject", windows.AssignProcessToJobObject(p.group.job, windows.Handle(h)))
	})
	if err = errors.Join(err, assigned); err == nil {
		err = resume(uint32(p.Cmd.Process.Pid))
	}
	if err != nil {
		p.Cmd.Process.Kill()
		p.Cmd.Wait()
		p.releaseGroup()
	}
	return err
}

func (g *group) open() (err error) {
	if g.job, err = windows.CreateJobObject(nil, nil); err != nil {
		return os.NewSyscallError("CreateJobObject", err)
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	_, err = windows.SetInformationJobObject(g.job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		windows.CloseHandle(g.job)
		return os.NewSyscallError("SetInformationJobObject", err)
	}
	return nil
}

// resume lets a process that was started suspended run. Go keeps no handle to its first thread,
// which is its only one yet.
func resume(pid uint32) error {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return os.NewSyscallError("CreateToolhelp32Snapshot", err)
	}
	defer windows.CloseHandle(snapshot)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return os.NewSyscallError("OpenThread", err)
		}
		defer windows.CloseHandle(thread)
		_, err = windows.ResumeThread(thread)
		return os.NewSyscallError("ResumeThread", err)
	}
	return fmt.Errorf("find the first thread of process %d: %w", pid, err)
}

// interruptGroup and terminateGroup need a console that both have: CTRL_BREAK alone can be sent to
// one group of it.
func (p *Process) interruptGroup() bool {
	return !p.Attached && windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.Cmd.Process.Pid)) == nil
}

func (p *Process) terminateGroup() bool { return p.interruptGroup() }

func (p *Process) killGroup() bool {
	if p.group.job == 0 {
		return p.Cmd.Process.Kill() == nil
	}
	return windows.TerminateJobObject(p.group.job, 1) == nil
}

func (p *Process) releaseGroup() {
	if p.group.job != 0 {
		windows.CloseHandle(p.group.job)
		p.group.job = 0
	}
}

// awaitExit does not wait: a job is still ours when its process was waited for.
func (p *Process) awaitExit() bool { return false }

// Signaled never finds a signal: Windows has exit codes alone.
func Signaled(*os.ProcessState) (number int, name string, ok bool) { return 0, "", false }

// OwnCPU is the processor time that this process has used so far; false where the system does not
// tell.
func OwnCPU() (time.Duration, bool) { return cpuTimes(windows.CurrentProcess()) }

func runningCPU(pid int) (time.Duration, bool) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return 0, false
	}
	defer windows.CloseHandle(h)
	return cpuTimes(h)
}

func cpuTimes(h windows.Handle) (time.Duration, bool) {
	var created, ended, kernel, user windows.Filetime
	if windows.GetProcessTimes(h, &created, &ended, &kernel, &user) != nil {
		return 0, false
	}
	return ticks(kernel) + ticks(user), true
}

// ticks turns a count of 100 ns into a duration. Filetime's own conversion takes it for a date.
func ticks(t windows.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
}

func runnable(int) bool { return false }

// PeakMemory is the largest resident memory of a running process so far, in bytes; false where the
// system does not tell.
func PeakMemory(int) (int64, bool) { return 0, false }

func peakOf(*os.ProcessState) (int64, bool) { return 0, false }
