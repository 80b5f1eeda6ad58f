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
	starting    sync.RWMutex // read-locked to start a child, write-locked to list children
	ownChildren sync.Map     // PIDs of the children that we started and have not waited for
)

// Adopt makes this process, for good, the parent of every descendant whose own parent has ended. It
// returns false if the system cannot do this, as only Linux can.
func Adopt() bool {
	if unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1 /* on */, 0, 0, 0) != nil {
		return false
	}
	adopting.Store(true)
	return true
}

// adopted lists the living processes that this process has adopted (see [Adopt]), and their
// descendants. It reaps the adopted processes that have ended. known is false if [Adopt] was not
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

// EndAdopted waits until the processes that this process has adopted, and their descendants, have
// ended. After the time patience, it kills the rest (see [EndMarked]). known is false if [Adopt]
// was not called. Call EndAdopted only when no other child may leave a process behind, because
// nobody can tell which child left what.
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
