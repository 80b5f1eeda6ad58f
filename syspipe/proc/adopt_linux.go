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
	starting    sync.RWMutex // held for writing while nobody may start a child
	ownChildren sync.Map     // numbers of the children that we started and have not waited for
)

// Adopt makes this process the parent of every descendant whose own parent has ended, whatever
// session, group or environment the descendant has moved to. So no daemon escapes [EndAdopted].
// This holds until this process ends. Adopt reports whether the system can do that: Linux can.
func Adopt() bool {
	if unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1 /* on */, 0, 0, 0) != nil {
		return false
	}
	adopting.Store(true)
	return true
}

// adopted lists the living processes that this one has adopted, and their descendants. It waits for
// adopted processes that have ended, so that no zombies stay. Known is false without [Adopt].
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
// ended. Processes that are still there after patience are killed, and returned as "1234 (name)".
// Known is false without [Adopt]. Nothing tells which of our children an adopted process came from,
// so call EndAdopted when no other child of ours may leave something behind.
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
