//go:build unix

package proc

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A group is a process group. Its number is the PID of its leader.
type group struct{ leader int }

// start starts the process as the leader of its own group, which a terminal's Ctrl-C does not
// reach.
func (p *Process) start() error {
	p.Cmd.SysProcAttr.Setsid = p.Session // a session's leader leads a group as well
	p.Cmd.SysProcAttr.Setpgid = !p.Session
	p.endWithUs()
	if err := p.Cmd.Start(); err != nil {
		return err
	}
	p.group.leader = p.Cmd.Process.Pid
	return nil
}

// signalGroup sends a signal to the group, and reports whether that was possible.
func (p *Process) signalGroup(s syscall.Signal) bool {
	group := -p.group.leader // kill(2) takes a negative number for a group
	return syscall.Kill(group, s) == nil
}

// releaseGroup does nothing: a group on Unix is only a number.
func (p *Process) releaseGroup() {}

// Signaled returns the number and the name of the signal that ended a process, if one did.
func Signaled(state *os.ProcessState) (number int, name string, ok bool) {
	if state == nil {
		return 0, "", false
	}
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return 0, "", false
	}
	return int(status.Signal()), unix.SignalName(status.Signal()), true
}

// OwnCPU returns the processor time that this process has used so far. It returns false if the
// system does not tell.
func OwnCPU() (time.Duration, bool) { return cpuOf(unix.RUSAGE_SELF) }

// ChildrenCPU returns the processor time of the children that this process has waited for, and of
// their children. It returns false if the system does not tell.
func ChildrenCPU() (time.Duration, bool) { return cpuOf(unix.RUSAGE_CHILDREN) }

func cpuOf(who int) (time.Duration, bool) {
	var r unix.Rusage
	if unix.Getrusage(who, &r) != nil {
		return 0, false
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), true
}
