package proc

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipebench/pipebench/syspipe/internal/procfs"
)

var (
	adopting    atomic.Bool  // Adopt was called
	starting    sync.RWMutex // held for reading to start a child, for writing to list children
	ownChildren sync.Map     // PIDs of the children that we started and have not waited for
)

// Adopt makes this process the parent of every descendant whose own parent has ended. The session,
// the group and the environment of the descendant do not matter, so no daemon escapes [EndAdopted].
// Adopt cannot be undone. It returns true if the system can do this, as Linux can.
func Adopt() bool {
	if unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1 /* on */, 0, 0, 0) != nil {
		return false
	}
	adopting.Store(true)
	return true
}

// adopted lists the living processes that this one has adopted, and their descendants. It reaps
// adopted processes that have ended, so that no zombies stay. known is false if [Adopt] was not
// called.
func adopted() (list []int, known bool) {
	if !adopting.Load() {
		return nil, false
	}
	starting.Lock()
	defer starting.Unlock()
	for _, pid := range procfs.Children(os.Getpid()) {
		if _, ours := ownChildren.Load(pid); ours {
			continue
		}
		stat, err := procfs.ReadStat(pid)
		if err != nil {
			continue
		}
		if stat.Ended() {
			unix.Wait4(pid, nil, unix.WNOHANG, nil)
			continue
		}
		list = append(list, procfs.Tree(pid)...)
	}
	return list, true
}

// EndAdopted waits until all processes that this one has adopted, and their descendants, have
// ended. After the time "patience", it kills those that are still there and returns the PID and the
// name of each. As in [EndMarked], processes that are running get more time. known is false if
// [Adopt] was not called.
//
// We cannot tell which of our children left an adopted process behind. So call EndAdopted only when
// no other child of ours may leave a process behind.
func EndAdopted(patience time.Duration) (left []string, known bool) {
	return endAll(patience, func() (pids []int, unclear, known bool) {
		pids, known = adopted()
		return pids, false, known
	})
}

// startChild starts the process, and notes that it is our own child, not an adopted one.
func (p *Process) startChild() error {
	starting.RLock()
	defer starting.RUnlock()
	if err := p.start(); err != nil {
		return err
	}
	ownChildren.Store(p.Cmd.Process.Pid, true)
	return nil
}

func forgetChild(pid int) { ownChildren.Delete(pid) }
