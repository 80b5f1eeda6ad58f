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

// TellsOfOthers says whether /proc tells about other processes. (Wine's does not.)
const TellsOfOthers = false

// A group is a Windows job. Windows ends the processes in it when we close the job or crash. A
// process that does named work (see [Main]) has no job, because it may start processes that outlive
// it.
type group struct{ job windows.Handle } // 0: none

// start starts the process, suspended until it is in its job, so that no child of it escapes.
func (p *Process) start() error {
	if p.Attached {
		return p.Cmd.Start()
	}
	p.Cmd.SysProcAttr.CreationFlags |= windows.CREATE_NEW_PROCESS_GROUP
	if p.work != nil {
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
	var jobErr error
	err := p.Cmd.Process.WithHandle(func(h uintptr) {
		jobErr = windows.AssignProcessToJobObject(p.group.job, windows.Handle(h))
		status, _, _ := resumeProcess.Call(h)
		if jobErr == nil && status != 0 {
			jobErr = windows.NTStatus(status)
		}
	})
	err = errors.Join(err, jobErr)
	if err != nil {
		p.Cmd.Process.Kill()
		p.Cmd.Wait()
		p.releaseGroup()
		return fmt.Errorf("let it run in a job: %w", err)
	}
	return nil
}

// awaitExit returns false without waiting: a job remains ours even after its process was waited
// for.
func (p *Process) awaitExit() bool { return false }

// resumeProcess lets a suspended process run. ResumeThread would need a handle to its first thread,
// and Go keeps none.
var resumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

func (g *group) open() (err error) {
	g.job, err = windows.CreateJobObject(nil, nil)
	if err != nil {
		return os.NewSyscallError("CreateJobObject", err)
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(g.job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		windows.CloseHandle(g.job)
		return os.NewSyscallError("SetInformationJobObject", err)
	}
	return nil
}

// signalGroup kills the group if s is SIGKILL. For any other signal it sends CTRL_BREAK, which
// works only if we share a console with the group.
func (p *Process) signalGroup(s syscall.Signal) bool {
	if s != syscall.SIGKILL {
		if p.Attached {
			return false
		}
		group := uint32(p.Cmd.Process.Pid)
		return windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, group) == nil
	}
	if p.group.job == 0 {
		return p.Cmd.Process.Kill() == nil
	}
	return windows.TerminateJobObject(p.group.job, 1 /* exit code */) == nil
}

func (p *Process) releaseGroup() {
	if p.group.job != 0 {
		windows.CloseHandle(p.group.job)
		p.group.job = 0
	}
}

// Signaled returns false: on Windows there are no signals, only exit codes.
func Signaled(*os.ProcessState) (number int, name string, ok bool) { return 0, "", false }

// OwnCPU returns the processor time that this process has used so far. It returns false if the
// system does not tell.
func OwnCPU() (time.Duration, bool) { return cpuTimes(windows.CurrentProcess()) }

// ChildrenCPU returns false: Windows tells only about processes that still run.
func ChildrenCPU() (time.Duration, bool) { return 0, false }

func runningCPU(pid int) (time.Duration, bool) {
	const access = windows.PROCESS_QUERY_LIMITED_INFORMATION
	h, err := windows.OpenProcess(access, false /* inherit */, uint32(pid))
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

// ticks turns a count of 100 ns units into a duration. The methods of Filetime take such a count
// for a date.
func ticks(t windows.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
}

// PeakMemory returns false: x/sys has no call that tells the peak.
func PeakMemory(int) (int64, bool) { return 0, false }

func peakOf(*os.ProcessState) (int64, bool) { return 0, false }
