package inspect

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipebench/pipebench/syspipe/internal/procfs"
)

// calls gives a short name to each system call in which a thread can wait. The keys are call
// numbers. If a call is named "read", "write", "connect" or "accept", its first argument must be
// the descriptor. Some architectures add calls in an init function.
var calls = map[int]string{
	unix.SYS_READ: "read", unix.SYS_READV: "read",
	unix.SYS_RECVFROM: "read", unix.SYS_RECVMSG: "read",
	unix.SYS_WRITE: "write", unix.SYS_WRITEV: "write",
	unix.SYS_SENDTO: "write", unix.SYS_SENDMSG: "write",
	unix.SYS_CONNECT: "connect", unix.SYS_ACCEPT4: "accept",
	unix.SYS_PPOLL: "poll", unix.SYS_PSELECT6: "select",
	unix.SYS_EPOLL_PWAIT: "epoll", unix.SYS_EPOLL_PWAIT2: "epoll",
	unix.SYS_WAIT4: "wait", unix.SYS_WAITID: "wait",
	unix.SYS_NANOSLEEP: "nanosleep", unix.SYS_CLOCK_NANOSLEEP: "nanosleep",
	unix.SYS_OPENAT: "open", unix.SYS_FUTEX: "futex",
	unix.SYS_FLOCK: "flock", unix.SYS_FCNTL: "fcntl",
}

// readThreads returns the threads of p that wait in a system call, such as read or poll. Threads
// that only pause are left out, unless all do, but the main thread never is. Node's idle helpers
// are left out in any case. readThreads also sets p.running.
func readThreads(p *Proc) []Thread {
	tids, err := procfs.Threads(p.PID)
	if err != nil {
		return nil
	}
	isNode := len(p.Args) > 0 && filepath.Base(p.Args[0]) == "node"
	var list []Thread
	for _, tid := range tids {
		if t, ok := readThread(p.PID, tid); ok {
			isHelper := isNode && tid != p.PID
			if !isHelper || !t.pauses() && t.In != "poll" {
				list = append(list, t)
			}
			continue
		}
		stat, err := procfs.ReadThread(p.PID, tid)
		p.running = p.running || err == nil && (stat.State == 'R' || stat.State == 'D')
	}
	if isNode || !slices.ContainsFunc(list, func(t Thread) bool { return !t.pauses() }) {
		return list
	}
	return slices.DeleteFunc(list, func(t Thread) bool { return t.pauses() && t.TID != p.PID })
}

// readThread describes a thread that waits in one of the system calls that [calls] lists. If we may
// not read which call that is, readThread infers the call from the kernel function in which the
// thread sleeps.
func readThread(pid, tid int) (Thread, bool) {
	t := Thread{TID: tid, FD: -1}
	task := strconv.Itoa(tid)
	at, err := procfs.Text(pid, "task", task, "wchan")
	if err == nil && at != "0" { // "0" means: not asleep, or the kernel does not tell
		t.At = at
	}
	text, err := procfs.Text(pid, "task", task, "syscall")
	if err != nil {
		t.In = callOf(t.At)
		switch t.In {
		case "wait":
			t.Child = onlyChild(pid)
		case "poll":
			t.watches = anyEpoll(pid)
		}
		return t, t.In != ""
	}
	var number int
	var args [3]uint64
	// The text is such as "0 0x3 0x7ffd...", or "running" if the thread is in no call.
	if _, err := fmt.Sscan(text, &number, &args[0], &args[1], &args[2]); err != nil {
		return t, false
	}
	t.In = calls[number]
	switch t.In {
	case "read", "write", "connect", "accept":
		t.FD = int(args[0])
	case "epoll", "poll", "select":
		t.watches = watched(pid, t.In, args)
		// An event loop, which has epoll, also waits for its own timers and threads.
		if t.In != "epoll" && len(t.watches) == 1 {
			t.FD = t.watches[0].fd
		}
		t.In = "poll" // a report calls all three "poll"
	case "wait":
		t.Child = onlyChild(pid)
	case "open":
		if t.At != "" && callOf(t.At) != "open" {
			return t, false // it waits for a disk, not for another process
		}
		address := args[0]
		if number == unix.SYS_OPENAT {
			address = args[1]
		}
		path, _, ended := strings.Cut(string(readMemory(pid, address, unix.PathMax)), "\x00")
		if ended {
			t.Path = path
		}
	}
	t.End = describeEnd(pid, t.FD)
	return t, t.In != ""
}

// sleepers has parts of the names of the kernel functions in which a thread sleeps during a system
// call; the first part that a name has decides. The names change from version to version.
var sleepers = []struct{ part, call string }{
	{"futex_", "futex"}, // before do_wait, because of futex_do_wait
	{"do_wait", "wait"},
	{"hrtimer_nanosleep", "nanosleep"},
	{"pipe_read", "read"},
	{"unix_stream_read", "read"},
	{"unix_stream_data_wait", "read"},
	{"pipe_write", "write"},
	{"sock_alloc_send", "write"},
	{"sock_wait_for_wmem", "write"},
	{"poll", "poll"},
	{"select", "poll"},
	{"wait_for_partner", "open"},
	{"fifo_open", "open"},
}

// callOf returns the short name of the system call to which a kernel function belongs, or "" if the
// call is not in sleepers.
func callOf(function string) string {
	for _, s := range sleepers {
		if strings.Contains(function, s.part) {
			return s.call
		}
	}
	return ""
}

// onlyChild returns the only child of a process, or 0 if it has none or several.
func onlyChild(pid int) int {
	if children := procfs.Children(pid); len(children) == 1 {
		return children[0]
	}
	return 0
}

// readMemory reads up to size bytes from the memory of a process. It returns no bytes if that is
// not allowed.
func readMemory(pid int, address uint64, size int) []byte {
	f, err := os.Open(procfs.Path(pid, "mem"))
	if err != nil {
		return nil
	}
	defer f.Close()
	buf := make([]byte, size)
	n, _ := f.ReadAt(buf, int64(address)) // an error is normal: the memory may end sooner
	return buf[:n]
}

// readUsage reads what a process has done since its start. It returns nil if that is not allowed.
func readUsage(pid int) *Usage {
	io, err := procfs.ReadIO(pid)
	if err != nil {
		return nil
	}
	u := &Usage{
		ReadCalls: io.Reads, WriteCalls: io.Writes,
		ReadBytes: io.ReadBytes, WriteBytes: io.WrittenBytes, threads: map[int]time.Duration{},
	}
	tids, _ := procfs.Threads(pid)
	for _, tid := range tids {
		var ran, waited time.Duration // 0 if the kernel does not count them
		text, _ := procfs.Text(pid, "task", strconv.Itoa(tid), "schedstat")
		fmt.Sscan(text, &ran, &waited)
		u.threads[tid] = ran + waited
		u.Runnable = max(u.Runnable, ran+waited)
	}
	return u
}
